"""Written densities on the line and the plane."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, Lattice
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.cells import draw_from_cells, reach_of_nodes
from mfpde.measure.equispaced import equispaced
from mfpde.measure.flat_cells import averages_with_edges
from mfpde.measure.flat_rules import edges_on_line, extent, rule_with_edges
from mfpde.measure.support_search import find_support
from mfpde.measure.written_density import WrittenDensity
from mfpde.typing import AnyArray, Float

__all__ = ["FlatDensity"]

_SHELL_SHARE = 0.02  # of the box, along its border: mass there shows that there may be mass beyond
_MAX_MASS_IN_SHELL = 1e-10  # share of a tilted mass
_TAIL_SHARE = 1e-17  # of the mass, beyond the outermost breakpoints
_TILTS_CHECKED = 4  # the largest ones


class FlatDensity(Measure):
    """`f / int f` on R or R^2, with box, scale and edges of f found by sampling.

    Nodes are accurate for tilts of 8 standard deviations, and of 200 (R) or 100 (R^2) over half the box if that is
    more.

    >>> from mfpde import Line
    >>> FlatDensity(WrittenDensity("maximum(0, 1 - x**2)", Line())).covariance.round(12)
    array([[0.2]])
    """

    def __init__(self, density: WrittenDensity) -> None:
        self._density = density
        self._found = find_support(density, density.geometry.ambient_dimension)
        self._smooth: dict[tuple[float, float], tuple[Float, Float] | None] = {}
        self._rules: dict[tuple[float, float], tuple[Float, Float]] = {}
        self.norm = float(self._rule(NODES_ACCURACY)[1].sum())

    @property
    def geometry(self) -> Geometry:
        return self._density.geometry

    @property
    def compact(self) -> bool:
        return self._found.compact

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        finer = float(np.ceil(refinement)) if refinement > 1 else 1 / np.floor(1 / refinement)
        points, masses = self._rule(max(accuracy, NODES_ACCURACY), finer, refinement)
        return points, masses / masses.sum()

    def _rule(self, accuracy: float, finer: float = 1.0, refinement: float = 1.0) -> tuple[Float, Float]:
        """Points and masses; panels are cut into `finer` parts, or 1 / finer of them joined to one."""
        if (accuracy, refinement) not in self._smooth:
            plain = self._found.compact or self._found.heavy
            box = self._found.low, self._found.high
            self._smooth[accuracy, refinement] = (
                None if plain else equispaced(self._density, *box, accuracy, refinement)
            )
        known = self._smooth[accuracy, refinement]
        if known is not None:
            return known
        if (accuracy, finer) not in self._rules:
            self._rules[accuracy, finer] = rule_with_edges(self._density, self._found, accuracy, finer)
        return self._rules[accuracy, finer]

    def _log_laplace(self, w: Float) -> tuple[Float, Float]:
        from mfpde.transform import tilted_mean

        half = float((np.abs(w).max(axis=0, initial=0.0) * self._found.panel).max()) / 2
        finer = 2 ** max(0, int(np.ceil(np.log2(max(half, 1e-300) / 12))))  # 20 nodes raise e^{12 t}
        points, masses = self._rule(NODES_ACCURACY, finer)
        if not self.compact:
            self._check_tilts(w, points, masses)
        mean, value = tilted_mean(w, points, masses / masses.sum())
        return value, mean

    def _check_tilts(self, w: Float, points: Float, masses: Float) -> None:
        sizes = np.sum((w * self._found.deviation) ** 2, axis=1)
        shell = self._in_shell(points)
        for tilt in w[np.argsort(sizes)[-_TILTS_CHECKED:]]:
            exponents = points @ tilt + np.log(masses)
            share = np.exp(exponents - exponents.max())
            if share[shell].sum() > _MAX_MASS_IN_SHELL * share.sum():
                raise ProblemError.at(
                    "measure",
                    f"int e^<w, y> depends, at w = {np.round(tilt, 4).tolist()}, on what lies beyond the box "
                    f"{self._found.low.tolist()} to {self._found.high.tolist()}; for tails that sink like an "
                    "exponential or slower it is infinite",
                )

    def _in_shell(self, points: Float) -> AnyArray:
        margin = _SHELL_SHARE * (self._found.high - self._found.low)
        return np.any((points < self._found.low + margin) | (points > self._found.high - margin), axis=1)

    @property
    def covariance(self) -> Float:
        points, weights = self.nodes()
        centred = points - weights @ points
        parts = weights * np.sum(centred**2, axis=1)
        if self._found.heavy and parts[self._in_shell(points)].sum() > _MAX_MASS_IN_SHELL * parts.sum():
            raise ProblemError.at("measure", "has tails too heavy for a covariance")
        return (weights[:, None] * centred).T @ centred

    def evaluate(self, points: AnyArray) -> Float:
        return self._density(self.geometry.points(points)) / self.norm

    def sample(self, count: int, seed: int = 0) -> Float:
        return draw_from_cells(self._density, self._found.breaks, count, seed)

    def reach(self, tolerance: float = NODES_ACCURACY, tilts: AnyArray | None = None) -> tuple[Float, Float]:
        if self.compact:
            return self._support
        return reach_of_nodes(*self.nodes(), tolerance, None if tilts is None else self._tilts(tilts))

    @cached_property
    def breakpoints(self) -> Float | None:
        if self._found.low.size > 1:
            return None
        low, high = self.reach(_TAIL_SHARE)
        edges = edges_on_line(self._density, self._found)
        return np.unique(np.concatenate([low, edges[(edges > low) & (edges < high)], high]))

    @cached_property
    def _support(self) -> tuple[Float, Float]:
        return extent(self._density, self._found)

    def _cell_averages(self, lattice: Lattice) -> Float:
        return averages_with_edges(self._density, lattice, self._found.floor) / self.norm
