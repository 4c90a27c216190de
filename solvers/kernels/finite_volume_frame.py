"""Regression of a velocity by an affine function, and its remainder."""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.typing import Float

__all__ = ["SUMS", "remainder", "row_sums"]

SUMS = 7  # numbers that `row_sums` finds for each row


@kernel
def row_sums(
    density: Float, first: Float, second: Float, levels: Float, along: Float, start: int, stop: int, sums: Float
) -> None:
    """Over each row from start to stop: `sum_j u (1, z, z^2, G_1, G_1 z, G_2, G_2 z)`, z the axis along rows, G over
    the levels."""
    for i in range(start, stop):
        u, f, g = density[i], first[i], second[i]
        mass, middle, spread, f0, f1, g0, g1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(along.size):
            z = along[j]
            moment = u[j] * z
            mass += u[j]
            middle += moment
            spread += moment * z
            f0 += u[j] * (f[j] - levels[0])
            f1 += moment * (f[j] - levels[0])
            g0 += u[j] * (g[j] - levels[1])
            g1 += moment * (g[j] - levels[1])
        row = sums[i]
        row[0], row[1], row[2], row[3], row[4], row[5], row[6] = mass, middle, spread, f0, f1, g0, g1


@kernel
def remainder(
    drift: Float,
    constant: Float,
    linear: Float,
    inverse: Float,
    across: Float,
    along: Float,
    start: int,
    stop: int,
    out: Float,
) -> None:
    """`S^{-1} (G - c - R z)` in rows from start to stop; drift and out `(d, rows, columns)`, z on the two axes (on the
    line the one along rows alone)."""
    if drift.shape[0] == 1:
        for i in range(start, stop):
            f, left = drift[0, i], out[0, i]
            for j in range(along.size):
                left[j] = inverse[0, 0] * (f[j] - constant[0] - linear[0, 0] * along[j])
        return
    for i in range(start, stop):
        f, g, left, right = drift[0, i], drift[1, i], out[0, i], out[1, i]
        low, high = constant[0] + linear[0, 0] * across[i], constant[1] + linear[1, 0] * across[i]
        for j in range(along.size):
            a = f[j] - low - linear[0, 1] * along[j]
            b = g[j] - high - linear[1, 1] * along[j]
            left[j] = inverse[0, 0] * a + inverse[0, 1] * b
            right[j] = inverse[1, 0] * a + inverse[1, 1] * b
