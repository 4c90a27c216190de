"""Attention: a kernel between tokens, and what follows from it."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from mfpde.attention.law import Law, in_shape_of, native_points
from mfpde.geometry import Lattice
from mfpde.measure import Measure
from mfpde.typing import AnyArray, Float

__all__ = ["Attention", "embedded", "embedded_nodes", "on_lattice", "row_blocks"]

#: entries of the blocks that plain sums are made in
_BLOCK = 2**22


class Attention(Law):
    """A kernel `k(x, y)` and a value matrix V: `G_mu(x) = int k(x, y) V y dmu(y)`, projected on spheres (physics
    section 2)."""

    @abstractmethod
    def kernel(self, queries: Float, keys: Float, weights: Float) -> Float:
        """`k(x_i, y_j)` for vectors x (m, d), y (n, d), normalised with respect to the weighted nodes y: `(m, n)`."""

    @abstractmethod
    def value_matrix(self, dimension: int) -> Float:
        """V as a `(d, d)` array."""

    def outputs(self, measure: Measure, points: Float | Lattice, positions: AnyArray | None = None) -> Float:
        if isinstance(points, Lattice):
            return on_lattice(points, self.outputs(measure, points.points(), positions))
        return self._plain_outputs(measure, points)

    def drift_by_quadrature(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        self.need_constant()
        x = native_points(measure, points)
        output = self._plain_outputs(measure, x)
        return in_shape_of(points, output if measure.geometry is None else measure.geometry.tangent(x, output))

    def _plain_outputs(self, measure: Measure, points: Float) -> Float:
        keys, weights = embedded_nodes(measure)
        queries = embedded(measure, points)
        means = np.empty((queries.shape[0], keys.shape[1]))
        for here in row_blocks(queries.shape[0], keys.shape[0]):
            means[here] = (self.kernel(queries[here], keys, weights) * weights) @ keys
        return means @ self.value_matrix(keys.shape[1]).T


def embedded(measure: Measure, points: Float) -> Float:
    """Native points as vectors of R^d."""
    return points if measure.geometry is None else measure.geometry.embed(points)


def embedded_nodes(measure: Measure) -> tuple[Float, Float]:
    """The measure's nodes as vectors of R^d, and their weights."""
    nodes, weights = measure.nodes()
    return embedded(measure, nodes), weights


def on_lattice(lattice: Lattice, values: Float) -> Float:
    """`(m, d)` at the lattice's points as `(d, *shape)`."""
    return np.ascontiguousarray(values.T).reshape(-1, *lattice.shape)


def row_blocks(rows: int, columns: int) -> list[slice]:
    """Slices of rows so few that a block of that many columns stays small."""
    length = max(1, _BLOCK // max(columns, 1))
    return [slice(start, min(start + length, rows)) for start in range(0, rows, length)]
