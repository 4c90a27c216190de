"""Where a field on the line or the plane has no bound: samples, and ever finer ones about the largest of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from mfpde.typing import Float

__all__ = ["singular_place"]

_LARGEST_COORDINATE = 8.03  # of the samples unless told; round numbers are none of them
_SPACINGS = {1: 4.015e-3, 2: 0.100375}  # of the samples along an axis, by dimension
_PEAKS_MAX = 64  # largest samples among their neighbours, that are looked at
_REFINEMENTS, _RATIO = 16, 4.0  # how often, and how much finer each time: spacings end at 1e-12 on the line
_GROWTH = 2.0  # in the second half of them: 1 where there is a largest value, 3 for a slope r^-0.1


def singular_place(field: Callable[[Float], Float], dimension: int, most: float = _LARGEST_COORDINATE) -> Float | None:
    """A point `(d,)`, with coordinates up to `most`, near which the field of points `(n, d)`, values `(n, c)`, is not
    finite or grows for ever; None where there is none that samples see.

    >>> singular_place(lambda x: 1.0 / (x - 0.3), 1).round(9), singular_place(lambda x: np.sign(x), 1)
    (array([0.3]), None)
    """
    axis = np.linspace(-most, most, 2 * round(most / _SPACINGS[dimension]) + 1)
    samples = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1)
    with np.errstate(all="ignore"):
        sizes = _sizes(field, samples.reshape(-1, dimension)).reshape(samples.shape[:-1])
        peak = np.ones(sizes.shape, dtype=bool)
        for direction, shift in product(range(dimension), (-1, 1)):
            peak &= sizes >= np.roll(sizes, shift, direction)
        order = np.argsort(sizes[peak])[::-1][:_PEAKS_MAX]
        places, largest = samples[peak][order], sizes[peak][order]
        near = np.array(list(product(np.linspace(-1, 1, 9), repeat=dimension)))
        halfway, spacing = largest, axis[1] - axis[0]
        for refinement in range(_REFINEMENTS):
            around = places[:, None] + spacing * near
            sizes = _sizes(field, around.reshape(-1, dimension)).reshape(around.shape[:2])
            best = sizes.argmax(axis=1)
            places, largest = around[np.arange(len(best)), best], sizes.max(axis=1)
            spacing /= _RATIO
            halfway = largest if refinement == _REFINEMENTS // 2 else halfway
        grows = ~np.isfinite(largest) | (largest > _GROWTH * halfway)
    return places[int(grows.argmax())] if grows.any() else None


def _sizes(field: Callable[[Float], Float], points: Float) -> Float:
    """Largest components of the field, infinite where it is not finite; squares would overflow."""
    sizes = np.abs(field(points)).max(axis=1)
    return np.where(np.isfinite(sizes), sizes, np.inf)
