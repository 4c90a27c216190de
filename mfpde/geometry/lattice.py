"""Points on a grid that may be moved, turned and stretched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arguments import instance, numbers
from mfpde.errors import ProblemError
from mfpde.geometry.queries import Queries
from mfpde.typing import AnyArray, Float

__all__ = ["Lattice", "grid_moments"]


@dataclass(frozen=True, eq=False)
class Lattice(Queries):
    """The points `x = origin + matrix z` of R^d, z on the tensor grid of d ascending axes.

    Sums over lattices are far cheaper than over as many scattered points.

    >>> Lattice.of([[0.0, 1.0], [0.0, 2.0, 4.0]]).points()[1]          # the last axis runs fastest
    array([0., 2.])
    """

    axes: tuple[Float, ...]
    origin: Float
    matrix: Float

    @classmethod
    def of(cls, axes: Sequence[AnyArray], origin: AnyArray | None = None, matrix: AnyArray | None = None) -> Lattice:
        """From axes, unmoved unless told."""
        instance("axes", axes, Sequence | np.ndarray, "a list of axes such as [[0.0, 0.5, 1.0]]")
        if getattr(axes, "ndim", 1) == 0:
            raise ProblemError.at("axes", "must be a list of axes such as [[0.0, 0.5, 1.0]], not a single number")
        grid = tuple(numbers(f"axes.{index}", axis) for index, axis in enumerate(axes))
        if not grid:
            raise ProblemError.at("axes", "must be at least one")
        dimension = len(grid)
        for index, axis in enumerate(grid):
            if axis.ndim != 1 or axis.size == 0 or not np.isfinite(axis).all() or np.any(np.diff(axis) <= 0):
                raise ProblemError.at("axes", f"must be ascending lists of finite numbers, axis {index} is not")
        start = np.zeros(dimension) if origin is None else numbers("origin", origin)
        frame = np.eye(dimension) if matrix is None else numbers("matrix", matrix)
        if start.shape != (dimension,) or frame.shape != (dimension, dimension):
            raise ProblemError.at(
                "axes",
                f"{dimension} axes need an origin ({dimension},) and a matrix ({dimension}, {dimension}), "
                f"not {start.shape} and {frame.shape}",
            )
        return cls(grid, start, frame)

    @property
    def dimension(self) -> int:
        return len(self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @cached_property
    def steps(self) -> Float:
        """From one point to the next along each axis, in columns, where they are equally far apart."""
        return np.asarray(self.matrix * np.array([axis[1] - axis[0] for axis in self.axes]))

    def points(self) -> Float:
        """All points, `(prod(shape), d)`, the last axis running fastest."""
        return self._points

    @cached_property
    def _points(self) -> Float:
        found = self.origin
        for k, axis in enumerate(self.axes):  # the last one runs fastest
            along = axis.reshape(-1, *(1,) * (self.dimension - k))
            found = found + along * self.matrix[:, k]
        return found.reshape(-1, self.dimension)

    @property
    def positions_shape(self) -> tuple[int, ...]:
        return ()

    def mapped(self, matrix: Float, offset: Float | None = None, about: Float | None = None) -> Lattice:
        origin = matrix @ (self.origin if about is None else self.origin - about)
        return Lattice(self.axes, origin if offset is None else origin + offset, matrix @ self.matrix)

    def along(self, vector: Float) -> Float:
        axes = np.meshgrid(*self.axes, indexing="ij", sparse=True)
        parts = [part * axis for part, axis in zip(self.matrix.T @ vector, axes, strict=True)]
        total: Float = sum(parts[1:], parts[0] + vector @ self.origin)
        return total

    def vectors(self) -> Float:
        found = np.empty((self.dimension, *self.shape))
        for row, start, out in zip(self.matrix, self.origin, found, strict=True):
            along = row[0] * self.axes[0] + start
            for factor, axis in zip(row[1:], self.axes[1:], strict=True):
                along = np.add.outer(along, factor * axis)
            out[...] = along
        return found

    def part(self, here: slice) -> Lattice:
        return Lattice((self.axes[0][here], *self.axes[1:]), self.origin, self.matrix)

    def sizes(self) -> Float:
        ends = np.array([max(abs(axis[0]), abs(axis[-1])) for axis in self.axes])
        return np.abs(self.matrix) @ ends + np.abs(self.origin)

    def ends(self) -> list[tuple[float, float]]:
        found, outer = [], [(float(axis[0]), float(axis[-1])) for axis in self.axes]
        for start, row in zip(self.origin.tolist(), self.matrix.tolist(), strict=True):
            spans = [(factor * first, factor * last) for factor, (first, last) in zip(row, outer, strict=True)]
            found.append((start + sum(map(min, spans)), start + sum(map(max, spans))))
        return found

    def interpolated(self, fields: Float, start: Float) -> Float:
        if self.dimension != 2:
            return super().interpolated(fields, start)
        from mfpde.transform.regular_grid import interpolated_on_lattice

        axes = np.ascontiguousarray(self.axes[0]), np.ascontiguousarray(self.axes[1])
        frame = np.ascontiguousarray(self.origin), np.ascontiguousarray(self.matrix)
        return interpolated_on_lattice(axes, frame, np.ascontiguousarray(fields), start)

    def transformed(self, matrix: Float, vectors: Float) -> Float:
        from mfpde.transform import mapped  # compiled code, which a few particles do not need

        return mapped(matrix, vectors)

    def tilts_of_grid(
        self, axes: Sequence[Float], masses: Float, frame: Float, log_factors: Float | None
    ) -> tuple[Float, Float]:
        from mfpde.transform import tilted_mean_on_grid

        return tilted_mean_on_grid(axes, masses, frame.T @ self.matrix, frame.T @ self.origin, self.axes, log_factors)


def grid_moments(axes: Sequence[Float], share: Float) -> tuple[Float, Float]:
    """Mean and covariance of shares of sum 1 at the points of the tensor grid of one or two axes."""
    middle, spread, centred = np.empty(len(axes)), np.empty((len(axes), len(axes))), []
    for i, axis in enumerate(axes):
        part = share if share.ndim == 1 else share.sum(axis=1 - i)
        middle[i] = part @ axis
        centred.append(axis - middle[i])
        spread[i, i] = part @ centred[i] ** 2
    if share.ndim == 2:
        spread[0, 1] = spread[1, 0] = centred[0] @ share @ centred[1]
    return middle, spread
