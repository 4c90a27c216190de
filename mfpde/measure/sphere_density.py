"""Written densities on the sphere S^2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Sphere
from mfpde.measure.adaptive_plane_quadrature import OfTwo, Rectangles, graded_twice
from mfpde.measure.adaptive_quadrature import Items
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.rules import TILTS, of_sphere, sphere_degree, times
from mfpde.streams import uniform_rows
from mfpde.typing import AnyArray, Float

__all__ = ["SphereDensity"]

_ADDED_DEGREES = (96, 192, 384)  # of quadrature, beyond that of the tilts: tried until two agree
_PANELS = (16, 24)  # of colatitude and longitude, so many that tilts are integrated to rounding
_EDGE_SAMPLES = 256  # in each direction, between which sign changes of kinks are searched for
_SAMPLE_CELLS = (512, 1024)  # of equal area, in height and longitude: draws are uniform in a cell


class DensityOnSphere(Protocol):
    """A function of points on S^2, up to a factor a density, with functions that vanish where it has kinks."""

    @property
    def kinks(self) -> Sequence[Callable[[Float], Float]]:
        """Where it is not smooth."""

    def __call__(self, points: Float) -> Float:
        """Its values."""

    def without_mass(self) -> ProblemError:
        """What is wrong where its integral is not positive."""


class SphereDensity(Measure):
    """`f / int f` on S^2; nodes integrate tilts `e^{<w, y>}` up to |w| = 100.

    >>> from mfpde.measure.written_density import WrittenDensity
    >>> print(SphereDensity(WrittenDensity("1 + z", Sphere())).mean[2].round(12))          # 1/3
    0.333333333333
    """

    _geometry = Sphere()

    def __init__(self, density: DensityOnSphere) -> None:
        self._density = density
        self._rules: dict[tuple[float, float], tuple[Float, Float]] = {}
        self.norm = float(self._rule(NODES_ACCURACY)[1].sum())
        if not self.norm > 1e-300:
            raise density.without_mass()

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        points, masses = self._rule(max(accuracy, NODES_ACCURACY), refinement)
        return points, masses / masses.sum()

    def _rule(self, accuracy: float, refinement: float = 1.0) -> tuple[Float, Float]:
        if (accuracy, refinement) not in self._rules:
            finer = int(np.ceil(refinement))
            self._rules[accuracy, refinement] = self._smooth(accuracy, refinement) or self._with_edges(accuracy, finer)
        return self._rules[accuracy, refinement]

    def _smooth(self, accuracy: float, refinement: float) -> tuple[Float, Float] | None:
        least = sphere_degree(TILTS[2], accuracy)
        before: Float | None = None
        for degree in (least, *(least + d for d in _ADDED_DEGREES)):
            points, masses = self._of_degree(degree)
            sums = np.exp(TILTS[2] * (points @ np.vstack([np.eye(3), -np.eye(3), np.zeros(3)]).T - 1)).T @ masses
            if before is not None and np.all(np.abs(sums - before) <= 20 * accuracy * sums):
                points, masses = self._of_degree(times(refinement, degree))
                return points[masses > 0], masses[masses > 0]
            before = sums
        return None

    def _of_degree(self, degree: int) -> tuple[Float, Float]:
        points, weights = of_sphere(3, degree)
        return points, 4 * np.pi * weights * self._density(points)

    def _with_edges(self, accuracy: float, finer: int) -> tuple[Float, Float]:
        def across(function: Callable[[Float], Float]) -> OfTwo:
            return lambda _item, t, u: function(_at(t, u))

        def with_area(_item: Items, t: Float, u: Float) -> Float:
            return self._density(_at(t, u)) * np.sin(t)

        kinks = [across(kink) for kink in self._density.kinks]
        zero, ends = np.zeros(1), (np.array([np.pi]), np.array([2 * np.pi]))
        pieces = [finer * count for count in _PANELS]
        cuts = [end[0] / count * np.arange(1, count) for end, count in zip(ends, pieces, strict=True)]
        where = Rectangles(zero, ends[0], zero, ends[1], _EDGE_SAMPLES, *cuts)
        _, t, u, masses = graded_twice(with_area, kinks, where, accuracy)
        return _at(t, u), masses

    def evaluate(self, points: AnyArray) -> Float:
        return self._density(self.space.points(points)) / self.norm

    def sample(self, count: int, seed: int = 0) -> Float:
        """From cells of equal area."""
        return self.sample_share(0, count, seed)

    def sample_share(self, first: int, count: int, seed: int = 0) -> Float:
        heights, turns = _SAMPLE_CELLS
        z, phi = 2 * (np.arange(heights) + 0.5) / heights - 1, 2 * np.pi * (np.arange(turns) + 0.5) / turns
        ends = np.cumsum(self._density(_at(np.repeat(np.arccos(z), turns), np.tile(phi, heights))))
        draws = uniform_rows(count, 3, seed, first=first)
        cell = np.minimum(np.searchsorted(ends, draws[:, 0] * ends[-1], side="right"), np.searchsorted(ends, ends[-1]))
        height = z[cell // turns] + (2 * draws[:, 1] - 1) / heights
        return _at(np.arccos(height), phi[cell % turns] + (2 * draws[:, 2] - 1) * np.pi / turns)


def _at(colatitude: Float, longitude: Float) -> Float:
    side = np.sin(colatitude)
    return np.column_stack([side * np.cos(longitude), side * np.sin(longitude), np.cos(colatitude)])
