"""Chebyshev points, and the panels that an interval is cut into.

On a panel `e^{<w, y>}` runs over `e^{-z} .. e^{z}`, z = half-width times |y|. Interpolation on p points leaves
`2 (z/2)^p / p!` relative to the largest value, so `e^{z}` times that relative to the smallest, and roundoff grows by
`e^{2z}`. Small z with few points costs the same number of points in all as the other way round, and keeps two digits
more for a few point masses.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.errors import ProblemError
from mfpde.typing import Float

__all__ = [
    "Panels",
    "chebyshev_points",
    "chebyshev_transform",
    "check_finite",
    "cut",
    "interpolation_matrix",
    "interpolation_weights",
]


class Panels(NamedTuple):
    """`number` panels of half-width `half`, the first beginning at `start`."""

    start: float
    half: float
    number: int

    @property
    def centres(self) -> Float:
        middles: Float = self.start + self.half * (2.0 * np.arange(self.number, dtype=float) + 1.0)
        return middles

    def points(self, count: int) -> Float:
        """Chebyshev points of all panels, in order of panels."""
        return (self.centres[:, None] + self.half * chebyshev_points(count)).ravel()


def check_finite(scores: Float | float) -> None:
    """An error when scores, or what they are made of, are not finite."""
    if not np.isfinite(scores).all():
        raise ProblemError.at("attention", "has scores <Ax, y> beyond the largest double for these tokens")


def cut(low: float, high: float, radius: float, most: float) -> Panels:
    """[low, high] in equal panels of half-width at most `most / radius`."""
    half = 0.5 * (high - low)
    check_finite(half * radius)
    count = max(1, math.ceil(half * radius / most))
    if half == 0.0:  # a single point: a panel that is small, but wider than rounding
        half = 1e-8 * min(1.0, most / (1.0 + radius)) + 1e-12 * abs(low)
        return Panels(low - half, half, 1)
    return Panels(low, half / count, count)


def chebyshev_points(count: int) -> Float:
    """Points of the first kind in [-1, 1]."""
    return np.cos(np.pi * (np.arange(count) + 0.5) / count)


def interpolation_weights(count: int) -> Float:
    """`1 / prod_{j != k} (t_k - t_j)` for those points, the barycentric weights."""
    signs = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    return signs * np.sin(np.pi * (np.arange(count) + 0.5) / count) * (2.0 ** (count - 1) / count)


def chebyshev_transform(count: int) -> Float:
    """The matrix that takes values at the points to coefficients of Chebyshev polynomials."""
    order = np.arange(count)
    matrix = 2.0 / count * np.cos(np.pi * np.outer(order, order + 0.5) / count)
    matrix[0] *= 0.5
    return matrix


def interpolation_matrix(count: int, to: Float) -> Float:
    """From values at the Chebyshev points of [-1, 1] to values at `to`."""
    distance = to[:, None] - chebyshev_points(count)
    terms = interpolation_weights(count) / np.where(distance == 0.0, 1e-280, distance)
    matrix: Float = terms / terms.sum(axis=1, keepdims=True)
    return matrix
