"""Matrices with more digits than a double has, as sums of matrices of doubles."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from mfpde.typing import Float

__all__ = ["Decimals", "decimals", "inverted", "parts", "rounded"]

#: an array of `Decimal`
Decimals = NDArray[np.object_]

_decimal = np.frompyfunc(Decimal, 1, 1)


def decimals(values: Float) -> Decimals:
    """The doubles as they are."""
    return np.asarray(_decimal(values), dtype=object)


def rounded(values: Decimals) -> Float:
    """To doubles."""
    return values.astype(float)


def parts(values: Decimals, digits: int) -> Float:
    """`(count, ...)`: doubles whose sum has that many digits of the values."""
    found, rest = [], values
    with localcontext() as context:
        context.prec = digits + 20
        for _ in range(1 + digits // 15):
            found.append(rounded(rest))
            rest = rest - decimals(found[-1])
    return np.array(found)


def inverted(matrix: Decimals) -> Decimals:
    """By Gauss and Jordan's elimination with pivots."""
    size = len(matrix)
    work = np.concatenate([matrix, decimals(np.eye(size))], axis=1)
    for column in range(size):
        pivot = column + int(np.argmax(np.abs(work[column:, column])))
        if work[pivot, column] == 0:
            raise np.linalg.LinAlgError("singular")
        work[[column, pivot]] = work[[pivot, column]]
        work[column] = work[column] / work[column, column]
        others = np.arange(size) != column
        work[others] = work[others] - np.outer(work[others, column], work[column])
    return work[:, size:]
