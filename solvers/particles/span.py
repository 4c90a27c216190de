"""Fewer tokens than dimensions: they stay in the subspace that they span at first, and move as in one of that size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.geometry import multiple_of_identity
from mfpde.solvers.kernels.orthonormal import orthonormalise
from mfpde.solvers.kernels.token_slope import PairwiseLaw
from mfpde.transform.products import multiply
from mfpde.typing import Float

__all__ = ["Span", "law_in_span"]


def law_in_span(law: PairwiseLaw, count: int) -> PairwiseLaw | None:
    """The law of so many tokens in coordinates of their span, where all its matrices are multiples of the identity."""
    factors = [[multiple_of_identity(each) for each in matrices] for matrices in (law.query, law.value, law.form)]
    if count >= law.query.shape[1] or any(None in each for each in factors):
        return None
    query, value, form = (np.multiply.outer(np.array(each, dtype=float), np.eye(count)) for each in factors)
    return law._replace(query=query, value=value, form=form)


@dataclass(frozen=True, eq=False)
class Span:
    """Of each copy an orthonormal basis of the span of its tokens, `(copies, d, r)`.

    >>> span = Span.of(np.array([[[3.0, 0.0, 4.0], [0.0, 0.0, 2.0]]]))
    >>> (span.inside(np.array([[[3.0, 0.0, 4.0]]])).round(12) + 0.0).tolist(), span.bases.shape
    ([[[5.0, 0.0]]], (1, 3, 2))
    """

    bases: Float

    @classmethod
    def of(cls, vectors: Float) -> Span:
        """Of tokens `(copies, r, d)`, r <= d."""
        bases = np.ascontiguousarray(vectors.transpose(0, 2, 1))
        for basis in bases:
            orthonormalise(basis)
        return cls(bases)

    def inside(self, vectors: Float) -> Float:
        """Coordinates `(copies, n, r)` of vectors `(copies, n, d)`."""
        return _products(self.bases.transpose(0, 2, 1), vectors)

    def outside(self, coordinates: Float) -> Float:
        """Vectors `(copies, n, d)` of coordinates `(copies, n, r)`."""
        return _products(self.bases, coordinates)


def _products(matrices: Float, vectors: Float) -> Float:
    """`matrix v` for each copy, by sums whose order does not depend on threads."""
    copies, rows, terms = matrices.shape
    found = np.empty((copies, vectors.shape[1], rows))
    left, out = np.zeros((-(-rows // 4) * 4, terms)), np.empty((-(-rows // 4) * 4, vectors.shape[1]))
    for matrix, each, place in zip(matrices, vectors, found, strict=True):
        left[:rows] = matrix
        multiply(left, np.ascontiguousarray(each.T), out)
        place[:] = out[:rows].T
    return found
