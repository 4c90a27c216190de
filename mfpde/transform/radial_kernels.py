"""All pairs of points and keys whose force is a function of their distance."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.fused import fused
from mfpde.transform.piecewise import Piecewise, piecewise_value
from mfpde.typing import Float

__all__ = ["CIRCLE", "EUCLIDEAN", "SPHERE", "radial_forces", "radial_values"]

#: where distances are measured: in R^d; along the circle; along chords of a sphere, beyond a right angle to -y
EUCLIDEAN, CIRCLE, SPHERE = range(3)
_KEYS_PER_BLOCK = 256  # whose distances stay in the first-level cache
_TURN = 2.0 * np.pi


@kernel
def _find_signs(point: Float, keys: Float, signs: Float, room: Float) -> None:
    """The sign s of <x, y>."""
    for j in range(room.size):
        room[j] = 0.0
    for k in range(point.size):
        x, row = point[k], keys[k]
        for j in range(room.size):
            room[j] = fused(x, row[j], room[j])
    for j in range(room.size):
        signs[j] = -1.0 if room[j] < 0.0 else 1.0


@kernel
def _measure(space: int, point: Float, keys: Float, signs: Float, apart: Float, distances: Float) -> None:
    """Differences `x - y`, on spheres `x - s y`, and their lengths."""
    if space == SPHERE:
        _find_signs(point, keys, signs, distances)
    for j in range(distances.size):
        distances[j] = 0.0
    for k in range(point.size):
        x, row, out = point[k], keys[k], apart[k]
        for j in range(distances.size):
            out[j] = x - signs[j] * row[j]
        if space == CIRCLE:
            for j in range(distances.size):
                out[j] -= _TURN * np.floor(out[j] / _TURN + 0.5)
        for j in range(distances.size):
            distances[j] = fused(out[j], out[j], distances[j])
    for j in range(distances.size):
        distances[j] = np.sqrt(distances[j])


@allocating_kernel
def radial_forces(
    space: int, points: Float, keys: Float, weights: Float, near: Piecewise, opposite: Piecewise, out: Float
) -> None:
    """out `(d, m)` = sum_j w_j s f(|x - s y_j|) (x - s y_j) / |x - s y_j|, f that of the sign s, for points `(d, m)`
    and keys `(d, n)`. Points in one place, and at opposite ones, do not move each other."""
    signs, distances = np.ones(_KEYS_PER_BLOCK), np.empty(_KEYS_PER_BLOCK)
    apart, point = np.empty((points.shape[0], _KEYS_PER_BLOCK)), np.empty(points.shape[0])
    largest = np.pi if space == CIRCLE else np.inf
    for i in range(points.shape[1]):
        for k in range(point.size):
            point[k], out[k, i] = points[k, i], 0.0
        for start in range(0, weights.size, _KEYS_PER_BLOCK):
            stop = min(start + _KEYS_PER_BLOCK, weights.size)
            masses, lengths, side = weights[start:stop], distances[: stop - start], signs[: stop - start]
            _measure(space, point, keys[:, start:stop], side, apart, lengths)
            for j in range(lengths.size):
                r = lengths[j]
                if 0.0 < r < largest:
                    slope = piecewise_value(near, r) if side[j] > 0.0 else piecewise_value(opposite, r)
                    lengths[j] = masses[j] * side[j] * slope / r
                else:
                    lengths[j] = 0.0
            for k in range(point.size):
                total, row = out[k, i], apart[k]
                for j in range(lengths.size):
                    total = fused(lengths[j], row[j], total)
                out[k, i] = total


@allocating_kernel
def radial_values(
    space: int, points: Float, keys: Float, weights: Float, near: Piecewise, opposite: Piecewise, out: Float
) -> None:
    """out `(m,)` = sum_j w_j f(|x - s y_j|)."""
    signs, distances = np.ones(_KEYS_PER_BLOCK), np.empty(_KEYS_PER_BLOCK)
    apart, point = np.empty((points.shape[0], _KEYS_PER_BLOCK)), np.empty(points.shape[0])
    for i in range(points.shape[1]):
        for k in range(point.size):
            point[k] = points[k, i]
        total = 0.0
        for start in range(0, weights.size, _KEYS_PER_BLOCK):
            stop = min(start + _KEYS_PER_BLOCK, weights.size)
            lengths, side = distances[: stop - start], signs[: stop - start]
            _measure(space, point, keys[:, start:stop], side, apart, lengths)
            for j in range(lengths.size):
                r = lengths[j]
                if r <= 0.0:
                    value = near.centre if side[j] > 0.0 else opposite.centre
                else:
                    value = piecewise_value(near, r) if side[j] > 0.0 else piecewise_value(opposite, r)
                total = fused(weights[start + j], value, total)
        out[i] = total
