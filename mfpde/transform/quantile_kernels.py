"""The monotone coupling of two laws on the line or the circle that have densities, points or both.

A law is a row of pieces in their order: intervals on which the cumulative distribution is a polynomial, and points,
which are intervals of length 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mfpde.compilation import kernel
from mfpde.transform.transport_kernels import cost_of
from mfpde.typing import Float

__all__ = ["Pieces", "couple_pieces", "cumulative_at", "quantile_and_mean", "widest_gaps"]

_NEWTON = 100  # iterations at most; bisection alone needs 60
_LAST_STEP = 1e-11  # after a step of Newton's that small, on [-1, 1], what is left is rounding
_HALVINGS = 60  # halvings of a stretch of the coupling
_MOST_STRETCHES = 2000  # that one is divided into: more is rounding
_ROUNDING = 1e-15  # of masses, and of places relative to their size
_SLOPE_ACCURACY = 1e-9  # relative; the least cost depends on its square
_SAMPLES = 24  # places between which the widest gap is searched
_GOLDEN = 0.6180339887498949  # what a golden section keeps of its bracket
_GOLDEN_STEPS = 44  # a maximum is flat: its place is needed to the root of rounding


class Pieces(NamedTuple):
    """Piece k lies between `low` and `high`, begins where the mass `start` is below it, and holds `mass`; `row` is its
    number in the tables of Chebyshev coefficients of the mass above its low end (`grown`) and of the density, -1 for
    points."""

    low: Float
    high: Float
    start: Float
    mass: Float
    row: NDArray[np.int64]
    grown: Float
    density: Float


@kernel
def _clenshaw(coefficients: Float, t: float) -> float:
    """`sum_k c_k T_k(t)`."""
    first = second = 0.0
    for k in range(coefficients.size - 1, 0, -1):
        first, second = 2.0 * t * first - second + coefficients[k], first
    return t * first - second + coefficients[0]


@kernel
def _on_piece(law: Pieces, i: int, x: float) -> float:
    """x as t in [-1, 1]."""
    return 2.0 * (x - law.low[i]) / (law.high[i] - law.low[i]) - 1.0


@kernel
def _place(law: Pieces, i: int, mass: float) -> float:
    """Where so much mass of the piece lies below."""
    low, high, row = law.low[i], law.high[i], law.row[i]
    if row < 0 or mass <= 0.0:
        return low
    if mass >= law.mass[i]:
        return high
    grown, density, half = law.grown[row], law.density[row], 0.5 * (high - low)
    bottom, top, t = -1.0, 1.0, 2.0 * mass / law.mass[i] - 1.0
    for _ in range(_NEWTON):
        excess = _clenshaw(grown, t) - mass
        if excess > 0.0:
            top = t
        else:
            bottom = t
        slope = half * _clenshaw(density, t)
        step = excess / slope if slope > 0.0 else 2.0
        if abs(step) <= _LAST_STEP:
            t -= step
            break
        t = t - step if bottom < t - step < top else 0.5 * (bottom + top)
    return low + half * (1.0 + min(max(t, -1.0), 1.0))


@kernel
def _partner(law: Pieces, i: int, x: float, other: Pieces, j: int, ignored: float) -> float:
    """What x in a piece is coupled with in a piece of another law; mass that is no more than `ignored` is none."""
    mass = law.start[i] - other.start[j] + _clenshaw(law.grown[law.row[i]], _on_piece(law, i, x))
    if mass <= ignored:
        return other.low[j]
    return _place(other, j, mass if mass < other.mass[j] - ignored else other.mass[j])


@kernel
def _stretch(
    law: Pieces, i: int, other: Pieces, j: int, begin: float, end: float, power: float, t: Float, weights: Float
) -> tuple[float, float, float, float]:
    """Gauss's rule over x between two places: cost, its slope, and how far rounding reaches into both: quantiles are
    known to the rounding of masses over the density."""
    cost = slope = unsure = unsure_slope = 0.0
    size = max(abs(law.high[i]), abs(other.high[j]))
    for k in range(t.size):
        x = begin + 0.5 * (end - begin) * (1.0 + t[k])
        y = _partner(law, i, x, other, j, 0.0)
        dense = _clenshaw(law.density[law.row[i]], _on_piece(law, i, x))
        there = _clenshaw(other.density[other.row[j]], _on_piece(other, j, y))
        rounding = _ROUNDING * (size + 1.0 / max(there, _ROUNDING))
        apart = abs(x - y)
        known = apart > rounding
        rise = power * apart ** (power - 1.0) if known else 0.0
        steepest = power * (apart + rounding) ** (power - 1.0)
        cost += weights[k] * cost_of(apart, power) * dense
        slope += weights[k] * (rise if x > y else -rise)
        unsure += weights[k] * steepest * rounding * abs(dense)
        unsure_slope += weights[k] * (steepest - rise)
    length = end - begin
    return cost * length, slope * length, unsure * length, unsure_slope * length


@kernel
def _side(law: Pieces, i: int, other: Pieces, j: int, x: float) -> float:
    """Sign of x less what it is coupled with, 0 where that is rounding."""
    y = _partner(law, i, x, other, j, 0.0)
    there = _clenshaw(other.density[other.row[j]], _on_piece(other, j, y))
    rounding = _ROUNDING * (max(abs(law.high[i]), abs(other.high[j])) + 1.0 / max(there, _ROUNDING))
    return 0.0 if abs(x - y) <= rounding else np.sign(x - y)


@kernel
def _division(law: Pieces, i: int, other: Pieces, j: int, begin: float, end: float, power: float) -> tuple[float, bool]:
    """Where a stretch is divided, and whether it has to be: where the coupling crosses over, `|x - y|^p` has a kink,
    and nodes do not see one that is near an end; in the middle elsewhere."""
    middle = 0.5 * (begin + end)
    if power == 2.0:
        return middle, False
    left = _side(law, i, other, j, begin)
    if left * _side(law, i, other, j, end) >= 0.0:
        return middle, False
    low, high = begin, end
    while low < middle < high:
        side = _side(law, i, other, j, middle)
        if side == 0.0:
            break
        low, high = (middle, high) if side == left else (low, middle)
        middle = 0.5 * (low + high)
    return middle, begin < middle < end


@kernel
def _between_densities(
    law: Pieces,
    i: int,
    other: Pieces,
    j: int,
    ends: tuple[float, float],
    power: float,
    tolerances: tuple[float, float],
    rule: tuple[Float, Float],
    stack: Float,
) -> tuple[float, float]:
    """Cost and slope over x between two places of a piece, divided until the rule agrees with that of the parts."""
    cost = slope = 0.0
    stack[0, 0], stack[0, 1], stack[0, 2] = ends[0], ends[1], 0.0
    count, halved = 1, 0
    while count > 0:
        count -= 1
        halved += 1
        begin, end, depth = stack[count, 0], stack[count, 1], stack[count, 2]
        middle, kinked = _division(law, i, other, j, begin, end, power)
        whole, plain, unsure, unsure_slope = _stretch(law, i, other, j, begin, end, power, rule[0], rule[1])
        left, left_slope, _, _ = _stretch(law, i, other, j, begin, middle, power, rule[0], rule[1])
        right, right_slope, _, _ = _stretch(law, i, other, j, middle, end, power, rule[0], rule[1])
        settled = not kinked and abs(left + right - whole) <= tolerances[0] + unsure
        settled = settled and abs(left_slope + right_slope - plain) <= tolerances[1] + unsure_slope
        if settled or depth >= _HALVINGS or halved > _MOST_STRETCHES or not begin < middle < end:
            cost += left + right
            slope += left_slope + right_slope
        else:
            stack[count, 0], stack[count, 1], stack[count, 2] = begin, middle, depth + 1.0
            stack[count + 1, 0], stack[count + 1, 1], stack[count + 1, 2] = middle, end, depth + 1.0
            count += 2
    return cost, slope


@kernel
def _to_point(
    law: Pieces, i: int, begin: float, end: float, point: float, power: float, t: Float, weights: Float
) -> float:
    """`int |x - point|^p rho(x) dx` over a part of a piece, on both sides of the point by Gauss's rule."""
    total, middle = 0.0, min(max(point, begin), end)
    for side in range(2):
        low, high = (begin, middle) if side == 0 else (middle, end)
        if high <= low:
            continue
        for k in range(t.size):
            x = low + 0.5 * (high - low) * (1.0 + t[k])
            rho = _clenshaw(law.density[law.row[i]], _on_piece(law, i, x))
            total += (high - low) * weights[k] * cost_of(x - point, power) * rho
    return total


