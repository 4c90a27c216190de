"""Orthonormal bases in a fixed order of operations: no calls to LAPACK, whose threads would change the bits."""

from __future__ import annotations

import math

import numpy as np

from mfpde.compilation import allocating_kernel
from mfpde.typing import Float

__all__ = ["orthonormalise"]

#: the second makes columns orthogonal that were nearly dependent, the third those that were so to rounding
_SWEEPS = 3


@allocating_kernel
def orthonormalise(columns: Float) -> None:
    """Columns `(d, r)`, r <= d, in place: a basis of what they span by the modified Gram-Schmidt process; columns that
    are left without length stay 0."""
    rows, count = columns.shape
    along = np.empty(count)
    for _ in range(_SWEEPS):
        for one in range(count):
            square = 0.0
            for i in range(rows):
                square += columns[i, one] * columns[i, one]
            length = math.sqrt(square)
            for i in range(rows):
                columns[i, one] = columns[i, one] / length if length > 0.0 else 0.0
            for other in range(one + 1, count):
                along[other] = 0.0
            for i in range(rows):
                row = columns[i]
                for other in range(one + 1, count):
                    along[other] += row[one] * row[other]
            for i in range(rows):
                row = columns[i]
                for other in range(one + 1, count):
                    row[other] -= row[one] * along[other]
