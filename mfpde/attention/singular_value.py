"""The largest singular value of a map that is known by its products: Golub and Kahan's bidiagonalisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mfpde.typing import AnyArray, Float

__all__ = ["SingularValue", "largest_singular_value"]

#: entries of a vector: longer ones make a basis in single precision, half the memory; orthogonality to 1e-7 suffices
_MIN_SIZE_SINGLE_PRECISION = 2**20


@dataclass(frozen=True, eq=False)
class SingularValue:
    """A singular value, an estimate of its error, and the direction (of norm 1) that is stretched by it."""

    value: float
    error: float
    iterations: int
    converged: bool
    direction: Float


def largest_singular_value(
    product: Callable[[Float], Float],
    transposed: Callable[[Float], Float],
    start: Float,
    tolerance: float,
    most: int,
) -> SingularValue:
    """Each iteration takes one product and one of the transpose; vectors on the right are kept, and kept orthogonal.

    The error of a Ritz value is at most its residual r, and r^2 over the distance to the next one once these have
    settled: the smaller is taken. It stops when that is below `tolerance` times the value.
    """
    shape, kept = start.shape, np.float32 if start.size > _MIN_SIZE_SINGLE_PRECISION else np.float64
    right = start.ravel() / np.linalg.norm(start)
    basis: list[AnyArray] = [right.astype(kept)]
    diagonal, above = list[float](), list[float]()
    left = np.zeros(start.size)
    while True:
        left = product(right.reshape(shape)).ravel() - (above[-1] if above else 0.0) * left
        diagonal.append(_normalised(left))
        right = transposed(left.reshape(shape)).ravel() - diagonal[-1] * right
        for _ in range(2):
            for other in basis:
                right -= (other @ right) * other
        above.append(_normalised(right))
        value, error, shares = _ritz(diagonal, above)
        exhausted = above[-1] <= 1e-15 * value or len(diagonal) >= start.size
        if exhausted or error <= tolerance * value or len(diagonal) >= most:
            direction = sum((share * vector for share, vector in zip(shares, basis, strict=True)), np.zeros(start.size))
            done = exhausted or error <= tolerance * value
            return SingularValue(value, error, len(diagonal), done, direction.reshape(shape))
        basis.append(right.astype(kept))


def _normalised(vector: Float) -> float:
    """The norm of the vector, which is made 1 in place; a vector of zeros stays."""
    norm = float(np.linalg.norm(vector))
    if norm > 0:
        vector /= norm
    return norm


def _ritz(diagonal: list[float], above: list[float]) -> tuple[float, float, Float]:
    """The largest singular value of the bidiagonal matrix, the estimate of its error, and its right vector."""
    left, values, right = np.linalg.svd(np.diag(diagonal) + np.diag(above[:-1], 1))
    residual = above[-1] * abs(float(left[-1, 0]))
    distance = float(values[0] - values[1]) - residual if values.size > 2 else 0.0
    error = min(residual, residual**2 / distance) if distance > 0 else residual
    return float(values[0]), error, right[0]
