"""The sums of `equispaced` for many points, by blocks of them: an eighth of the multiplications for a thousand.

With `K = K_r + k`, `J = J_s + j` in blocks of rows and columns, `e^{t K J} = e^{t K_r J} e^{t k J_s} e^{t k j}`, and
where `|t k j|` is small the last factor is a polynomial in k: its values at a few Chebyshev points carry a whole block.
What is left are two products of small matrices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.transform.chebyshev import chebyshev_points, interpolation_matrix
from mfpde.transform.exponential import exponential
from mfpde.transform.lanes import LANES, add_multiple, load, store
from mfpde.transform.register_tiles import TILE_COLUMNS, TILE_ROWS, multiply_tile
from mfpde.typing import Float

__all__ = ["BLOCK", "BLOCK_EXPONENT_MAX", "BlockRoom", "block_room", "sums_by_blocks"]

BLOCK = 128  # points of a block
BLOCK_EXPONENT_MAX = 1.35  # t k j within a block, for which so many Chebyshev points leave 3e-15
_POINTS = 2 * LANES
_EXPONENT_MAX = 700.0  # for what has no mass: masses above 1e-300 stay below it
_NODES = 0.5 * BLOCK * chebyshev_points(_POINTS)
_PLACES: Float = np.arange(BLOCK, dtype=float) - 0.5 * (BLOCK - 1)
_LAGRANGE = np.ascontiguousarray(interpolation_matrix(_POINTS, _PLACES / (0.5 * BLOCK)).T)


class BlockRoom(NamedTuple):
    """What one call needs, and tables that last as long as t does. Rows of masses come first, then those of moments."""

    known: Float  # t of the tables
    nodes: Float  # Chebyshev points of a block
    lagrange: Float  # (POINTS, BLOCK)
    powers: Float  # e^{t k_i j}, (BLOCK POINTS,)
    spread: Float  # e^{t k J_s} l_i(k), (blocks POINTS, BLOCK)
    raised: Float  # (2 blocks blocks, BLOCK)
    moved: Float  # (2 blocks blocks, POINTS)
    stacked: Float  # the same numbers, (2 blocks, blocks POINTS)
    sums: Float  # (2 blocks, BLOCK)
    levels: Float
    tops: Float
    scores: Float
    nothing: Float


def block_room(count: int) -> BlockRoom:
    """Room for so many points."""
    blocks = -(-count // (2 * BLOCK)) * 2
    moved = np.zeros((2 * blocks * blocks, _POINTS))
    return BlockRoom(
        known=np.full(1, np.nan),
        nodes=_NODES,
        lagrange=_LAGRANGE,
        powers=np.zeros(BLOCK * _POINTS),
        spread=np.zeros((blocks * _POINTS, BLOCK)),
        raised=np.zeros((2 * blocks * blocks, BLOCK)),
        moved=moved,
        stacked=moved.reshape(2 * blocks, blocks * _POINTS),
        sums=np.zeros((2 * blocks, BLOCK)),
        levels=np.zeros(blocks),
        tops=np.zeros(blocks),
        scores=np.zeros(blocks * BLOCK),
        nothing=np.zeros(LANES),
    )


@kernel
def _fill_tables(t: float, middle: float, room: BlockRoom) -> None:
    half = 0.5 * (BLOCK - 1)
    for j in range(BLOCK):
        for i in range(_POINTS):
            room.powers[j * _POINTS + i] = exponential(t * room.nodes[i] * (j - half))
    for block in range(room.levels.size):
        centre = block * BLOCK + half - middle
        for i in range(_POINTS):
            row, basis = room.spread[block * _POINTS + i], room.lagrange[i]
            for k in range(BLOCK):
                row[k] = basis[k] * exponential(t * (k - half) * centre)
    room.known[0] = t


@kernel
def _raise(masses: Float, exponents: Float, t: float, middle: float, room: BlockRoom) -> None:
    """raised = `(1, J) m e^{e + t K_r J}` over its largest value in each block of rows."""
    blocks, n, half = room.levels.size, masses.size, 0.5 * (BLOCK - 1)
    for s in range(blocks):
        top = -1e300
        for j in range(s * BLOCK, min((s + 1) * BLOCK, n)):
            top = max(top, room.scores[j])
        room.tops[s] = top
    for r in range(blocks):
        slope, level = t * (r * BLOCK + half - middle), -1e300
        for s in range(blocks):  # a bound of the largest, at most e^20 above it
            level = max(level, room.tops[s] + slope * (s * BLOCK + half - middle) + abs(slope) * half)
        room.levels[r] = level
        for s in range(blocks):
            start, end = s * BLOCK, min((s + 1) * BLOCK, n)
            count, mass, exponent = end - start, masses[start:end], exponents[start:end]
            zeroth, first = room.raised[r * blocks + s][:count], room.raised[(blocks + r) * blocks + s][:count]
            for j in range(count):
                score = exponent[j] + (slope * (j + (start - middle)) - level)
                zeroth[j] = mass[j] * exponential(min(score, _EXPONENT_MAX))
            for j in range(count):
                first[j] = zeroth[j] * (j + (start - middle))


@kernel
def _move(room: BlockRoom) -> None:
    """moved = raised times powers, four rows at a time."""
    powers, raised, moved = room.powers, room.raised, room.moved
    for row in range(0, raised.shape[0], 4):
        first, second, third, fourth = raised[row], raised[row + 1], raised[row + 2], raised[row + 3]
        a0 = load(room.nothing, 0)
        a1, b0, b1, c0, c1, d0, d1 = a0, a0, a0, a0, a0, a0, a0
        for j in range(BLOCK):
            p0, p1 = load(powers, j * _POINTS), load(powers, j * _POINTS + LANES)
            a0, a1 = add_multiple(first, j, p0, a0), add_multiple(first, j, p1, a1)
            b0, b1 = add_multiple(second, j, p0, b0), add_multiple(second, j, p1, b1)
            c0, c1 = add_multiple(third, j, p0, c0), add_multiple(third, j, p1, c1)
            d0, d1 = add_multiple(fourth, j, p0, d0), add_multiple(fourth, j, p1, d1)
        store(moved[row], 0, a0)
        store(moved[row], LANES, a1)
        store(moved[row + 1], 0, b0)
        store(moved[row + 1], LANES, b1)
        store(moved[row + 2], 0, c0)
        store(moved[row + 2], LANES, c1)
        store(moved[row + 3], 0, d0)
        store(moved[row + 3], LANES, d1)


@kernel
def _spread(stacked: Float, spread: Float, sums: Float) -> None:
    """sums = stacked times spread, in tiles alone (`products.multiply` has code for other shapes, too)."""
    rows, terms = stacked.shape
    for row in range(rows):
        line = sums[row]
        for k in range(BLOCK):
            line[k] = 0.0
    for column in range(0, BLOCK, TILE_COLUMNS):
        for row in range(0, rows, TILE_ROWS):
            multiply_tile(stacked, spread, sums, row, column, 0, terms, terms, BLOCK, BLOCK)


@kernel
def sums_by_blocks(
    masses: Float, exponents: Float, t: float, room: BlockRoom, level: Float, first: Float, second: Float
) -> None:
    """`e^{level_K} (first_K, second_K) = sum_J (1, J) m_J e^{e_J + t K J}`; room.scores are `log |m| + e`."""
    n, blocks = masses.size, room.levels.size
    middle = 0.5 * (n - 1)
    if room.known[0] != t:
        _fill_tables(t, middle, room)
    _raise(masses, exponents, t, middle, room)
    _move(room)
    _spread(room.stacked, room.spread, room.sums)
    for r in range(blocks):
        zeroth, moments, start = room.sums[r], room.sums[blocks + r], r * BLOCK
        for k in range(min(BLOCK, n - start)):
            level[start + k] = room.levels[r]
            first[start + k] = zeroth[k]
            second[start + k] = moments[k]
