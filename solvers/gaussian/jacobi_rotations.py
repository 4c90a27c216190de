"""Columns of a factor F of a covariance `S = F F^T`, of very different lengths."""

from __future__ import annotations

import numpy as np

from mfpde.typing import Float

__all__ = ["leaning"]

_MAX_COSINE = 0.5  # between two columns; beyond it they are made orthogonal


def leaning(factor: Float) -> bool:
    """Whether two columns are far from orthogonal."""
    lengths = np.linalg.norm(factor, axis=0)
    columns = factor / np.where(lengths > 0, lengths, 1.0)
    cosines = np.abs(columns.T @ columns)
    np.fill_diagonal(cosines, 0.0)
    return float(cosines.max(initial=0.0)) > _MAX_COSINE
