"""Tokens in rows for compiled sums over pairs.

Components of tokens stand in rows, one after the other, each as wide as whole registers: `width_for(n)` numbers, of
which the first n count. Nearly all that is done with them are weighted sums of rows (`add_rows`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.transform.fused import fused
from mfpde.typing import Float

__all__ = ["Pairs", "add_rows", "clear_beyond", "fill", "pack", "pairs_for", "unpack", "width_for"]

#: numbers in the widest register of today's processors
_LANES = 8


class Pairs(NamedTuple):
    """Room for one evaluation; nothing in it outlives one. Rows have the width of the tokens that there are."""

    unit: Float  # directions, d rows
    turned: Float  # the same token by token
    length: Float  # |x|
    query: Float  # A x, d rows
    keys: Float  # w x, d rows, and w
    score: Float  # a row for each key
    shift: Float
    mass: Float
    own: Float  # what a token has of itself, along its direction
    along: Float  # what it has along its direction of others
    square: Float  # of the length of its output
    total: Float  # d rows
    sums: Float  # d rows
    state: Float  # of a system that comes as columns, d rows


def pairs_for(dimension: int, count: int) -> Pairs:
    """Room for so many tokens."""
    width = width_for(count)
    rows = dimension * width
    sizes = (rows, rows, width, rows, rows + width, count * width, *[width] * 5, *[rows] * 3)
    return Pairs(*(np.zeros(size) for size in sizes))


@kernel
def width_for(count: int) -> int:
    """Of rows for so many tokens."""
    return (count + _LANES - 1) // _LANES * _LANES


@kernel
def add_rows(weights: Float, rows: Float, count: int, out: Float) -> None:
    """out += sum_m weights[m] rows[m], of the first `count` rows, each as long as `out`; eight at a time, as registers
    allow."""
    width, first = out.size, 0
    while first + 8 <= count:
        a, b, c, d = weights[first], weights[first + 1], weights[first + 2], weights[first + 3]
        e, f, g, h = weights[first + 4], weights[first + 5], weights[first + 6], weights[first + 7]
        at = rows[first * width : (first + 8) * width]
        p, q, r, s = at[:width], at[width : 2 * width], at[2 * width : 3 * width], at[3 * width : 4 * width]
        t, u, v, w = at[4 * width : 5 * width], at[5 * width : 6 * width], at[6 * width : 7 * width], at[7 * width :]
        for i in range(width):
            one = fused(d, s[i], fused(c, r[i], fused(b, q[i], fused(a, p[i], out[i]))))
            out[i] = fused(h, w[i], fused(g, v[i], fused(f, u[i], fused(e, t[i], one))))
        first += 8
    while first < count:
        a, p = weights[first], rows[first * width : (first + 1) * width]
        for i in range(width):
            out[i] = fused(a, p[i], out[i])
        first += 1


@kernel
def fill(out: Float, value: float) -> None:
    for i in range(out.size):
        out[i] = value


@kernel
def pack(columns: Float, count: int, rows: Float) -> None:
    """The first `count` columns of `(rows, n)` row by row, filled up with the first one: a token like the others."""
    width = width_for(count)
    for row in range(columns.shape[0]):
        for i in range(count):
            rows[row * width + i] = columns[row, i]
        for i in range(count, width):
            rows[row * width + i] = columns[row, 0]


@kernel
def clear_beyond(rows: Float, count: int) -> None:
    """0 where rows are filled up."""
    width = width_for(count)
    for start in range(0, rows.size, width):
        for i in range(start + count, start + width):
            rows[i] = 0.0


@kernel
def unpack(rows: Float, count: int, columns: Float) -> None:
    """The way back."""
    width = width_for(count)
    for row in range(columns.shape[0]):
        for i in range(count):
            columns[row, i] = rows[row * width + i]
