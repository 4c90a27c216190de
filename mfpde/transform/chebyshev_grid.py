"""Smooth functions on a box of the line or the plane, as polynomials through their values at few points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.transform.chebyshev import chebyshev_points, interpolation_matrix
from mfpde.typing import Float

__all__ = ["ChebyshevGrid"]

_NUMBERS_PER_BATCH = 1 << 21  # bounds memory


class ChebyshevGrid(NamedTuple):
    """Chebyshev points of the box with that middle and those half-widths, `nodes` along each axis.

    >>> grid = ChebyshevGrid(np.array([0.0, 1.0]), np.array([1.0, 2.0]), 5)
    >>> x, y = grid.points.T
    >>> grid.interpolated((x * y**2)[:, None], np.array([[0.5, 2.0]])).round(12)
    array([[2.]])
    """

    middle: Float
    half: Float
    nodes: int

    @classmethod
    def around(cls, points: Float, count: int) -> ChebyshevGrid:
        """On the box of those points."""
        low, high = points.min(axis=0), points.max(axis=0)
        half = 0.5 * (high - low)
        return cls(0.5 * (low + high), np.where(half > 0.0, half, 1.0), count)

    @property
    def points(self) -> Float:
        """`(nodes^d, d)`, the last axis running fastest."""
        axes = [
            middle + half * chebyshev_points(self.nodes) for middle, half in zip(self.middle, self.half, strict=True)
        ]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))

    def interpolated(self, values: Float, to: Float) -> Float:
        """From values `(nodes^d, columns)` at the points to those at points `(n, d)` of the box, `(n, columns)`."""
        columns = values.shape[1]
        found, batch = np.empty((len(to), columns)), max(1, _NUMBERS_PER_BATCH // (self.nodes * columns))
        for start in range(0, len(to), batch):
            z = (to[start : start + batch] - self.middle) / self.half
            first, *rest = (interpolation_matrix(self.nodes, t) for t in z.T)
            part = first @ values.reshape(self.nodes, -1)
            for matrix in rest:
                part = np.einsum("nk,nkc->nc", matrix, part.reshape(len(z), self.nodes, -1))
            found[start : start + batch] = part
        return found
