"""Drifts that keep Gaussians Gaussian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.geometry import Queries
from mfpde.typing import Float

__all__ = ["AffineDrift", "Forms", "square_root"]


@dataclass(frozen=True, eq=False)
class AffineDrift:
    """`G(x) = c + B (x - mean)`: under it `N(mean, S)` stays Gaussian, with `m' = c` and `S' = B S + S B^T + 2/kappa I`
    (physics section 4)."""

    c: Float
    B: Float

    def __add__(self, other: AffineDrift) -> AffineDrift:
        return AffineDrift(self.c + other.c, self.B + other.B)

    def times(self, matrix: Float) -> AffineDrift:
        """`matrix G(x)`."""
        return AffineDrift(matrix @ self.c, matrix @ self.B)

    def at(self, queries: Queries, mean: Float) -> Float:
        """`G(x)`, `(d, *shape)`."""
        return queries.mapped(self.B, self.c, about=mean).vectors()


@dataclass(frozen=True, eq=False)
class Forms:
    """Bilinear forms of a head in any coordinates: `query`, `(..., d, d)`, the A of `<Ax, y>`, and `rows`, `(..., any,
    d)`, linear maps of tokens (none for most heads)."""

    query: Float
    rows: Float

    def moved(self, basis: Float) -> Forms:
        """In the coordinates z of `x = G z`."""
        return Forms(basis.T @ self.query @ basis, self.rows @ basis)


def square_root(covariance: Float) -> Float:
    """F with `F F^T = S`, `(d, d)`; negative eigenvalues are rounding and become 0."""
    variances, axes = np.linalg.eigh(covariance)
    return np.asarray(axes * np.sqrt(np.maximum(variances, 0.0)))