@kernel
def couple_pieces(
    law: Pieces,
    other: Pieces,
    period: float,
    power: float,
    tolerances: tuple[float, float],
    t: Float,
    weights: Float,
    stack: Float,
) -> tuple[float, float]:
    """The cost `int |Q(u) - R(u)|^p du` of two laws whose pieces cover the masses u from 0 to 1, and its slope when R
    is moved, `int c'(x - y) dx` along the coupling over one period of x."""
    i = j = 0
    before = cost = slope = 0.0
    reached, y1 = law.low[0], other.low[0]
    while i < law.low.size and j < other.low.size:
        end, other_end = law.start[i] + law.mass[i], other.start[j] + other.mass[j]
        until = min(end, other_end, 1.0)
        if until > before:
            x0, x1 = _place(law, i, before - law.start[i]), _place(law, i, until - law.start[i])
            y0, y1 = _place(other, j, before - other.start[j]), _place(other, j, until - other.start[j])
            slope += cost_of(x0 - y0, power) - cost_of(reached - y0, power)
            reached = x1
            if law.row[i] >= 0 and other.row[j] >= 0:
                more, steeper = _between_densities(law, i, other, j, (x0, x1), power, tolerances, (t, weights), stack)
                cost += more
                slope += steeper
            elif law.row[i] >= 0:
                cost += _to_point(law, i, x0, x1, y0, power, t, weights)
                slope += cost_of(x1 - y0, power) - cost_of(x0 - y0, power)
            elif other.row[j] >= 0:
                cost += _to_point(other, j, y0, y1, x0, power, t, weights)
            else:
                cost += (until - before) * cost_of(x0 - y0, power)
            before = until
        if end <= other_end:
            i += 1
        else:
            j += 1
    return cost, slope + cost_of(law.low[0] + period - y1, power) - cost_of(reached - y1, power)


