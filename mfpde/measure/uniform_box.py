"""Constant density on a box."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mfpde.errors import ProblemError, shown
from mfpde.geometry import Geometry, Lattice
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.overlap import shares_in_box
from mfpde.measure.rules import of_box
from mfpde.streams import uniform_rows
from mfpde.typing import AnyArray, Float

__all__ = ["UniformBox", "check_sides"]

_LEAST_SIDE = 1e-12  # of its distance from the origin: some thousand doubles


def check_sides(box: Iterable[tuple[float, ...]]) -> None:
    """Fail where a side of a box as it was written is no interval."""
    for side in box:
        if len(side) != 2 or not np.isfinite(side).all() or not side[0] < side[1]:
            raise ProblemError.at("box", f"needs pairs [from, to] with from < to, not {shown(list(side))}")
        if not np.isfinite(float(side[1]) - float(side[0])):
            raise ProblemError.at("box", f"is wider than doubles go: {list(side)}")
        if side[1] - side[0] < _LEAST_SIDE * max(abs(side[0]), abs(side[1])):
            raise ProblemError.at("box", f"is narrower than doubles tell its points apart: {list(side)}")


class UniformBox(Measure):
    """Constant on the box between the corners `low` and `high`: `log M(w) = <w, c> + sum_i log(sinh(a_i) / a_i)`, c the
    middle, `a_i` half of w_i times the side.

    >>> from mfpde import Line
    >>> UniformBox([-1.0], [1.0], Line()).log_laplace([[2.0]]).round(6)          # log(sinh(2) / 2)
    array([0.59522])
    """

    compact = True
    jumps = True

    def __init__(self, low: AnyArray, high: AnyArray, geometry: Geometry) -> None:
        self.low, self.high = np.array(low, dtype=float), np.array(high, dtype=float)
        self._geometry = geometry

    @property
    def sides(self) -> Float:
        return self.high - self.low

    @property
    def mean(self) -> Float:
        return 0.5 * (self.low + self.high)

    @property
    def covariance(self) -> Float:
        return np.diag(self.sides**2 / 12)

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        """A tensor of Gauss-Legendre rules accurate for tilts of 200 (d = 1), 100, 40, 16 over half a side."""
        points, weights = of_box(self.low.size, accuracy, refinement)
        return self.mean + 0.5 * self.sides * points, weights

    def _log_laplace(self, w: Float) -> tuple[Float, Float]:
        from mfpde.transform import cell_correction

        slope, log_factor = cell_correction(np.ascontiguousarray(w.T), self.sides)
        return w @ self.mean + log_factor, self.mean + slope.T

    def evaluate(self, points: AnyArray) -> Float:
        x = self.space.points(points)
        return np.where(np.all((x >= self.low) & (x <= self.high), axis=1), 1 / np.prod(self.sides), 0.0)

    def sample(self, count: int, seed: int = 0) -> Float:
        return self.sample_share(0, count, seed)

    def sample_share(self, first: int, count: int, seed: int = 0) -> Float:
        return self.low + uniform_rows(count, self.low.size, seed, first=first) * self.sides

    def reach(self, tolerance: float = NODES_ACCURACY, tilts: AnyArray | None = None) -> tuple[Float, Float]:
        return self.low.copy(), self.high.copy()

    @property
    def breakpoints(self) -> Float | None:
        return np.concatenate([self.low, self.high]) if self.low.size == 1 else None

    def _cell_averages(self, lattice: Lattice) -> Float:
        return shares_in_box(lattice, self.low, self.high) / np.prod(self.sides)
