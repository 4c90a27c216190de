"""Nodes that move by the drift of their own measure, as an ordinary differential equation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.attention import Velocity
from mfpde.attention.head import Head
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.measure import Measure, Normal, Particles
from mfpde.solvers.characteristics.tails import MARKERS, Tails, marker_drift
from mfpde.solvers.stepping.adaptive_ode import Size
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Flow", "heads"]

_SPREAD_FLOOR = 1e-60  # of the initial spread, in place of 0
_ROUNDINGS_PER_STEP = 8  # of a coordinate
_COINCIDENT = 8 * np.finfo(float).eps  # spread over distance from the origin below which it is rounding
_MAX_COORDINATE = 1e80  # of trial steps: squares of squares overflow beyond
_WEIGHT_FACTOR = 10.0  # times (weight / largest)^tail_power: nodes above 1e-4 of the largest weight count fully


def heads(equation: Equation) -> list[Head]:
    """The kernels of the attention, with the coefficients of the beginning."""
    law = equation.velocity.at(0.0).law
    return [] if law is None else [term.head for term in law.terms(equation.geometry.ambient_dimension)]


class Flow:
    """`x_i' = G_mu(x_i)` for `mu = sum_i w_i delta_{x_i}`; a state holds the points one after the other.

    On the circle states are angles that are not wrapped; on spheres the drift is continued to all lengths, `|x| G(x /
    |x|)`, so that steps need not stay on the sphere. `normal` nodes stand for the normal law that has their mean and
    covariance, with all of its tails; `tails` go on where nodes end, and the last nodes are their markers.
    """

    def __init__(
        self,
        equation: Equation,
        points: Float,
        weights: Float,
        positions: Float | None,
        normal: bool = False,
        tails: Tails | None = None,
    ) -> None:
        self.geometry: Geometry = equation.geometry
        self._normal, self._tails = normal, tails
        self.weights, self.positions = weights, positions
        self.start = np.ascontiguousarray(points, dtype=float).ravel()
        self._velocity = equation.velocity
        self._constant = self._velocity.constant
        power = min((head.tail_power for head in heads(equation)), default=1.0)
        share = np.where(weights > 0, np.minimum(1.0, _WEIGHT_FACTOR * (weights / weights.max()) ** power), 1.0)
        self._share = np.repeat(share, self.start.size // weights.size)
        self._before: Measure | None = None
        self._least = 0.0
        self._least = _SPREAD_FLOOR * (self.spread(self.start) + float(np.abs(self.start).max(initial=0.0)) + 1e-200)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times at which a coefficient jumps or has a kink."""
        return self._velocity.breaks()

    def velocity(self, time: float) -> Velocity:
        """With the coefficients of that time."""
        return self._velocity if self._constant else self._velocity.at(time)

    def points(self, state: Float) -> Float:
        """Native points `(n, components)`."""
        return self.geometry.retract(state.reshape(self.weights.size, -1))

    def measure(self, state: Float) -> Particles:
        """The nodes' measure; an error where a trial step has moved nodes out of range."""
        if not float(np.abs(state).max(initial=0.0)) < _MAX_COORDINATE:
            raise ProblemError.at("points", "are beyond all bounds")
        return Particles(self.points(state), self.weights, self.geometry, self.positions)

    def source(self, time: float, state: Float, before: Measure | None) -> Measure:
        """The measure that makes the drift; potentials start from those of an earlier one."""
        nodes = self.measure(state)
        if self._normal:
            return Normal(nodes.mean, nodes.covariance, self.geometry)
        if self._tails is not None:
            return self._tails.source(state, self.weights)
        self.velocity(time).prepare(nodes, before)
        return nodes

    def slope(self, time: float, state: Float) -> Float:
        """The right-hand side."""
        source = self._before = self.source(time, state, self._before)
        points = self.points(state)
        drift = self.velocity(time).drift(source, points, self.positions)
        if self._tails is not None:
            drift[-MARKERS:, 0] = marker_drift(state, self.velocity(time))
        return self.geometry.extend(state.reshape(points.shape), drift).ravel()

    @property
    def latest(self) -> Measure:
        """The measure of the latest drift."""
        assert self._before is not None  # noqa: S101 - for the type checker
        return self._before

    def cold(self) -> None:
        """Forget earlier potentials of sinkhorn attention: steps must not depend on them."""
        self._before = None

    def sizes(self, state: Float) -> Size:
        """The largest error of a node relative to the present spread.

        Nodes in the tails count less. For normal data and tilts q = |S A| the influence of a node on all others is
        about the weight of `N(0, (1 + q^2) S)` there: the fourth root of its own weight for q^2 = 3, its weight without
        tilts.
        """
        spread, rounding = self.spread(state), self.rounding(state)
        return lambda error: float((self._share * np.maximum(np.abs(error) - rounding, 0)).max(initial=0.0)) / spread

    def rounding(self, state: Float) -> float:
        """Rounding error of places: far from the origin clusters are as narrow as that."""
        return _ROUNDINGS_PER_STEP * float(np.finfo(float).eps) * float(np.abs(state).max(initial=0.0))

    def rate(self) -> float:
        """The largest initial speed, relative to the spread."""
        rate = self.sizes(self.start)(self.slope(0.0, self.start))
        self.cold()
        return rate

    def growth(self, time: float, state: Float) -> tuple[float, float]:
        """`d/dt log` of the variance, and of the squared distance of the farthest token from the mean."""
        points, speed = (each.reshape(self.weights.size, -1) for each in (state, self.slope(time, state)))
        self.cold()
        centred, apart = points - self._mean(points), speed - self._mean(speed)
        squares, products = np.sum(centred**2, axis=1), np.sum(centred * apart, axis=1)
        far = int(np.argmax(squares))
        pairs = (self._mean(products), self._mean(squares)), (products[far], squares[far])
        variance, farthest = (2 * float(up) / float(down) if down > 0 else 0.0 for up, down in pairs)
        return variance, farthest

    def escape(self, time: float, state: Float) -> float:
        """The faster of the two."""
        return max(self.growth(time, state))

    def spread(self, state: Float) -> float:
        """Standard deviation of the points about their mean; 1 where the space is bounded, the distance from the origin
        where all points coincide."""
        if not self.geometry.flat:
            return 1.0
        points = state.reshape(self.weights.size, -1)
        centred = points - self._mean(points)
        deviation, farthest = float(np.sqrt(self._mean(np.sum(centred**2, axis=1)))), float(np.abs(points).max())
        return (deviation if deviation > _COINCIDENT * farthest else farthest) + self._least

    def _mean(self, values: Float) -> Float:
        # einsum, not BLAS, whose bits depend on the number of threads
        return np.einsum("n,n...->...", self.weights, values)
