"""Philox4x64-10: four random words from a counter and a key, and the uniform and normal numbers made of them.

Every operation is an integer one, or a sum, product, quotient or square root of IEEE numbers, or written out
(`exponential`): no library of the platform has a say in the bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.exponential import logarithm
from mfpde.transform.fused import fused
from mfpde.typing import AnyArray, Float

__all__ = ["fill_normals", "fill_uniforms", "fill_words"]

#: multipliers, and increments of the key, of Salmon, Moraes, Dror, Shaw (2011) for four words of 64 bits
_FIRST_MULTIPLIER, _SECOND_MULTIPLIER = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_FIRST_INCREMENT, _SECOND_INCREMENT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_ROUNDS = 10
_BLOCKS_AT_A_TIME = 512  # so that words and numbers lie in the first cache
_MANTISSA_SHIFT = np.uint64(12)  # 52 bits are left of a word: k + 1/2 is then a number, too
_HALF_SHIFT, _LOWER_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
_QUADRANT_SHIFT, _REST_SHIFT = np.uint64(62), np.uint64(2)
_SIDEWAYS, _BACKWARDS = np.uint64(1), np.uint64(2)  # bits of a quadrant


def _instruction(_typing_context: Any, _a: Any, _b: Any) -> Any:
    """The upper 64 bits of a product of 64 bits each: one instruction of most processors."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


def _exactly(a: np.uint64, b: np.uint64) -> np.uint64:
    """The same in Python, for kernels that NUMBA_DISABLE_JIT leaves uncompiled."""
    return np.uint64((int(a) * int(b)) >> 64)


_upper_product = cast(
    "Callable[[np.uint64, np.uint64], np.uint64]",
    _exactly if vars(numba.config)["DISABLE_JIT"] else intrinsic(_instruction),
)


@kernel
def fill_words(counter: AnyArray, key: AnyArray, words: AnyArray) -> None:
    """words[i] = the four words of `counter + (i, 0, 0, 0)`, `(blocks, 4)`; all are uint64."""
    start, second, third, fourth = counter[0], counter[1], counter[2], counter[3]
    for block in range(words.shape[0]):
        a, b, c, d = start + np.uint64(block), second, third, fourth
        k, m = key[0], key[1]
        for _ in range(_ROUNDS):
            upper, lower = _upper_product(_FIRST_MULTIPLIER, a), _FIRST_MULTIPLIER * a
            other_upper, other_lower = _upper_product(_SECOND_MULTIPLIER, c), _SECOND_MULTIPLIER * c
            a, b, c, d = other_upper ^ b ^ k, other_lower, upper ^ d ^ m, lower
            k, m = k + _FIRST_INCREMENT, m + _SECOND_INCREMENT
        words[block, 0], words[block, 1], words[block, 2], words[block, 3] = a, b, c, d


@kernel
def _uniforms(words: AnyArray, out: Float) -> None:
    """`(k + 1/2) / 2^52`, k the upper 52 bits of a word: never 0 nor 1, and symmetric about 1/2."""
    for j in range(out.size):
        out[j] = (np.float64(np.int64(words[j] >> _MANTISSA_SHIFT)) + 0.5) * 2.0**-52


@kernel
def _sine(y: float) -> float:
    """For |y| <= pi/4, by its series: the next term is below 1e-19."""
    q = -y * y
    tail = fused(q, 1.0 / 355687428096000.0, 1.0 / 1307674368000.0)
    tail = fused(q, fused(q, tail, 1.0 / 6227020800.0), 1.0 / 39916800.0)
    tail = fused(q, fused(q, tail, 1.0 / 362880.0), 1.0 / 5040.0)
    return fused(y * q, fused(q, fused(q, tail, 1.0 / 120.0), 1.0 / 6.0), y)


@kernel
def _cosine(y: float) -> float:
    """For |y| <= pi/4, by its series: the next term is below 1e-20."""
    q = -y * y
    tail = fused(q, 1.0 / 6402373705728000.0, 1.0 / 20922789888000.0)
    tail = fused(q, fused(q, tail, 1.0 / 87178291200.0), 1.0 / 479001600.0)
    tail = fused(q, fused(q, tail, 1.0 / 3628800.0), 1.0 / 40320.0)
    tail = fused(q, fused(q, tail, 1.0 / 720.0), 1.0 / 24.0)
    return fused(q, fused(q, tail, 0.5), 1.0)


@kernel
def _normals(words: AnyArray, radii: Float, out: Float) -> None:
    """Box and Muller: of each pair of words the first is a radius, `sqrt(-2 log u)`, the second an angle.

    u has all 64 bits, so that normal numbers go out to 9.4; the quadrant of the angle is taken off in integers.
    """
    for j in range(radii.size):
        upper = np.float64(np.int64(words[2 * j] >> _HALF_SHIFT)) * 2.0**32
        lower = np.float64(np.int64(words[2 * j] & _LOWER_HALF))
        radii[j] = math.sqrt(-2.0 * min(0.0, logarithm((upper + (lower + 0.5)) * 2.0**-64)))
    for j in range(radii.size):
        quadrant = words[2 * j + 1] >> _QUADRANT_SHIFT
        y = np.float64(np.int64(words[2 * j + 1] << _REST_SHIFT)) * (0.25 * math.pi * 2.0**-63)
        s, c = _sine(y), _cosine(y)
        first, second = (-s, c) if quadrant & _SIDEWAYS else (c, s)
        radius = -radii[j] if quadrant & _BACKWARDS else radii[j]
        out[2 * j], out[2 * j + 1] = radius * first, radius * second


@allocating_kernel
def fill_uniforms(key: AnyArray, counter: AnyArray, first: int, out: Float) -> None:
    """out[i] = uniform number `first + i` of the words that follow the counter, four to each."""
    _fill(key, counter, first, out, False)


@allocating_kernel
def fill_normals(key: AnyArray, counter: AnyArray, first: int, out: Float) -> None:
    """out[i] = normal number `first + i` of the words that follow the counter, four to each."""
    _fill(key, counter, first, out, True)


@allocating_kernel
def _fill(key: AnyArray, counter: AnyArray, first: int, out: Float, normal: bool) -> None:
    words = np.empty((_BLOCKS_AT_A_TIME, 4), dtype=np.uint64)
    numbers, radii, here = np.empty(4 * _BLOCKS_AT_A_TIME), np.empty(2 * _BLOCKS_AT_A_TIME), counter.copy()
    done, block, skipped = 0, first // 4, first % 4
    while done < out.size:
        blocks = min(_BLOCKS_AT_A_TIME, (skipped + out.size - done + 3) // 4)
        here[0] = counter[0] + np.uint64(block)
        fill_words(here, key, words[:blocks])
        if normal:
            _normals(words.reshape(-1), radii[: 2 * blocks], numbers[: 4 * blocks])
        else:
            _uniforms(words.reshape(-1), numbers[: 4 * blocks])
        count = min(4 * blocks - skipped, out.size - done)
        taken, given = numbers[skipped : skipped + count], out[done : done + count]
        for i in range(count):
            given[i] = taken[i]
        done, block, skipped = done + count, block + blocks, 0
