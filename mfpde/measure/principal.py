"""Principal axes of a Gaussian from a factor of its covariance, the thin ones as well as the wide ones."""

from __future__ import annotations

import numpy as np

from mfpde.typing import Float

__all__ = ["principal"]

_MAX_JACOBI_COLUMNS = 16  # above it Jacobi's method is slow


def principal(factor: Float) -> tuple[Float, Float, Float]:
    """`F = U diag(s) V^T`, `(d, r)`, `(r,)` descending, `(r, r)`, for r <= d.

    By Jacobi's method, preconditioned by QR decompositions (LAPACK's `dgejsv`): every s has its relative accuracy,
    however small it is beside the others, if columns (or rows) scaled to equal lengths are well conditioned. More than
    sixteen columns by the usual method, whose errors are those of the largest s.
    """
    if factor.shape[1] == 0:
        return np.zeros(factor.shape), np.zeros(0), np.zeros((0, 0))
    if not np.isfinite(factor).all():
        raise np.linalg.LinAlgError("the factor is not finite")
    if factor.shape[1] > _MAX_JACOBI_COLUMNS or not factor.any():
        left, widths, right = np.linalg.svd(factor, full_matrices=False)
        return left, widths, right.T
    from scipy.linalg.lapack import dgejsv

    widths, left, right, scales, _, failed = dgejsv(factor, joba=2, jobu=0, jobv=0, jobr=0)
    if failed:
        raise np.linalg.LinAlgError("Jacobi's rotations do not end")
    return left, widths * (scales[0] / scales[1]), right
