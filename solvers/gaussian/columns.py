"""Columns of a factor F of a covariance `S = F F^T`, of very different lengths."""

from __future__ import annotations

import numpy as np

from mfpde.typing import Float

__all__ = ["leaning", "orthogonalised"]

_LEANING = 0.5  # the cosine between columns from which on they are turned
_SWEEPS = 3
_FEW = 12  # columns up to which rotations of pairs are quick


def leaning(factor: Float) -> bool:
    """Whether two columns are far from orthogonal."""
    lengths = np.linalg.norm(factor, axis=0)
    columns = factor / np.where(lengths > 0, lengths, 1.0)
    cosines = np.abs(columns.T @ columns)
    np.fill_diagonal(cosines, 0.0)
    return float(cosines.max()) > _LEANING


def orthogonalised(factor: Float) -> Float:
    """`F Q` with all but orthogonal columns, by Jacobi's rotations of pairs: each keeps its relative accuracy, however
    short it is beside the others. Of many columns by the singular values, which do not."""
    if factor.shape[1] > _FEW:
        left, lengths, _ = np.linalg.svd(factor, full_matrices=False)
        return np.asarray(left * lengths)
    columns = factor.T.copy()
    for _ in range(_SWEEPS):
        for i in range(len(columns) - 1):
            for j in range(i + 1, len(columns)):
                _rotate(columns, i, j)
    return columns.T


def _rotate(columns: Float, i: int, j: int) -> None:
    """Rotate two rows until they are orthogonal."""
    a, b = columns[i].copy(), columns[j].copy()
    product = float(a @ b)
    if product == 0:
        return
    ratio = float(b @ b - a @ a) / (2 * product)
    tangent = np.copysign(1.0, ratio) / (abs(ratio) + np.hypot(1.0, ratio))
    cosine = 1 / np.hypot(1.0, tangent)
    columns[i], columns[j] = cosine * (a - tangent * b), cosine * (b + tangent * a)
