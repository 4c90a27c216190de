"""Correction of sums over cell averages, which are not point values.

A cell average is the density convolved with a box, so the sum of cell masses times `e^{w y}` at the cells' middles is M
times `sinh(a) / a`, a = w h / 2, in every dimension. What belongs to the box is taken out of `log M` and its gradient.
"""

from __future__ import annotations

import numpy as np

from mfpde.compilation import allocating_kernel
from mfpde.transform.exponential import exponential, logarithm
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["cell_correction"]

# `coth a - 1/a = sum_k c_k a^(2k-1)`, c_k = 2^(2k) B_2k / (2k)!
_LANGEVIN = (
    1 / 3,
    -1 / 45,
    2 / 945,
    -1 / 4725,
    2 / 93555,
    -1382 / 638512875,
    4 / 18243225,
    -3617 / 162820783125,
    87734 / 38979295480125,
    -349222 / 1531329465290625,
    310732 / 13447856940643125,
    -472728182 / 201919571963756521875,
    2631724 / 11094481976030578125,
)
_TERMS = len(_LANGEVIN)  # leave 1e-16 at |a| = 0.75
_SERIES_BELOW = 0.75  # |a|; above it the closed form, which loses at most one digit


@allocating_kernel
def _correct(queries: Float, width: float, slope: Float, log_factor: Float) -> None:
    """slope = (h/2) (coth a - 1/a); log_factor += log(sinh a / a)."""
    for i in range(queries.size):
        a = 0.5 * width * queries[i]
        size = abs(a)
        square = a * a if size < _SERIES_BELOW else 0.0
        first, second = 0.0, 0.0
        for k in range(_TERMS - 1, -1, -1):
            first = first * square + _LANGEVIN[k]
            second = second * square + _LANGEVIN[k] / (2.0 * (k + 1))
        large = size if size > _SERIES_BELOW else 1.0
        small = exponential(-2.0 * large)
        closed = (1.0 + small) / (1.0 - small) - 1.0 / large
        closed_log = large + logarithm((1.0 - small) / (2.0 * large))
        series = size < _SERIES_BELOW
        value = first * size if series else closed
        slope[i] = 0.5 * width * (value if a >= 0.0 else -value)
        log_factor[i] += second * square if series else closed_log


def cell_correction(queries: Float, widths: Float) -> tuple[Float, Float]:
    """What to subtract from the mean `(d, ..)` and from log M `(..)` when the masses are cell averages times volumes.

    `(h/2) coth(w h / 2) - 1/w` in every dimension, and the sum of `log(sinh(a) / a)`; queries w `(d, ..)`, h `(d,)`.
    Any w h: the series at 0, no overflow beyond.
    """
    flat = np.ascontiguousarray(queries, dtype=float).reshape(queries.shape[0], -1)
    slopes, log_factor = np.empty(flat.shape), np.zeros(flat.shape[1])
    blocks = pieces(flat.shape[1], 1 << 14)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        for row, width, out in zip(flat, widths, slopes, strict=True):
            _correct(row[here], float(width), out[here], log_factor[here])

    run_pieces(work, len(blocks))
    return slopes.reshape(queries.shape), log_factor.reshape(queries.shape[1:])
