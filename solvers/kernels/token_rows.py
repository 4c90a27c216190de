"""Tokens in rows for compiled sums over pairs.

Components of tokens stand in rows, one after the other, each as wide as whole registers: `width_for(n)` numbers, of
which the first n count. Nearly all that is done with them are weighted sums of rows (`add_rows`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.transform.lanes import LANES, add_multiple, load, store
from mfpde.typing import Float

__all__ = ["Pairs", "add_rows", "clear_beyond", "fill", "pack", "pairs_for", "unpack", "width_for"]


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
    sizes = (rows, rows, width, rows, rows + width, width * width, *[width] * 5, *[rows] * 3)
    return Pairs(*(np.zeros(size) for size in sizes))


@kernel
def width_for(count: int) -> int:
    """Of rows for so many tokens."""
    return (count + LANES - 1) // LANES * LANES


@kernel
def add_rows(weights: Float, stride: int, rows: Float, count: int, width: int, out: Float) -> None:
    """out[k] += sum_m weights[k stride + m] rows[m], of the first `count` rows, for as many k as there are rows in
    `out`: eight of these at a time, whose sums stay in registers."""
    wanted = out.size // width
    for column in range(0, width, LANES):
        k = 0
        while k + LANES <= wanted:
            at, here = k * stride, k * width + column
            a, b, c, d = (
                load(out, here),
                load(out, here + width),
                load(out, here + 2 * width),
                load(out, here + 3 * width),
            )
            here += 4 * width
            e, f, g, h = (
                load(out, here),
                load(out, here + width),
                load(out, here + 2 * width),
                load(out, here + 3 * width),
            )
            for m in range(count):
                row, w = load(rows, m * width + column), at + m
                a, b = add_multiple(weights, w, row, a), add_multiple(weights, w + stride, row, b)
                c, d = add_multiple(weights, w + 2 * stride, row, c), add_multiple(weights, w + 3 * stride, row, d)
                e, f = add_multiple(weights, w + 4 * stride, row, e), add_multiple(weights, w + 5 * stride, row, f)
                g, h = add_multiple(weights, w + 6 * stride, row, g), add_multiple(weights, w + 7 * stride, row, h)
            store(out, here, e), store(out, here + width, f), store(out, here + 2 * width, g)
            store(out, here + 3 * width, h)
            here -= 4 * width
            store(out, here, a), store(out, here + width, b), store(out, here + 2 * width, c)
            store(out, here + 3 * width, d)
            k += LANES
        while k < wanted:
            one = load(out, k * width + column)
            for m in range(count):
                one = add_multiple(weights, k * stride + m, load(rows, m * width + column), one)
            store(out, k * width + column, one)
            k += 1


@kernel
def fill(out: Float, value: float) -> None:
    """out = value, everywhere."""
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
