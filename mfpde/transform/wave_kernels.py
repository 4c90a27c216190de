"""Convolutions on a torus of the plane, wave by wave: what each wave is multiplied by, in compiled code.

Waves are those of `rfft2` on `(rows, last)` nodes: `e^{i <k, x>}`, `k = 2 pi M^T (w_1, w_2)`, w in turns from node to
node, M the inverse of the steps between nodes.
"""

from __future__ import annotations

import math

import numpy as np

from mfpde.compilation import kernel
from mfpde.transform.fused import fused
from mfpde.typing import AnyArray, Float

__all__ = ["multiply_waves", "wave_factors"]


@kernel
def _turns(index: int, count: int) -> float:
    """From node to node, of a wave of `fft`; none of the shortest one, which has no side to which it moves."""
    if 2 * index == count:
        return np.nan
    return (index if 2 * index < count else index - count) / count


@kernel
def _wave(first: float, second: float, inverse: Float) -> tuple[float, float]:
    """k of a wave of so many turns along both axes."""
    x = inverse[0, 0] * first + inverse[1, 0] * second
    y = inverse[0, 1] * first + inverse[1, 1] * second
    return 2.0 * math.pi * x, 2.0 * math.pi * y


@kernel
def wave_factors(table: Float, spacing: float, inverse: Float, last: int, out: Float) -> None:
    """out `(rows, last // 2 + 1)` = a function of |k|, in each interval of that length a row of coefficients of powers
    of the place in it, from -1 to 1; 0 for the shortest waves."""
    rows, columns = out.shape
    for i in range(rows):
        for j in range(columns):
            x, y = _wave(_turns(i, rows), _turns(j, last), inverse)
            if math.isnan(x + y):
                out[i, j] = 0.0
                continue
            place = math.sqrt(x * x + y * y) / spacing
            interval = min(int(place), table.shape[0] - 1)
            row, t = table[interval], 2.0 * (place - interval) - 1.0
            value = row[row.size - 1]
            for power in range(row.size - 2, -1, -1):
                value = fused(value, t, row[power])
            out[i, j] = value


@kernel
def multiply_waves(factors: Float, inverse: Float, last: int, derivatives: int, spectrum: AnyArray, out: AnyArray
                   ) -> None:  # fmt: skip
    """out `(parts, rows, columns)` = the spectrum, in place of that of masses that of their convolution, of its
    gradient, or of its Laplacian, by the number of derivatives."""
    rows, columns = spectrum.shape
    for i in range(rows):
        for j in range(columns):
            found = factors[i, j] * spectrum[i, j]
            if derivatives == 0 or factors[i, j] == 0.0:
                for part in range(out.shape[0]):
                    out[part, i, j] = found
                continue
            x, y = _wave(_turns(i, rows), _turns(j, last), inverse)
            if derivatives == 1:
                turned = complex(-found.imag, found.real)
                out[0, i, j], out[1, i, j] = x * turned, y * turned
            else:
                out[0, i, j] = -(x * x + y * y) * found
