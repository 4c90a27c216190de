"""Sums of exponentials from equally spaced points of the line to equally spaced points, as many as these, in compiled
loops.

With nodes `y_J = y + h J` and tilts `w_K = w + u K`, J and K counted from the middle,

    sum_J m_J e^{w_K (y_J - y)} = e^{t K^2 / 2} sum_J m_J e^{w h J + t J^2 / 2} e^{-t (K - J)^2 / 2},      t = |u h|

(J reversed where u h < 0): a product with a Toeplitz matrix, two multiplications for each pair and exponentials only
along the points. All terms have the sign of their mass, so sums of positive masses have their relative accuracy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.transform.equispaced_blocks import BLOCK, BLOCK_EXPONENT_MAX, BlockRoom, block_room, sums_by_blocks
from mfpde.transform.exponential import exponential, logarithm
from mfpde.transform.lanes import LANES, add_multiple, load, store
from mfpde.typing import Float

__all__ = ["SumRoom", "equispaced_sums", "sum_room"]

_BLOCK = 4 * LANES  # tilts whose sums stay in registers
_LARGEST_EXPONENT = 300.0  # t (K - J)^2 / 2, up to which sums stay far from underflow and keep thirteen digits
_POINTS_FOR_BLOCKS = 512  # from which on these are faster
_EXPONENT_MAX = 700.0  # for what has no mass: masses above the next stay below it
_LEAST_MASS = 1e-300  # about the smallest normal double: logarithms need normal numbers


class SumRoom(NamedTuple):
    """What one call needs; nothing in it outlives one."""

    exponents: Float
    blocks: BlockRoom
    by_blocks: bool  # whether there are enough points for them
    masses: Float  # what the Toeplitz matrix multiplies
    moments: Float
    matrix: Float  # e^{-t k^2 / 2}, k from 1 - n on
    nothing: Float  # zeros, one register full


def sum_room(count: int) -> SumRoom:
    """Room for so many points."""
    width, by_blocks = padded(count), count >= _POINTS_FOR_BLOCKS
    return SumRoom(
        exponents=np.empty(count),
        blocks=block_room(count if by_blocks else 0),
        by_blocks=by_blocks,
        masses=np.empty(count),
        moments=np.empty(count),
        matrix=np.empty(count + width),
        nothing=np.zeros(LANES),
    )


def padded(count: int) -> int:
    """Numbers that arrays of sums need room for."""
    return -(-count // _BLOCK) * _BLOCK


@kernel
def _multiply(room: SumRoom, first: Float, second: Float) -> None:
    """first, second = the Toeplitz matrix times masses and moments."""
    matrix, masses, moments, n = room.matrix, room.masses, room.moments, room.masses.size
    for k in range(0, first.size, _BLOCK):
        a0 = load(room.nothing, 0)
        a1, a2, a3, b0, b1, b2, b3 = a0, a0, a0, a0, a0, a0, a0
        for j in range(n):
            start = k - j + n - 1
            t0, t1 = load(matrix, start), load(matrix, start + LANES)
            t2, t3 = load(matrix, start + 2 * LANES), load(matrix, start + 3 * LANES)
            a0, a1 = add_multiple(masses, j, t0, a0), add_multiple(masses, j, t1, a1)
            a2, a3 = add_multiple(masses, j, t2, a2), add_multiple(masses, j, t3, a3)
            b0, b1 = add_multiple(moments, j, t0, b0), add_multiple(moments, j, t1, b1)
            b2, b3 = add_multiple(moments, j, t2, b2), add_multiple(moments, j, t3, b3)
        store(first, k, a0)
        store(first, k + LANES, a1)
        store(first, k + 2 * LANES, a2)
        store(first, k + 3 * LANES, a3)
        store(second, k, b0)
        store(second, k + LANES, b1)
        store(second, k + 2 * LANES, b2)
        store(second, k + 3 * LANES, b3)


@kernel
def _score(masses: Float, exponents: Float, scores: Float) -> None:
    """scores = `log |m| + e`, -inf without mass."""
    for j in range(masses.size):
        size = abs(masses[j])
        score = logarithm(max(size, _LEAST_MASS)) + exponents[j]
        scores[j] = score if size > _LEAST_MASS else -np.inf


@kernel
def _sum_by_toeplitz(
    masses: Float, t: float, reverse: bool, room: SumRoom, level: Float, first: Float, second: Float
) -> None:
    n, exponents = masses.size, room.exponents
    middle = 0.5 * (n - 1)
    for j in range(n):
        exponents[j] += 0.5 * t * (j - middle) * (j - middle)
    _score(masses, exponents, room.masses)
    largest = -1e300
    for j in range(n):
        largest = max(largest, room.masses[j])
    for j in range(n):
        exponents[j] = masses[j] * exponential(min(exponents[j] - largest, _EXPONENT_MAX))
    for j in range(n):
        room.masses[j] = exponents[n - 1 - j] if reverse else exponents[j]
    for j in range(n):
        room.moments[j] = room.masses[j] * ((middle - j) if reverse else (j - middle))
    for k in range(room.matrix.size):
        apart = k - float(n - 1)
        room.matrix[k] = exponential(-0.5 * t * apart * apart)
    _multiply(room, first, second)
    for k in range(n):
        level[k] = largest + 0.5 * t * (k - middle) * (k - middle)


@kernel
def _sum_by_pairs(masses: Float, product: float, room: SumRoom, level: Float, first: Float, second: Float) -> None:
    """The same for exponents of any size: the largest of each sum is taken out first."""
    n, exponents = masses.size, room.exponents
    middle = 0.5 * (n - 1)
    for k in range(n):
        level[k], first[k], second[k] = -1e300, 0.0, 0.0
    for j in range(n):
        size, slope = abs(masses[j]), product * (j - middle)
        if size > _LEAST_MASS:
            score = logarithm(size) + exponents[j]
            for k in range(n):
                level[k] = max(level[k], score + slope * (k - middle))
    for j in range(n):
        size, slope, place = abs(masses[j]), product * (j - middle), j - middle
        if size > _LEAST_MASS:
            score, sign = logarithm(size) + exponents[j], 1.0 if masses[j] > 0.0 else -1.0
            for k in range(n):
                term = sign * exponential(score + slope * (k - middle) - level[k])
                first[k] += term
                second[k] += term * place


@kernel
def equispaced_sums(
    masses: Float,
    log_factors: Float,
    spacing: float,
    tilt: float,
    tilt_spacing: float,
    room: SumRoom,
    level: Float,
    first: Float,
    second: Float,
) -> None:
    """`e^{level_K} (first_K, second_K) = sum_J (1, J) m_J e^{f_J + w_K h J}`: h the spacing of nodes, w the middle one
    of the tilts and u their spacing, f the log factors. `first` and `second` have room for `padded(n)`."""
    n, product = masses.size, tilt_spacing * spacing
    middle = 0.5 * (n - 1)
    for j in range(n):
        room.exponents[j] = log_factors[j] + tilt * spacing * (j - middle)
    if room.by_blocks and 0.25 * BLOCK * BLOCK * abs(product) <= BLOCK_EXPONENT_MAX:
        _score(masses, room.exponents, room.blocks.scores)
        sums_by_blocks(masses, room.exponents, product, room.blocks, level, first, second)
    elif 0.5 * abs(product) * (n - 1) * (n - 1) <= _LARGEST_EXPONENT:
        _sum_by_toeplitz(masses, abs(product), product < 0.0, room, level, first, second)
    else:
        _sum_by_pairs(masses, product, room, level, first, second)