@kernel
def _seen(law: Pieces, i: int, x: float, least: float) -> bool:
    """Whether the density is at least so large there; points always are."""
    return law.row[i] < 0 or _clenshaw(law.density[law.row[i]], _on_piece(law, i, x)) >= least


@kernel
def _snapped(law: Pieces, i: int, u: float, ignored: float) -> float:
    """The quantile in a piece, at its ends where less mass than `ignored` is left."""
    mass = u - law.start[i]
    if mass <= ignored:
        return law.low[i]
    return _place(law, i, mass if mass < law.mass[i] - ignored else law.mass[i])


@kernel
def _gap(
    law: Pieces, i: int, other: Pieces, j: int, x: float, sign: float, ignored: float, least: tuple[float, float]
) -> float:
    y = _partner(law, i, x, other, j, ignored)
    return sign * (x - y) if _seen(law, i, x, least[0]) and _seen(other, j, y, least[1]) else -np.inf


@kernel
def _widest(
    law: Pieces,
    i: int,
    other: Pieces,
    j: int,
    ends: tuple[float, float],
    sign: float,
    ignored: float,
    least: tuple[float, float],
    known: float,
) -> float:
    """The largest `sign (x - y)` between two places, from samples and a golden section about the best, where that can
    be more than what is known already."""
    begin, end = ends
    step, best, where = (end - begin) / _SAMPLES, -np.inf, 0
    for k in range(_SAMPLES + 1):
        gap = _gap(law, i, other, j, begin + k * step, sign, ignored, least)
        if gap > best:
            best, where = gap, k
    low, high = begin + max(where - 1, 0) * step, begin + min(where + 1, _SAMPLES) * step
    drop = best - min(
        _gap(law, i, other, j, low, sign, ignored, least), _gap(law, i, other, j, high, sign, ignored, least)
    )
    if best + drop <= known:
        return known
    for _ in range(_GOLDEN_STEPS):
        inner, outer = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        left = _gap(law, i, other, j, inner, sign, ignored, least)
        right = _gap(law, i, other, j, outer, sign, ignored, least)
        best = max(best, left, right)
        if left > right:
            high = outer
        else:
            low = inner
    return best


