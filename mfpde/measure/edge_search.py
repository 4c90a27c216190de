"""Where functions change sign along intervals: the edges and kinks of an expression."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mfpde.measure.adaptive_quadrature import Items, OfItems
from mfpde.typing import Float, Truths

__all__ = ["crossings", "first_section"]

_BITS = 60  # of a zero: to the last one of doubles
_INTERVALS_OF_SECTIONS_MAX = 128  # of fewer a call costs more than its values: eight sections, three bits a call
_GOLDEN_SECTIONS = 45  # to the square root of rounding, as minima are known
_MAX_DIP = 2.0  # of a minimum over the largest difference of samples nearby: higher ones do not reach 0
_GOLDEN = 0.5 * (3 - np.sqrt(5))  # share of the interval, of the golden section


def crossings(functions: Sequence[OfItems], low: Float, high: Float, samples: int) -> tuple[Items, Float, Items, Float]:
    """Zeros along `[low, high]`, an interval for each item: `(item, t, which function)`, ascending within each item,
    and the functions' signs at `low`, `(functions, items)`.

    Looked for between `samples` points, and where a function only dips to zero between them: about as deep as it falls
    from one sample to the next.
    """
    bits = 3 if low.size <= _INTERVALS_OF_SECTIONS_MAX else 1
    parts = [_of_one(function, low, high, samples, bits) for function in functions]
    item = np.concatenate([part[0] for part in parts] or [np.zeros(0, dtype=np.intp)])
    t = np.concatenate([part[1] for part in parts] or [np.zeros(0)])
    which = np.concatenate([np.full(part[0].size, k) for k, part in enumerate(parts)] or [np.zeros(0, dtype=np.intp)])
    order = np.lexsort((which, t, item))
    signs = np.array([part[2] for part in parts]).reshape(len(parts), low.size)
    return item[order], t[order], which[order], signs


def _of_one(function: OfItems, low: Float, high: Float, samples: int, bits: int) -> tuple[Items, Float, Float]:
    everyone = np.arange(low.size)
    t = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, samples + 1)
    values = function(np.repeat(everyone, samples + 1), t.ravel()).reshape(t.shape)
    side = np.where(values < 0, -1.0, 1.0)
    item, left = np.nonzero(side[:, 1:] != side[:, :-1])
    brackets = [(item, t[item, left], t[item, left + 1], side[item, left])]
    size = np.pad(np.abs(values), ((0, 0), (1, 1)), constant_values=np.inf)
    beside = np.pad(side, ((0, 0), (1, 1)), mode="edge")
    dips = (size[:, 1:-1] <= size[:, :-2]) & (size[:, 1:-1] <= size[:, 2:])
    dips &= (side == beside[:, :-2]) & (side == beside[:, 2:])
    falls = np.pad(np.abs(np.diff(values, axis=1)), ((0, 0), (2, 2)))
    dips &= np.abs(values) <= _MAX_DIP * np.max([falls[:, k : k + samples + 1] for k in range(4)], axis=0)
    item, middle = np.nonzero(dips)
    if item.size:
        start, end = t[item, np.maximum(middle - 1, 0)], t[item, np.minimum(middle + 1, samples)]
        sign = side[item, middle]
        lowest = _bottom(function, item, start, end, sign)
        through = function(item, lowest) * sign < 0
        item = item[through]
        start, end, sign, lowest = (a[through] for a in (start, end, sign, lowest))
        brackets += [(item, start, lowest, sign), (item, lowest, end, -sign)]
    item = np.concatenate([bracket[0] for bracket in brackets])
    left_end, right_end, sign = (np.concatenate([bracket[k] for bracket in brackets]) for k in (1, 2, 3))
    return item, _zero(function, item, left_end, right_end, sign, bits), side[:, 0]


def _bottom(function: OfItems, item: Items, low: Float, high: Float, sign: Float) -> Float:
    """Minimum of `sign * function`, by golden sections."""
    first, last = low + _GOLDEN * (high - low), high - _GOLDEN * (high - low)
    at_first, at_last = sign * function(item, first), sign * function(item, last)
    for _ in range(_GOLDEN_SECTIONS):
        left = at_first < at_last
        low, high = np.where(left, low, first), np.where(left, last, high)
        new = np.where(left, low + _GOLDEN * (high - low), high - _GOLDEN * (high - low))
        value = sign * function(item, new)
        first, last = np.where(left, new, last), np.where(left, first, new)
        at_first, at_last = np.where(left, value, at_last), np.where(left, at_first, value)
    return 0.5 * (low + high)


def _zero(function: OfItems, item: Items, low: Float, high: Float, sign: Float, bits: int) -> Float:
    if not item.size:
        return low

    def beyond(k: Items, t: Float) -> Truths:
        return np.where(function(item[k], t) < 0, -1.0, 1.0) != sign[k]

    for _ in range(_BITS // bits):
        low, high = first_section(beyond, low, high, bits)
    return 0.5 * (low + high)


def first_section(beyond: Callable[[Items, Float], Truths], low: Float, high: Float, bits: int) -> tuple[Float, Float]:
    """Of each interval cut into `2^bits` sections the first at whose end `beyond(which, t)` holds, or the last one."""
    ends = low[:, None] + (high - low)[:, None] * (np.arange(1, 2**bits) / 2**bits)
    which = np.repeat(np.arange(low.size), ends.shape[1])
    there = np.column_stack([beyond(which, ends.ravel()).reshape(ends.shape), np.ones(low.size, dtype=bool)])
    found = there.argmax(axis=1)
    sections = np.column_stack([low, ends, high])
    everyone = np.arange(low.size)
    return sections[everyone, found], sections[everyone, found + 1]
