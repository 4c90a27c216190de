"""The optimal coupling of two laws on the line or the circle: monotone, and on the circle monotone after a shift.

On the line `W_p^p = int_0^1 |Q(u) - R(u)|^p du` for the quantile functions Q, R. On the circle it is the least of
`C(s) = int_0^1 |Q(u) - R(u - s)|^p du` over shifts s, R continued by a turn a unit; C is convex [delon2010].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mfpde.distances.law import Law
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.transform.quantile_kernels import Pieces

__all__ = ["circle_distance", "circle_shift", "line_distance"]

TURN = 2 * np.pi
#: mass that rounding of cumulative weights may seem to couple
_IGNORED = 1e-14
_ROUNDING = 1e-15  # of a shift
_ZERO_ARC = 1e-13  # an arc that rounding may take for the distance of equal laws
#: share of its maximum below which the largest distance does not look at a density: quantiles are not known there
_LEAST_DENSITY = 1e-6
_ACCURACY = 1e-14  # of a cost, relative
_SLOPE_ACCURACY = 1e-9  # of the slope of a cost in the shift; the least cost depends on its square
_GAUSS = 12  # nodes on a stretch
_THINNING = 16  # points for each that a rough coupling takes
_ROUGH_POINTS_MIN = 100  # below that looking at all points is as fast
_ROUGH_ERROR = 4.0  # points of the rough coupling that its shift may be off by
_STEPS = 200  # of a search at most: bisection alone needs 54
_STACK = 256  # stretches of the coupling under way


def line_distance(first: Law, second: Law, power: float) -> float:
    """W_p of two laws on the line; `power` may be infinite."""
    if first.pointlike and second.pointlike:
        if _alike(first, second):
            return _of_pairs(np.abs(first.points - second.points), power)
        if np.isinf(power):
            return max(_point_gaps(first, second, 0.0, 0.0))
        return float(_cost_on_line(first, second, power) ** (1 / power))
    elif np.isinf(power):
        ends = [abs(first.extent[side] - second.extent[side]) for side in (0, 1) if first.sharp and second.sharp]
        return max(*_gaps_of_pieces(first, second, first.pieces, second.pieces), *ends)
    cost = _cost(first, second, power, 0.0, 0.0)[0]
    return float(max(cost, 0.0) ** (1 / power))  # rounding may leave less than 0 of equal laws


def _cost_on_line(first: Law, second: Law, power: float) -> float:
    from mfpde.transform.transport_kernels import cost_on_line

    return cost_on_line(first.points, first.ends, second.points, second.ends, power)


def _of_pairs(apart: Float, power: float) -> float:
    largest = float(apart.max())
    if np.isinf(power) or largest == 0:
        return largest
    if power == 2:
        return largest * float(np.sqrt(np.mean((apart / largest) ** 2)))
    return float(np.mean(apart)) if power == 1 else largest * float(np.mean((apart / largest) ** power) ** (1 / power))


def circle_distance(first: Law, second: Law, power: float) -> float:
    """W_p of two laws on the circle, lengths of arcs; `power` may be infinite."""
    if power == 1 and first.pointlike and second.pointlike:
        return _by_median(first, second)
    return circle_shift(first, second, power)[1]


def circle_shift(first: Law, second: Law, power: float, *, precise: bool = False) -> tuple[float, float]:
    """The shift of masses between the quantile functions of an optimal coupling, and W_p. The least cost does not
    depend on the last half of the digits of the shift, which are known where it is to be `precise`."""
    if np.isinf(power):
        return _least_gap(lambda shift: _gaps(first, second, shift))
    steep = _ACCURACY if precise else _SLOPE_ACCURACY
    shift, cost = _least(
        lambda shift: _cost(first, second, power, shift, TURN, steep),
        _ZERO_ARC**power,
        -np.inf if precise else _ACCURACY,
        _bracket(first, second, power),
    )
    return shift, float(cost ** (1 / power))


def _bracket(first: Law, second: Law, power: float) -> tuple[float, float]:
    """Where the best shift is likely to be: of many points near that of a sixteenth of them."""
    count = min(first.points.size, second.points.size) // _THINNING
    if not (first.pointlike and second.pointlike) or _alike(first, second) or count < _ROUGH_POINTS_MIN:
        return -1.0, 1.0
    shares = (np.arange(count) + 0.5) / count
    one, other = (Law(law.points[np.searchsorted(law.ends, shares)], None) for law in (first, second))
    shift = _least(lambda shift: _cost(one, other, power, shift, TURN), _ZERO_ARC**power)[0]
    return shift - _ROUGH_ERROR / count, shift + _ROUGH_ERROR / count


def _shifted(law: Law, shift: float) -> Pieces:
    """The pieces that `Q(u - shift)` has for u from 0 to 1."""
    pieces = law.pieces
    turns = np.floor(-shift)
    first = max(int(np.searchsorted(pieces.start, -shift - turns, side="right")) - 1, 0)
    count = pieces.low.size
    which = np.arange(first, first + count + 1)
    index, turns_of = which % count, which // count + turns
    offset = TURN * turns_of
    return pieces._replace(
        low=pieces.low[index] + offset,
        high=pieces.high[index] + offset,
        start=pieces.start[index] + shift + turns_of,
        mass=pieces.mass[index],
        row=pieces.row[index],
    )


def _cost(
    first: Law, second: Law, power: float, shift: float, period: float, slope_accuracy: float = np.inf
) -> tuple[float, float]:
    """The cost of the coupling at a shift, and its slope in the shift."""
    if first.pointlike and second.pointlike:
        return _cost_of_points(first, second, power, shift, period)
    from mfpde.geometry.gauss import gauss_legendre
    from mfpde.transform.quantile_kernels import couple_pieces

    one, other = first.pieces, _shifted(second, shift) if period else second.pieces
    rule, stack = gauss_legendre(_GAUSS), np.empty((_STACK, 3))
    rough = couple_pieces(one, other, period, power, (np.inf, np.inf), *rule, stack)
    if first.pointlike or second.pointlike:  # no stretch is halved
        return rough
    steep = slope_accuracy * power * TURN**power
    return couple_pieces(one, other, period, power, (_ACCURACY * rough[0], steep), *rule, stack)


def _alike(first: Law, second: Law) -> bool:
    """Whether both are as many points of equal weights."""
    return first.equal and second.equal and first.points.size == second.points.size


def _cost_of_points(first: Law, second: Law, power: float, shift: float, period: float) -> tuple[float, float]:
    """Piecewise linear in the shift: with equal weights, between multiples of them."""
    from mfpde.transform.transport_kernels import couple_equal_weights, couple_points

    if not _alike(first, second):
        return couple_points(first.points, first.ends, second.points, second.ends, shift, period, power)
    count = first.points.size
    steps, whole = int(np.floor(shift * count)), int(np.rint(shift * count))
    if abs(shift - whole / count) <= _ROUNDING:
        shift, steps = whole / count, whole
    here, following = couple_equal_weights(first.points, second.points, steps, period, power)
    slope = following - here
    return here / count + slope * (shift - steps / count), slope


def _point_gaps(first: Law, second: Law, shift: float, period: float) -> tuple[float, float]:
    from mfpde.transform.transport_kernels import widest_point_gaps

    return widest_point_gaps(first.points, first.ends, second.points, second.ends, shift, period, _IGNORED)


def _gaps(first: Law, second: Law, shift: float) -> tuple[float, float]:
    """The largest Q - R and R - Q at a shift of masses."""
    if first.pointlike and second.pointlike:
        return _point_gaps(first, second, shift, TURN)
    return _gaps_of_pieces(first, second, first.pieces, _shifted(second, shift))


def _gaps_of_pieces(first: Law, second: Law, one: Pieces, other: Pieces) -> tuple[float, float]:
    from mfpde.transform.quantile_kernels import widest_gaps

    return widest_gaps(one, other, _IGNORED, _LEAST_DENSITY * first.highest, _LEAST_DENSITY * second.highest)


def _by_median(first: Law, second: Law) -> float:
    """`W_1 = min_c int |F - G - c|`: c is a median of F - G [cabrelli1995]."""
    from mfpde.transform.transport_kernels import deviation, difference_of_cumulatives

    count = first.points.size + second.points.size
    difference, lengths = np.empty(count), np.empty(count)
    difference_of_cumulatives(first.points, first.ends, second.points, second.ends, TURN, difference, lengths)
    return _least(lambda level: deviation(difference, lengths, level), _ZERO_ARC)[1]


def _least(
    function: Callable[[float], tuple[float, float]],
    nothing: float,
    accuracy: float = _ACCURACY,
    bracket: tuple[float, float] = (-1.0, 1.0),
) -> tuple[float, float]:
    """Where a convex function on [-1, 1] is least, and how large it is there, from values and slopes; values below
    `nothing` are 0. It is looked for in the `bracket` first.

    The tangents at the ends of the bracket meet below the least value: the search ends where that is less than
    `accuracy` below what is known, and with an accuracy of -inf where the slope changes its sign. Steps go to where
    they meet, which finds a kink, to where the slope would be 0 if it were linear, and as far beyond, in turn.
    """
    low, high = bracket
    (at_low, falling), (at_high, rising) = function(low), function(high)
    if bracket != (-1.0, 1.0) and (falling > 0 or rising < 0):
        return _least(function, nothing, accuracy)
    best = (at_low, low) if at_low <= at_high else (at_high, high)
    for step in range(_STEPS):
        if falling >= 0 or rising <= 0 or best[0] <= nothing:
            break
        meet = (at_low - at_high + rising * high - falling * low) / (rising - falling)
        if best[0] - (at_low + falling * (meet - low)) <= accuracy * best[0] or high - low <= np.finfo(float).eps:
            break
        level = (low * rising - high * falling) / (rising - falling)
        beyond = 2 * level - (low if -falling < rising else high)
        guess = (level, beyond, meet, level, beyond, 0.5 * (low + high))[step % 6]
        if not low < guess < high:
            guess = 0.5 * (low + high)
        value, slope = function(guess)
        best = min(best, (value, guess))
        if slope < 0:
            low, at_low, falling = guess, value, slope
        elif slope > 0:
            high, at_high, rising = guess, value, slope
        else:
            low = high = guess
            break
    return (0.5 * (low + high) if np.isneginf(accuracy) else best[1]), best[0]


def _least_gap(gaps: Callable[[float], tuple[float, float]]) -> tuple[float, float]:
    """The shift for which the larger gap is least, and this gap: one of them grows with the shift, the other falls."""
    low, high = -1.0, 1.0
    first, last = (np.subtract(*gaps(end)) for end in (low, high))
    best = (np.inf, 0.0)
    for step in range(_STEPS):
        linear = (low * last - high * first) / (last - first) if last > first else low
        guess = linear if step % 2 == 0 and low < linear < high else 0.5 * (low + high)
        above, below = gaps(guess)
        best = min(best, (max(above, below), guess))
        if abs(above - below) <= _ZERO_ARC or high - low <= np.finfo(float).eps:
            break
        if above < below:
            low, first = guess, above - below
        else:
            high, last = guess, above - below
    return best[1], float(best[0])
