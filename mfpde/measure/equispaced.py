"""Equispaced nodes for smooth densities that decay: no rule needs fewer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.measure.rules import tensor, times
from mfpde.typing import Float

__all__ = ["equispaced"]

_COUNTS = {1: (48, 96, 192, 384, 768, 1536, 3072), 2: (48, 96, 192)}  # points along an axis, by dimension
_TILTS = (1.0, 8.0)  # |w| in units of one over the standard deviation


def equispaced(
    density: Callable[[Float], Float], low: Float, high: Float, accuracy: float, refinement: float = 1.0
) -> tuple[Float, Float] | None:
    """Points and masses in a box at whose sides the density is negligible, or None if it is not smooth enough.

    Two sets of points, half a step apart, must agree about M(w) for tilts up to 8 standard deviations: for small ones,
    too, since of a symmetric density both sets are mirror images, whose masses agree however wrong their means are.
    """
    for count in _COUNTS[low.size]:
        (here, first), (beside, second) = (_grid(density, low, high, count, shift) for shift in (0.25, 0.75))
        if _agree(here, first, beside, second, accuracy):
            points, masses = _grid(density, low, high, times(refinement, count), 0.25)
            return points[masses > 0], masses[masses > 0]
    return None


def _grid(density: Callable[[Float], Float], low: Float, high: Float, count: int, shift: float) -> tuple[Float, Float]:
    step = (high - low) / count
    points = tensor([a + h * (np.arange(count) + shift) for a, h in zip(low, step, strict=True)])
    return points, density(points) * np.prod(step)


def _agree(here: Float, first: Float, beside: Float, second: Float, accuracy: float) -> bool:
    if not (first.any() and second.any()):
        return False
    centred = here - first @ here / first.sum()
    spread = (first[:, None] * centred).T @ centred / first.sum()
    for w in _tilts(spread):
        exponents = [points @ w for points in (here, beside)]
        top = max(float((exponents[0] + _log(first)).max()), float((exponents[1] + _log(second)).max()))
        masses = [float(np.exp(e + _log(m) - top).sum()) for e, m in zip(exponents, (first, second), strict=True)]
        if abs(masses[0] - masses[1]) > (10 * accuracy + 1e-16 * abs(top)) * masses[0]:
            return False
    return True


def _tilts(spread: Float) -> Float:
    dimension = spread.shape[0]
    directions = np.array([[0.0], [1.0], [-1.0]])
    if dimension == 2:
        turn = np.pi / 4 * np.arange(8)
        directions = np.vstack([[0.0, 0.0], np.column_stack([np.cos(turn), np.sin(turn)])])
    if not np.all(np.diag(spread) > 0) or np.linalg.det(spread) <= 0:
        return np.zeros((1, dimension))
    inverse: Float = np.linalg.inv(np.linalg.cholesky(spread))
    return np.vstack([size * directions @ inverse for size in _TILTS])


def _log(masses: Float) -> Float:
    with np.errstate(divide="ignore"):
        return np.log(masses)