@kernel
def widest_gaps(law: Pieces, other: Pieces, ignored: float, least: float, other_least: float) -> tuple[float, float]:
    """The largest Q - R and R - Q over the masses u from 0 to 1, but for what less mass than `ignored` couples and
    where a density is too small for its quantiles to be known."""
    i = j = 0
    before, above, below = 0.0, -np.inf, -np.inf
    bounds = (least, other_least)
    while i < law.low.size and j < other.low.size:
        end, other_end = law.start[i] + law.mass[i], other.start[j] + other.mass[j]
        until = min(end, other_end, 1.0)
        if until > before + ignored:
            x0, x1 = _snapped(law, i, before, ignored), _snapped(law, i, until, ignored)
            y0, y1 = _snapped(other, j, before, ignored), _snapped(other, j, until, ignored)
            if _seen(law, i, x0, least) and _seen(other, j, y0, other_least):
                above, below = max(above, x0 - y0), max(below, y0 - x0)
            if _seen(law, i, x1, least) and _seen(other, j, y1, other_least):
                above, below = max(above, x1 - y1), max(below, y1 - x1)
            if law.row[i] >= 0 and other.row[j] >= 0:
                above = max(above, _widest(law, i, other, j, (x0, x1), 1.0, ignored, bounds, above))
                below = max(below, _widest(law, i, other, j, (x0, x1), -1.0, ignored, bounds, below))
        before = max(before, until)
        if end <= other_end:
            i += 1
        else:
            j += 1
    return above, below


@kernel
def cumulative_at(law: Pieces, x: Float, below: Float, upto: Float) -> None:
    """Masses below places, and up to them."""
    for k in range(x.size):
        i = np.searchsorted(law.low, x[k], side="right") - 1
        upto[k] = below[k] = 0.0
        if i < 0:
            continue
        upto[k] = law.start[i] + law.mass[i]
        if law.row[i] >= 0 and x[k] < law.high[i]:
            upto[k] = law.start[i] + min(
                max(_clenshaw(law.grown[law.row[i]], _on_piece(law, i, x[k])), 0.0), law.mass[i]
            )
        below[k] = upto[k]
        while i >= 0 and law.low[i] == x[k]:
            below[k] = law.start[i]
            i -= 1


@kernel
def quantile_and_mean(law: Pieces, u: Float, t: Float, weights: Float, moments: Float, out: Float, mean: Float) -> None:
    """Quantiles at masses u, and the first moments of all that lies below them; `moments` holds those of the pieces
    below each."""
    ends = law.start
    for k in range(u.size):
        i = max(np.searchsorted(ends, u[k], side="right") - 1, 0)
        part = u[k] - law.start[i]
        x = _place(law, i, part)
        out[k] = x
        mean[k] = moments[i]
        if law.row[i] < 0:
            mean[k] += part * x
            continue
        for q in range(t.size):
            z = law.low[i] + 0.5 * (x - law.low[i]) * (1.0 + t[q])
            mean[k] += (x - law.low[i]) * weights[q] * z * _clenshaw(law.density[law.row[i]], _on_piece(law, i, z))
