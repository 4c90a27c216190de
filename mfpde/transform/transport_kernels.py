"""The monotone coupling of two laws made of points, on the line or the circle.

A law is its sorted points and the cumulative sums of their weights, the last of them 1.
"""

from __future__ import annotations

import numpy as np

from mfpde.compilation import kernel
from mfpde.typing import Float, Integers

__all__ = [
    "arrange",
    "cost_of",
    "cost_on_line",
    "couple_equal_weights",
    "couple_points",
    "deviation",
    "difference_of_cumulatives",
    "number_points",
    "widest_point_gaps",
]

_ROUNDING = 1e-15  # of cumulative weights: less mass is not coupled


@kernel
def cost_of(distance: float, power: float) -> float:
    """`|d|^p`."""
    size = abs(distance)
    if power == 1.0 or power == 2.0:  # noqa: PLR1714 - kernels have no sets; chosen without a jump
        return size * (size if power == 2.0 else 1.0)
    return size**power


@kernel
def number_points(points: Float, bits: int, keys: Integers) -> None:
    """keys = the points with their numbers in the last bits: sorted, they say which point comes where."""
    numbers = points.view(np.int64)
    for i in range(points.size):
        keys[i] = (numbers[i] >> bits << bits) | i


@kernel
def arrange(keys: Integers, bits: int, points: Float, weights: Float, sorted_points: Float, ends: Float) -> bool:
    """The points in order, and the cumulative sums of their weights; False where too many of them agree in all but the
    bits that the numbers took."""
    mask, left = (1 << bits) - 1, 2 * points.size
    for k in range(points.size):
        number = keys[k] & mask
        point, weight = points[number], weights[number]
        place = k
        while place > 0 and sorted_points[place - 1] > point:
            sorted_points[place], ends[place] = sorted_points[place - 1], ends[place - 1]
            place -= 1
            left -= 1
            if left < 0:
                return False
        sorted_points[place], ends[place] = point, weight
    total = 0.0
    for k in range(points.size):
        total += ends[k]
        ends[k] = total
    for k in range(points.size):
        ends[k] = ends[k] / total
    ends[points.size - 1] = 1.0
    return True


@kernel
def cost_on_line(x: Float, ends: Float, y: Float, other_ends: Float, power: float) -> float:
    """`int |Q(u) - R(u)|^p du`, without the slope that only a shift has a use for."""
    i, j, before, cost = 0, 0, 0.0, 0.0
    while i < x.size and j < y.size:
        end, other = ends[i], other_ends[j]
        until, step = min(end, other), 1 if end <= other else 0
        mass = until - before
        cost += cost_of(x[i] - y[j], power) * (mass if mass > _ROUNDING else 0.0)
        before = until
        i += step
        j += 1 - step
    return cost


@kernel
def couple_points(
    x: Float, ends: Float, y: Float, other_ends: Float, shift: float, period: float, power: float
) -> tuple[float, float]:
    """Couple the quantile functions `Q(u)` and `R(u - shift)`, R continued by `R(u + 1) = R(u) + period`.

    Returns the cost `int |Q(u) - R(u - shift)|^p du` and a subgradient of it in the shift, `int c'(x - y) dx` along the
    coupling over one period of x: the jumps of the first law, each at one y. Which law comes next is a coin toss for
    the processor, so that it is computed and not branched on.
    """
    last, count = x.size - 1, y.size
    turn = np.floor(-shift)
    j = np.searchsorted(other_ends, -shift - turn, side="right")
    i, before, cost, slope = 0, 0.0, 0.0, 0.0
    offset, lag = turn * period, turn + shift
    while i <= last:
        if j == count:
            j, offset, lag = 0, offset + period, lag + 1.0
        end, other = ends[i], other_ends[j] + lag
        here = y[j] + offset
        following = x[i + 1] if i < last else x[0] + period
        now, then = cost_of(x[i] - here, power), cost_of(following - here, power)
        until = min(end, other)
        mass = until - before
        cost += now * (mass if mass > _ROUNDING else 0.0)
        before = until
        step = 1 if end <= other else 0
        slope += step * (then - now)
        i += step
        j += 1 - step
    return cost, slope


@kernel
def couple_equal_weights(x: Float, y: Float, shift: int, period: float, power: float) -> tuple[float, float]:
    """The sums of `|x_i - y_{i - shift}|^p` and of `|x_i - y_{i - shift - 1}|^p`, y continued by the period."""
    count = x.size
    turn = -shift // count
    first = -shift - turn * count
    here = last = 0.0
    for part in range(2):
        begin, end = (0, count - first) if part == 0 else (count - first, count)
        move, offset = first - part * count, (turn + part) * period
        xs, ys = x[begin:end], y[begin + move : end + move]
        for k in range(xs.size):
            here += cost_of(xs[k] - (ys[k] + offset), power)
        following = x[begin + 1 : end]
        for k in range(following.size):
            last += cost_of(following[k] - (ys[k] + offset), power)
        if end < count:
            last += cost_of(x[end] - (ys[ys.size - 1] + offset), power)
        elif ys.size > 0:
            last += cost_of(x[0] + period - (ys[ys.size - 1] + offset), power)
    return here, last


@kernel
def widest_point_gaps(
    x: Float, ends: Float, y: Float, other_ends: Float, shift: float, period: float, ignored: float
) -> tuple[float, float]:
    """The largest `Q(u) - R(u - shift)` and `R(u - shift) - Q(u)` over all that is coupled by more mass than
    `ignored`."""
    turn = np.floor(-shift)
    j = np.searchsorted(other_ends, -shift - turn, side="right")
    i, before, above, below = 0, 0.0, -np.inf, -np.inf
    while i < x.size:
        if j == y.size:
            j, turn = 0, turn + 1.0
        end, other = ends[i], other_ends[j] + shift + turn
        until, apart = min(end, other), x[i] - (y[j] + turn * period)
        if until - before > ignored:
            above, below = max(above, apart), max(below, -apart)
        before = max(before, until)
        if end <= other:
            i += 1
        else:
            j += 1
    return above, below


@kernel
def difference_of_cumulatives(
    x: Float, ends: Float, y: Float, other_ends: Float, period: float, difference: Float, lengths: Float
) -> None:
    """F - G between consecutive points of both laws, and how long it has that value; around the circle the last
    stretch leads to the first point."""
    first, second = x.size, y.size
    i = j = 0
    start = min(x[0], y[0])
    last = start
    for k in range(first + second):
        if j == second or (i < first and x[i] <= y[j]):
            place = x[i]
            i += 1
        else:
            place = y[j]
            j += 1
        if k > 0:
            lengths[k - 1] = place - last
        last = place
        difference[k] = (ends[i - 1] if i > 0 else 0.0) - (other_ends[j - 1] if j > 0 else 0.0)
    lengths[first + second - 1] = start + period - last


@kernel
def deviation(values: Float, lengths: Float, level: float) -> tuple[float, float]:
    """`sum_k l_k |v_k - level|` and its slope in the level."""
    total = slope = 0.0
    for k in range(values.size):
        away = values[k] - level
        total += lengths[k] * abs(away)
        slope += lengths[k] if away < 0.0 else -lengths[k]
    return total, slope
