"""Convolutions on a torus of the plane, wave by wave: what each wave is multiplied by, in compiled code.

Waves are those of `rfft2` on `(rows, last)` nodes: `e^{i <k, x>}`, `k = 2 pi M^T (w_1, w_2)`, w in turns from node to
node, M the inverse of the steps between nodes.
"""

from __future__ import annotations

import math

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.fused import fused
from mfpde.transform.regular_grid import places
from mfpde.transform.scattered_kernels import POINTS_PER_BLOCK, lagrange_rows
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


@allocating_kernel
def wave_factors(
    table: Float, start: float, spacing: float, inverse: Float, last: int, stencil: tuple[Float, Float], out: Float
) -> None:
    """out `(rows, last // 2 + 1)` = a function of |k|, given at `start + spacing j`; 0 for the shortest waves."""
    nodes, weights = stencil
    first, t = np.zeros(POINTS_PER_BLOCK, dtype=np.int64), np.empty(POINTS_PER_BLOCK)
    sizes, ahead, basis = (
        np.empty(POINTS_PER_BLOCK),
        np.empty(POINTS_PER_BLOCK),
        np.ones((nodes.size, POINTS_PER_BLOCK)),
    )
    rows, columns = out.shape
    for i in range(rows):
        for low in range(0, columns, POINTS_PER_BLOCK):
            count = min(POINTS_PER_BLOCK, columns - low)
            for q in range(count):
                x, y = _wave(_turns(i, rows), _turns(low + q, last), inverse)
                sizes[q] = math.hypot(x, y) if not math.isnan(x + y) else 0.0
            places(sizes[:count], start, spacing, table.size, first, t)
            lagrange_rows(t[:count], nodes, weights, ahead, basis)
            for q in range(count):
                total = 0.0
                for k in range(nodes.size):
                    total = fused(basis[k, q], table[first[q] + k], total)
                out[i, low + q] = total
            for q in range(count):
                if 2 * i == rows or 2 * (low + q) == last:
                    out[i, low + q] = 0.0


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
