"""Where functions change sign along intervals: the edges and kinks of an expression."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfpde.measure.adaptive_quadrature import Items, OfItems
from mfpde.typing import Float

__all__ = ["crossings"]

_BISECTIONS = 60  # to the last bit
_GOLDEN_SECTIONS = 45  # to the square root of rounding, as minima are known
_MAX_DIP = 2.0  # of a minimum over the largest difference of samples nearby: higher ones do not reach 0
_GOLDEN = 0.5 * (3 - np.sqrt(5))  # share of the interval, of the golden section


def crossings(functions: Sequence[OfItems], low: Float, high: Float, samples: int) -> tuple[Items, Float, Items, Float]:
    """Zeros along `[low, high]`, an interval for each item: `(item, t, which function)`, ascending within each item,
    and the functions' signs at `low`, `(functions, items)`.

    Looked for between `samples` points, and where a function only dips to zero between them: about as deep as it falls
    from one sample to the next.
    """
    parts = [_of_one(function, low, high, samples) for function in functions]
    item = np.concatenate([part[0] for part in parts] or [np.zeros(0, dtype=np.intp)])
    t = np.concatenate([part[1] for part in parts] or [np.zeros(0)])
    which = np.concatenate([np.full(part[0].size, k) for k, part in enumerate(parts)] or [np.zeros(0, dtype=np.intp)])
    order = np.lexsort((which, t, item))
    signs = np.array([part[2] for part in parts]).reshape(len(parts), low.size)
    return item[order], t[order], which[order], signs


def _of_one(function: OfItems, low: Float, high: Float, samples: int) -> tuple[Items, Float, Float]:
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
    return item, _bisected(function, item, left_end, right_end, sign), side[:, 0]


def _bottom(function: OfItems, item: Items, low: Float, high: Float, sign: Float) -> Float:
    """Minimum of `sign * function`, by golden sections."""
    for _ in range(_GOLDEN_SECTIONS):
        step = _GOLDEN * (high - low)
        first, last = low + step, high - step
        left = sign * function(item, first) < sign * function(item, last)
        low, high = np.where(left, low, first), np.where(left, last, high)
    return 0.5 * (low + high)


def _bisected(function: OfItems, item: Items, low: Float, high: Float, sign: Float) -> Float:
    if not item.size:
        return low
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        beyond = np.where(function(item, middle) < 0, -1.0, 1.0) != sign
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return 0.5 * (low + high)
