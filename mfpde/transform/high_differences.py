"""Differences of high order along the rows of a table: what polynomials through its values leave out."""

from __future__ import annotations

import math

from mfpde.compilation import kernel
from mfpde.typing import Float

__all__ = ["largest_differences"]


@kernel
def _difference(values: Float, exponents: Float, first: int, factors: Float, most: float) -> float:
    """`sum_k factors_k values_k e^{exponents_k - q}` from a place on, q the exponent in the middle."""
    total, middle = 0.0, first + factors.size // 2
    for k in range(factors.size):
        term = factors[k] * values[first + k]
        if exponents.size > 0:
            term *= math.exp(min(exponents[first + k] - exponents[middle], most))
        total += term
    return abs(total)


@kernel
def largest_differences(values: Float, exponents: Float, factors: Float, most: float) -> tuple[float, float]:
    """The largest `|sum_k factors_k values_k e^{exponents_k - q}|` of neighbours in rows of a table, q the exponent in
    their middle, from which others differ by `most` at most, and the largest at the ends of rows; without exponents
    `(rows, 0)` they are 0."""
    largest, at_ends, stencils = 0.0, 0.0, values.shape[1] - factors.size + 1
    for row in range(values.shape[0]):
        line, levels = values[row], exponents[row]
        for first in range(stencils):
            found = _difference(line, levels, first, factors, most)
            largest = max(largest, found)
            if first in (0, stencils - 1):
                at_ends = max(at_ends, found)
    return largest, at_ends
