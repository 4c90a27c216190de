"""Which states are the same up to a rotation."""

from __future__ import annotations

import numpy as np

from mfpde.typing import Float

__all__ = ["images", "is_image", "stride_of_moments"]

_ZERO_MOMENT = 1e-10  # a moment that a symmetry makes zero


def stride_of_moments(b: Float, dimension: int) -> int:
    """The greatest k for which only multiples of k have moments: rotations by 2 pi / k leave the state as it is."""
    there = np.flatnonzero(np.abs(b[1:]) > _ZERO_MOMENT) + 1
    if not there.size:
        return 0
    stride = int(np.gcd.reduce(there))
    return stride if dimension == 2 else 2 - stride % 2


def images(b: Float, dimension: int) -> list[Float]:
    """The rotations of an even state that are even again: by pi / k on the circle, x -> -x on spheres."""
    stride = stride_of_moments(b, dimension)
    if stride == 0 or (dimension > 2 and stride == 2):
        return [b]
    sign = (-1.0) ** (np.arange(b.size) // stride)
    return [b, b * sign]


def is_image(b: Float, other: Float, tolerance: float, dimension: int) -> bool:
    """Whether two states are the same up to a rotation."""
    weight = np.minimum(1.0, 8.0 / (1 + np.arange(b.size)))  # high moments of near states differ most
    return any(float(np.abs(weight * (image - other)).max()) < tolerance for image in images(b, dimension))
