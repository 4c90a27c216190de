"""Sizes of coefficients by degree, and of the errors of a step."""

from __future__ import annotations

import math

from mfpde.compilation import kernel
from mfpde.typing import AnyArray, Float

__all__ = ["LASTING_WEIGHT", "error_size", "sizes_by_degree", "tail_size"]

#: over the excited part of a density: how many times errors of modes that grow, or hardly decay, may count
LASTING_WEIGHT = 100.0


@kernel
def sizes_by_degree(values: Float, degrees: AnyArray, copies: Float, sizes: Float) -> None:
    """sizes `(slices, degree + 1)` = `(sum |c|^2)^{1/2}` of `(2, slices * size)`; every coefficient counts `copies`
    times."""
    size = degrees.size
    for number in range(sizes.shape[0]):
        row = sizes[number]
        real, imaginary = values[0, number * size : (number + 1) * size], values[1, number * size : (number + 1) * size]
        for degree in range(row.size):
            row[degree] = 0.0
        for place in range(size):
            row[degrees[place]] += copies[place] * (real[place] * real[place] + imaginary[place] * imaginary[place])
        for degree in range(row.size):
            row[degree] = math.sqrt(row[degree])


@kernel
def error_size(errors: Float, sizes: Float, peaks: Float, margin: float) -> float:
    """Of errors with these sizes, relative to the density: the largest of the bound of its largest value, of its mean
    square, and of every degree, where what is below the margin counts as if it were as large."""
    largest = 0.0
    for number in range(sizes.shape[0]):
        total, error_total, square = 0.0, 0.0, 0.0
        for degree in range(peaks.size):
            peak, error, here = peaks[degree], errors[number, degree], sizes[number, degree]
            total += peak * here
            error_total += peak * error
            square += error * error
            if degree > 0:
                largest = max(largest, error / (here / peak + margin))
        largest = max(largest, error_total / total, math.sqrt(square))
    return largest


@kernel
def tail_size(sizes: Float, peaks: Float, first: int, last: int) -> float:
    """The largest of the degrees in [first, last), relative to the sum of all below."""
    largest = 0.0
    for number in range(sizes.shape[0]):
        total, tail = 0.0, 0.0
        for degree in range(first):
            total += sizes[number, degree] * peaks[degree]
        for degree in range(first, last):
            tail = max(tail, sizes[number, degree] * peaks[degree])
        largest = max(largest, tail / total)
    return largest
