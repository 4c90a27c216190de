"""Places at which measures and drifts are asked: points, or the points of a lattice, which are far cheaper."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.geometry.base import Geometry

__all__ = ["Queries", "Scattered", "multiple_of_identity"]


class Queries(ABC):
    """Places x of a `shape`. Numbers asked there come in that shape, vectors as `(d, *shape)`."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The d of the R^d around them."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """How they are arranged."""

    @property
    @abstractmethod
    def positions_shape(self) -> tuple[int, ...]:
        """Of the positions s of masked attention that go with them: one for each, or `()` for one that all share."""

    @property
    def native(self) -> Float | None:
        """In the native form of a space, `(m, c)`, where they are points of one."""
        return None

    @abstractmethod
    def points(self) -> Float:
        """All of them as vectors of R^d, `(m, d)`."""

    @abstractmethod
    def mapped(self, matrix: Float, offset: Float | None = None, about: Float | None = None) -> Queries:
        """The places `matrix (x - about) + offset`."""

    @abstractmethod
    def along(self, vector: Float) -> Float:
        """`<vector, x>`."""

    @abstractmethod
    def part(self, here: slice) -> Queries:
        """Those with these indices along the first axis."""

    @abstractmethod
    def sizes(self) -> Float:
        """The largest `|x_i|`, `(d,)`."""

    @abstractmethod
    def transformed(self, matrix: Float, vectors: Float) -> Float:
        """`matrix v` for vectors v that were asked here."""

    @abstractmethod
    def tilts_of_grid(
        self, axes: Sequence[Float], masses: Float, frame: Float, log_factors: Float | None
    ) -> tuple[Float, Float]:
        """`(grad log M, log M)` at `frame^T x` for masses, times `e^{log_factors}`, on the tensor grid of axes."""

    def vectors(self) -> Float:
        """All of them, `(d, *shape)`."""
        return np.stack([self.along(unit) for unit in np.eye(self.dimension)])

    def ends(self) -> list[tuple[float, float]]:
        """The least and the largest number along each axis."""
        return [(float(row.min()), float(row.max())) for row in self.vectors()]

    def interpolated(self, fields: Float, start: Float) -> Float:
        """Fields `(parts, *nodes)` on nodes one apart, from `start` on, at these places of the line or the plane,
        `(parts, m)`."""
        from mfpde.transform.regular_grid import RegularGrid, interpolated  # compiled code

        places = self.vectors().reshape(self.dimension, -1).T
        return interpolated(places, fields, RegularGrid(start, 1.0, fields.shape[1:]))

    def laid(self, values: Float) -> Float:
        """Vectors at the points, `(m, d)`, as `(d, *shape)`."""
        return np.ascontiguousarray(values.T).reshape(-1, *self.shape)

    def only(self, rows: AnyArray) -> Queries:
        """Those with these numbers, where each has a position of its own."""
        return self

    def tangent(self, vectors: Float) -> Float:
        """Vectors `(d, *shape)` projected on the space, in its own components."""
        return vectors

    def answered(self, values: Float) -> Float:
        """An answer in the form that whoever asked expects."""
        return values


@dataclass(frozen=True, eq=False)
class Scattered(Queries):
    """Points `(m, c)` in the native form of a space, or vectors of R^d; `given` is the shape they came in.

    >>> Scattered(np.array([[1.0, 2.0], [3.0, 4.0]])).along(np.array([0.0, 1.0]))
    array([2., 4.])
    """

    places: Float
    space: Geometry | None = None
    given: tuple[int, ...] | None = None

    @property
    def native(self) -> Float:
        return self.places

    @property
    def dimension(self) -> int:
        return int(self._embedded.shape[1])

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.places.shape[0],)

    @property
    def positions_shape(self) -> tuple[int, ...]:
        return self.shape

    @cached_property
    def _embedded(self) -> Float:
        return self.places if self.space is None or self.space.flat else self.space.embed(self.places)

    def points(self) -> Float:
        return self._embedded

    def mapped(self, matrix: Float, offset: Float | None = None, about: Float | None = None) -> Scattered:
        x, factor = self._embedded if about is None else self._embedded - about, multiple_of_identity(matrix)
        moved = x @ matrix.T if factor is None else factor * x
        return Scattered(moved if offset is None else moved + offset)

    def along(self, vector: Float) -> Float:
        return self._embedded @ vector

    def part(self, here: slice) -> Scattered:
        return Scattered(self.places[here], self.space)

    def sizes(self) -> Float:
        return np.maximum(self._embedded.max(axis=0, initial=0.0), -self._embedded.min(axis=0, initial=0.0))

    def transformed(self, matrix: Float, vectors: Float) -> Float:
        factor = multiple_of_identity(matrix)
        if factor is not None:
            return vectors if factor == 1 else factor * vectors
        return (vectors.T @ matrix.T).T

    def tilts_of_grid(
        self, axes: Sequence[Float], masses: Float, frame: Float, log_factors: Float | None
    ) -> tuple[Float, Float]:
        from mfpde.transform import tilted_mean

        there = masses.ravel() > 0
        nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))[there]
        factors = None if log_factors is None else log_factors.ravel()[there]
        mean, value = tilted_mean(self._embedded @ frame, nodes, masses.ravel()[there], factors)
        return mean.T, value

    def vectors(self) -> Float:
        return self._embedded.T

    def laid(self, values: Float) -> Float:
        return values.T

    def only(self, rows: AnyArray) -> Scattered:
        return Scattered(self.places[rows], self.space)

    def tangent(self, vectors: Float) -> Float:
        return vectors if self.space is None else self.space.tangent(self.places, vectors.T).T

    def answered(self, values: Float) -> Float:
        """In the shape the points came in; unit vectors of the plane came with their angular velocity."""
        rows = np.ascontiguousarray(values.T)
        return rows.reshape(self.given) if self.given is not None and np.prod(self.given) == rows.size else rows


def multiple_of_identity(matrix: Float) -> float | None:
    """The c of `c I`, if that is what the matrix is."""
    factor = float(matrix[0, 0])
    if matrix.shape[1] > 1 and matrix[0, 1] != 0:
        return None
    along = matrix.diagonal()
    others = np.count_nonzero(matrix) - np.count_nonzero(along)
    return factor if others == 0 and (along == factor).all() else None
