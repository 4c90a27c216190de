"""The first instants of a law under noise: a normal law about each token, until cells resolve what edges have become.

    mu_t = sum_i w_i N(m_i, S_i),   m' = E G,   S' = E[G (x - m)^T] + E[(x - m) G^T] + 2 D,   S_i(0) = 0,

w_i the weights of a quadrature rule of the initial measure, and E the expectation over N(m_i, S_i), by Gauss-Hermite
rules of three points along each axis [sarkka2019]. It is exact where G is affine. Elsewhere tokens have a third
cumulant, about 4 G'' D^2 t^3, that is left out: held against smooth functions, the error is of order t^3; at an edge,
as steep as normal laws of the variance 2 D t, of order t^{3/2}, and later on it falls like that of an edge's third
derivative.

Cells that are wider than an edge keep second order whatever their fluxes: what limiting does to the step stays in its
longest waves. Where edges are normal laws of width s, moments of point values are right to e^{-2 (pi s / h)^2}, and
everything goes on from there at the order of the scheme, but for what limiting does to tails.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from mfpde.errors import ProblemError
from mfpde.measure import Particles
from mfpde.measure.fewer_nodes import fewer_nodes
from mfpde.measure.hermite import three_points
from mfpde.measure.normal_sum import NormalSum
from mfpde.solvers.finite_volume.frames import Frame
from mfpde.solvers.finite_volume.grid import Grid, root
from mfpde.solvers.finite_volume.initial import Discretised, Part, discretised
from mfpde.solvers.steppers.base import OrdinarySystem
from mfpde.solvers.stepping.adaptive_ode import March
from mfpde.transform.chebyshev_grid import ChebyshevGrid
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["FirstInstants"]

#: widths of an edge in cells, and what limiting leaves behind from there, relative to the peak, as measured
_RESOLVED = ((2.0, 3e-13), (1.6, 8e-12), (1.25, 1e-10), (1.1, 1e-9))
_ERROR_SHARE = 0.1  # of the error that is allowed, for the law; where it has more, less width is waited for
_NODE_SPACING = 0.8  # of nodes, over the width of the normal laws about them: their sum is right to 4e-14
_NARROWEST = {1: 0.4, 2: 0.16}  # cells, by dimension: narrower normal laws have the nodes of this width
_SOURCE_REFINEMENT = {1: 1.0, 2: 0.4}  # by dimension, of the rule that the velocity is summed over, and of coarser ones
_LEAST_WEIGHT = 1e-30  # of the largest, of a node
_DENSE_WEIGHT = 1e-10  # of the largest, of nodes that have to be dense
_PANELS = (4, 8)  # a side of the box, on each of which fewer nodes integrate the same polynomials
_NODES_PER_PANEL = 200  # of a part, from which on fewer are looked for
_SAME_DRIFT = 1e-11  # relative to the largest: what fewer nodes may change
_POLYNOMIAL_POINTS = (16, 32)  # a side, through whose normal laws polynomials are laid
_SAME_PLACE, _SAME_WIDTH = 1e-11, 1e-10  # of means over the box, of variances over the largest
_STEP_TOLERANCE = 1e-13  # of the march, in units of x
_ATTEMPTS_MAX = 128  # of its steps: rates of a hundred widths per unit time take fewer
_WHEN = 1e-3  # relative error of the time at which edges are wide enough
_SHORTEST = 1e-15  # of the run: shorter times are none
_PEAK_OF_THIRD_DERIVATIVE = 1.4  # of a Gaussian, relative to its peak, in standard deviations
_PEAK_AT_EDGES = 0.4  # of the third derivative of an edge of height 1 that is a normal law, in standard deviations

#: points `(n, d)` and weights `(n,)` of sum 1
Nodes: TypeAlias = tuple[Float, Float]


class _Normals(NamedTuple):
    """Means `(n, d)`, covariances `(n, d, d)`, and third cumulants along the axes `(n, d)`."""

    means: Float
    covariances: Float
    cumulants: Float

    @classmethod
    def unpacked(cls, rows: Float, d: int) -> _Normals:
        return cls(rows[:, :d], rows[:, d : d + d * d].reshape(-1, d, d), rows[:, d + d * d :])

    @property
    def packed(self) -> Float:
        """What `unpacked` takes."""
        return np.concatenate([self.means, self.covariances.reshape(len(self.means), -1), self.cumulants], axis=1)


class FirstInstants:
    """The law of tokens until cells resolve its edges, each of which noise has made a normal law."""

    def __init__(
        self, equation: Equation, frame: Frame, parts: list[Part], width: float, last: float, allowed: float
    ) -> None:
        """For cells of that width, in units of x; no longer than to the `last` time."""
        self._equation, self._frame, self._parts, self._width = equation, frame, parts, width
        self._sources = self._few_sources()
        self._at_end: list[Discretised] | None = None
        self._points, self._weights = three_points(equation.geometry.ambient_dimension)
        for wanted, left in _RESOLVED:
            self.until = self._when((wanted * width) ** 2, last)
            of_law, self._at_edges = self._errors_at_end()
            self.error = of_law + left
            if of_law + self._at_edges <= _ERROR_SHARE * allowed:
                break

    def _errors_at_end(self) -> tuple[float, float]:
        """What the third cumulants would change at the end of a density as smooth as it is wide, and at edges, relative
        to its peak; infinite where normal laws do not last so long."""
        try:
            with np.errstate(all="ignore"):
                moved, largest, steepest = self._moved(self.until, []), 0.0, 0.0
        except (ProblemError, ArithmeticError, np.linalg.LinAlgError):  # where the drift means nothing
            return np.inf, np.inf
        for part, (_, weights), normals in zip(self._parts, self._sources, moved, strict=True):
            finite = all(np.isfinite(each).all() for each in normals)
            if not finite or not np.linalg.eigvalsh(normals.covariances).min() > 0:
                return np.inf, np.inf
            spread = np.sqrt(np.diag(part.measure.covariance))
            cumulants, variances = np.abs(normals.cumulants), np.diagonal(normals.covariances, axis1=1, axis2=2)
            largest = max(largest, float((weights @ cumulants / spread**3).sum()))
            steepest = max(steepest, float((cumulants / variances**1.5).sum(axis=1).max()))
        return _PEAK_OF_THIRD_DERIVATIVE / 6.0 * largest, _PEAK_AT_EDGES / 6.0 * steepest

    def reach(self, deviations: float) -> float:
        """How far noise alone takes tokens until the end."""
        return deviations * math.sqrt(self._equation.noise.variance(self.until))

    def at_edges(self, time: float) -> float:
        """Error of the density there, relative to its peak: cumulants grow like t^3."""
        return self._at_edges * (time / self.until) ** 1.5

    def layer(self, time: float) -> float:
        """Variance of an edge, in cells squared."""
        return self._equation.noise.variance(time) / self._width**2

    def _when(self, variance: float, last: float) -> float:
        """The time at which noise alone has made that variance, or the last one."""
        from scipy.optimize import brentq

        noise = self._equation.noise
        if not noise.breaks():
            return min(variance / (2.0 * noise.diffusion), last)
        if noise.variance(last) <= variance:
            return last
        return float(brentq(lambda time: noise.variance(time) - variance, 0.0, last, xtol=_SHORTEST * last, rtol=_WHEN))

    def pieces(self, time: float, grid: Grid) -> list[Discretised]:
        """Its parts on the cells of a grid; those at the end are asked for twice."""
        if time == self.until and self._at_end is not None:
            return self._at_end
        nodes = [self._dense_nodes(part, time) for part in self._parts]
        moved = self._all_moved(time, nodes)
        found = [self._on_cells(*each, time, grid) for each in zip(self._parts, nodes, moved, strict=True)]
        if time == self.until:
            self._at_end = found
        return found

    def _on_cells(self, part: Part, nodes: Nodes, normals: _Normals, time: float, grid: Grid) -> Discretised:
        law = NormalSum(nodes[1], normals.means, normals.covariances, self._equation.geometry)
        if self._frame.gaussian:
            frame = law.mean, _stretch(part.measure.covariance, law.covariance) @ part.matrix
        else:
            frame = np.zeros_like(part.mean), self._frame.scaled(np.eye(part.mean.size), 0.0, time)
        return discretised(Part(part.share, law, *frame, part.position), grid)

    # -- nodes
    # ---------------------------------------------------------------------------------------------------------

    def _few_sources(self) -> list[Nodes]:
        """Nodes that the velocity is summed over: as few as change nothing in it at t = 0."""
        refinement = _SOURCE_REFINEMENT[self._equation.geometry.ambient_dimension]
        every = [_nodes(part, refinement) for part in self._parts]
        for panels in _PANELS:
            if sum(len(weights) for _, weights in every) <= _NODES_PER_PANEL * len(every) * panels**2:
                break
            few = [_fewer(part, refinement, panels) for part in self._parts]
            wanted, found = (self._first_drift(nodes, few) for nodes in (every, few))
            if np.abs(found - wanted).max() <= _SAME_DRIFT * np.abs(wanted).max():
                return few
        return every

    def _first_drift(self, sources: list[Nodes], where: list[Nodes]) -> Float:
        """At t = 0, of some nodes, at others."""
        points, masses = self._joined(sources)
        places = self._joined(where)[0]
        among, own = (self._positions([len(each) for each, _ in nodes]) for nodes in (sources, where))
        measure = Particles(points, masses, self._equation.geometry, among)
        velocity = self._equation.velocity.at(0.0)
        velocity.prepare(measure)
        return np.asarray(velocity.drift(measure, places, own))

    def _joined(self, nodes: list[Nodes]) -> Nodes:
        """All of them, with masses."""
        masses = [part.share * weights for part, (_, weights) in zip(self._parts, nodes, strict=True)]
        return np.concatenate([points for points, _ in nodes]), np.concatenate(masses)

    def _dense_nodes(self, part: Part, time: float) -> Nodes:
        """As close to each other as normal laws of that time are wide."""
        d = self._equation.geometry.ambient_dimension
        wide = max(math.sqrt(self._equation.noise.variance(time)), _NARROWEST[d] * self._width)
        points, weights = _nodes(part, 1.0)
        there = weights > _DENSE_WEIGHT * weights.max()
        lengths = (weights[there] / part.measure.evaluate(points[there])) ** (1.0 / points.shape[1])
        needed = float(lengths.max()) / (_NODE_SPACING * wide)
        return _nodes(part, max(_SOURCE_REFINEMENT[d], needed))

    # -- motion
    # ---------------------------------------------------------------------------------------------------------

    def _all_moved(self, time: float, nodes: list[Nodes]) -> list[_Normals]:
        """Normal laws about many nodes. Where these are and how wide is a smooth function of where they began: a
        polynomial through few of them, where it gives those about the sources."""
        for count in _POLYNOMIAL_POINTS:
            grids = [ChebyshevGrid.around(points, count) for points, _ in nodes]
            if sum(len(grid.points) for grid in grids) >= sum(len(weights) for _, weights in nodes):
                break
            moved = self._moved(time, [(grid.points, np.ones(len(grid.points))) for grid in grids])
            sources, of_grids = moved[: len(nodes)], moved[len(nodes) :]
            told = [
                grid.interpolated(values.packed, points)
                for grid, values, (points, _) in zip(grids, of_grids, self._sources, strict=True)
            ]
            size = max(float(np.abs(grid.half).max()) for grid in grids)
            if all(_alike(each, source, size) for each, source in zip(told, sources, strict=True)):
                d = self._equation.geometry.ambient_dimension
                return [
                    _Normals.unpacked(grid.interpolated(values.packed, points), d)
                    for grid, values, (points, _) in zip(grids, of_grids, nodes, strict=True)
                ]
        return self._moved(time, nodes)[len(nodes) :]

    def _moved(self, time: float, others: list[Nodes]) -> list[_Normals]:
        """Normal laws about the sources, and about other nodes of the same parts, at a time."""
        d = self._equation.geometry.ambient_dimension
        points = [points for points, _ in (*self._sources, *others)]
        state = np.concatenate([np.pad(each, ((0, 0), (0, d * d + d))) for each in points])
        positions = self._positions([len(each) for each in points])
        system = OrdinarySystem.of(lambda time, state: self._slope(time, state, positions))
        system.start, system.breaks = state, [*self._equation.velocity.breaks(), *self._equation.noise.breaks()]
        march = March(system, _STEP_TOLERANCE, first_step=time)
        for _ in range(_ATTEMPTS_MAX):
            if march.time < time:
                march.attempt(stop=time)
        if march.time < time:
            raise ArithmeticError("the normal laws about tokens do not last so long")
        cuts = np.cumsum([len(each) for each in points])[:-1]
        return [_Normals.unpacked(rows, d) for rows in np.split(march.state, cuts)]

    def _positions(self, counts: list[int]) -> Float | None:
        """Of all nodes, where attention is masked."""
        places = [part.position for part in self._parts] * (len(counts) // len(self._parts))
        return None if places[0] is None else np.repeat(np.array(places, dtype=float), counts)

    def _slope(self, time: float, state: Float, positions: Float | None) -> Float:
        d, count = self._equation.geometry.ambient_dimension, sum(len(weights) for _, weights in self._sources)
        normals = _Normals.unpacked(state, d)
        values, axes = np.linalg.eigh(normals.covariances)
        roots = axes * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        apart = np.einsum("nij,qj->nqi", roots, self._points)
        places = (normals.means[:, None, :] + apart).reshape(-1, d)
        shares = zip(self._parts, self._sources, strict=True)
        masses = np.concatenate([part.share * weights for part, (_, weights) in shares])
        among = self._points.shape[0]
        spread = None if positions is None else np.repeat(positions, among)
        measure = Particles(
            places[: count * among],
            np.multiply.outer(masses, self._weights).ravel(),
            self._equation.geometry,
            None if spread is None else spread[: count * among],
        )
        velocity = self._equation.velocity.at(time)
        velocity.prepare(measure)
        drift = np.asarray(velocity.drift(measure, places, spread)).reshape(-1, among, d)
        weighed = drift * self._weights[:, None]
        crossed = np.einsum("nqi,nqj->nij", weighed, apart)
        wider = crossed + np.swapaxes(crossed, 1, 2) + 2.0 * self._equation.noise.diffusion_at(time) * np.eye(d)
        variances = np.diagonal(normals.covariances, axis1=1, axis2=2)
        skewed = 3.0 * (weighed * (apart**2 - variances[:, None, :])).sum(axis=1)
        return np.concatenate([weighed.sum(axis=1), wider.reshape(-1, d * d), skewed], axis=1)


def _nodes(part: Part, refinement: float) -> Nodes:
    points, weights = part.measure.nodes(refinement=refinement)
    there = weights > _LEAST_WEIGHT * weights.max()
    return points[there], weights[there] / weights[there].sum()


@lru_cache(maxsize=16)  # every pilot run asks for them
def _fewer(part: Part, refinement: float, panels: int) -> Nodes:
    return fewer_nodes(*_nodes(part, refinement), panels)


def _alike(found: Float, wanted: _Normals, size: float) -> bool:
    """Whether means and covariances are those of other normal laws, to what their sum notices."""
    means, covariances = (
        np.abs(a - b).max()
        for a, b in zip(_Normals.unpacked(found, wanted.means.shape[1])[:2], wanted[:2], strict=True)
    )
    return bool(means <= _SAME_PLACE * size and covariances <= _SAME_WIDTH * np.abs(wanted.covariances).max())


def _stretch(before: Float, after: Float) -> Float:
    """The symmetric T with `T before T = after`: it turns no frame."""
    half = root(before)
    inverse = np.linalg.inv(half)
    return inverse @ root(half @ after @ half) @ inverse
