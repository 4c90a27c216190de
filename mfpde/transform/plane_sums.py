"""Sums from one grid of the plane to another inside compiled code: the plan, and its pieces.

What `tilted_mean_on_grid` plans in Python (`plane_grid`, `plane_rows`, which say why) and does in pieces, for kernels
that know their grids: sums over panels of w_1, over rows of the queries, or over all pairs, whichever costs least.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.transform.chebyshev import chebyshev_points, chebyshev_transform, interpolation_weights
from mfpde.transform.direct import PAIR_NANOSECONDS
from mfpde.transform.exponential import exponential, logarithm
from mfpde.transform.plane_grid import CALL_NANOSECONDS, MAX_EXPONENT
from mfpde.transform.plane_kernels import (
    LOG_OF_ZERO,
    POINTS,
    PanelQueries,
    PanelRule,
    RowRule,
    transform_panel,
    transform_rows,
)
from mfpde.transform.plane_rows import ROW_POINTS, ROWS_PER_PIECE
from mfpde.typing import AnyArray, Float

__all__ = ["GridPair", "PlaneSums", "plan_sums", "plane_sums", "sum_piece"]

# how sums are taken
_BY_PANELS, _BY_ROWS, _BY_PAIRS = 0, 1, 2
_RULES = len(ROW_POINTS)
_SMALLEST_PANEL = 1e-8  # half-width of a panel for a single point (`chebyshev.cut`)


class GridPair(NamedTuple):
    """Queries `w = matrix x + offset`, x on the grid of two axes, and the nodes' axes about their middle."""

    matrix: Float
    offset: Float
    across: Float
    along: Float
    first: Float
    second: Float


class PlaneSums(NamedTuple):
    """A plan, and what its pieces share: flat arrays, of which the beginnings are used."""

    #: how it sums, the component summed first, the axis of x that is interpolated along, points and pieces
    chosen: AnyArray
    #: ratio and pivot of `plane_grid`, start, half-width and number of the panels
    numbers: Float
    logs: Float  # log m, the component summed first as rows
    powers: Float
    lean: Float
    basis: Float
    shifts: Float
    slopes: Float
    to_series: Float
    points: Float  # Chebyshev points of the rules with 4, 8, .. points, and of panels, a row each
    weights: Float  # of interpolation from them
    limits: Float  # largest exponents on a panel of these rules


def plane_sums(count: int) -> PlaneSums:
    """For grids of at most so many points a side."""
    points, weights, limits = np.zeros((_RULES, POINTS)), np.zeros((_RULES, POINTS)), np.zeros((_RULES, 2))
    for rule, (number, most) in enumerate(ROW_POINTS):
        points[rule, :number], weights[rule, :number] = chebyshev_points(number), interpolation_weights(number)
        limits[rule] = number, most
    return PlaneSums(
        chosen=np.zeros(6, dtype=np.int64),
        numbers=np.zeros(5),
        logs=np.zeros(count * count),
        powers=np.zeros(2 * POINTS * count),
        lean=np.zeros(POINTS * count),
        basis=np.zeros(POINTS * count),
        shifts=np.zeros(count),
        slopes=np.zeros(count),
        to_series=chebyshev_transform(POINTS),
        points=points,
        weights=weights,
        limits=limits,
    )


@kernel
def _largest(axis: Float) -> float:
    """Of an ascending axis."""
    return max(abs(axis[0]), abs(axis[axis.size - 1]))


@kernel
def _cut(low: float, high: float, radius: float, most: float) -> tuple[float, float, float]:
    """Start, half-width and number of the panels of `chebyshev.cut`."""
    half = 0.5 * (high - low)
    if half == 0.0:
        half = _SMALLEST_PANEL * min(1.0, most / (1.0 + radius)) + 1e-12 * abs(low)
        return low - half, half, 1.0
    count = max(1.0, math.ceil(half * radius / most))
    return low, half / count, count


@kernel
def _axes(row: int, column: int, pair: GridPair) -> tuple[Float, Float, Float, Float]:
    """Nodes summed first and second, queries along and across the interpolation."""
    first, second = (pair.first, pair.second) if row == 0 else (pair.second, pair.first)
    along, across = (pair.along, pair.across) if column == 1 else (pair.across, pair.along)
    return first, second, along, across


@kernel
def _try_panels(row: int, column: int, pair: GridPair, numbers: Float) -> float:
    """The cost of `plane_grid._plan` in nanoseconds, and its numbers."""
    first, second, along, across = _axes(row, column, pair)
    pivot, push = pair.matrix[row, column], pair.matrix[row, 1 - column]
    ratio = pair.matrix[1 - row, column] / pivot if pivot != 0.0 else 0.0
    one, other = push * across[0] + pair.offset[row], push * across[across.size - 1] + pair.offset[row]
    start, end = pivot * along[0], pivot * along[along.size - 1]
    low, high = min(one, other) + min(start, end), max(one, other) + max(start, end)
    extent = _largest(first) + abs(ratio) * _largest(second)
    begin, half, number = _cut(low, high, extent, MAX_EXPONENT)
    numbers[0], numbers[1], numbers[2], numbers[3], numbers[4] = ratio, pivot, begin, half, number
    met = (abs(end - start) + 2.0 * half) / (high - low + 2.0 * half)
    per_panel = second.size * (first.size * (0.9 + POINTS / 10) + across.size * met * (0.7 + 3 * POINTS / 20))
    return number * (per_panel + CALL_NANOSECONDS) + 4.0 * along.size * across.size


@kernel
def _try_rows(row: int, column: int, pair: GridPair, limits: Float, numbers: Float) -> tuple[float, int]:
    """The same of `plane_rows._plan`, and its rule."""
    first, second, along, across = _axes(row, column, pair)
    size = abs(pair.matrix[row, column])
    extent = size * _largest(first)
    begin, half, number = _cut(along[0], along[along.size - 1], extent, limits[_RULES - 1, 1])
    rule = 0
    while rule < _RULES - 1 and half * extent > limits[rule, 1] * (1.0 + 1e-12):
        rule += 1
    points, met = limits[rule, 0], along.size / number
    numbers[0], numbers[1], numbers[2], numbers[3], numbers[4] = 0.0, pair.matrix[row, column], begin, half, number
    per_panel = second.size * (first.size * (0.9 + points / 10.0) + met * (0.7 + 3.0 * points / 20.0))
    per_row = number * (per_panel + CALL_NANOSECONDS / ROWS_PER_PIECE) + 4.0 * along.size
    return across.size * per_row, rule


@kernel
def _choose(pair: GridPair, sums: PlaneSums) -> None:
    """The cheapest plan; `numbers` are written anew for the chosen one."""
    matrix, chosen, numbers = pair.matrix, sums.chosen, sums.numbers
    largest = max(abs(matrix[0, 0]), abs(matrix[0, 1]), abs(matrix[1, 0]), abs(matrix[1, 1]))
    least, panels = np.inf, np.inf
    pairs = PAIR_NANOSECONDS * pair.first.size * pair.second.size * pair.across.size * pair.along.size
    chosen[0], chosen[1], chosen[2], chosen[3] = _BY_PAIRS, 0, 1, 0
    for order in range(4):
        row, column = order // 2, 1 - order % 2
        if abs(matrix[row, column]) >= 0.1 * largest:
            cost = _try_panels(row, column, pair, numbers)
            seen = cost * (1.0 if column == 1 else 1.1)  # interpolating along the second axis needs no transpose
            if seen < panels:
                panels = seen
                if cost <= pairs:
                    least = cost
                    chosen[0], chosen[1], chosen[2] = _BY_PANELS, row, column
    for order in range(4):
        row, column = order // 2, 1 - order % 2
        cost, rule = _try_rows(row, column, pair, sums.limits, numbers)
        if cost <= least and cost <= pairs:
            least = cost
            chosen[0], chosen[1], chosen[2], chosen[3] = _BY_ROWS, row, column, rule
    if chosen[0] == _BY_PANELS:
        _try_panels(chosen[1], chosen[2], pair, numbers)
    elif chosen[0] == _BY_ROWS:
        _try_rows(chosen[1], chosen[2], pair, sums.limits, numbers)


@kernel
def _raise(points: Float, scale: float, axis: Float, out: Float) -> None:
    """out[k, i] = e^{scale points_k axis_i}."""
    for k in range(points.size):
        line, at = out[k], scale * points[k]
        for i in range(axis.size):
            line[i] = exponential(at * axis[i])


@kernel
def _prepare(pair: GridPair, sums: PlaneSums, points: Float, rise: float) -> None:
    """Powers and moments at Chebyshev points, `rise` times the half-width of a panel, and the places of the queries."""
    row, column = sums.chosen[1], sums.chosen[2]
    first, _, _, across = _axes(row, column, pair)
    count, size = points.size, first.size
    powers = sums.powers[: 2 * count * size].reshape(2 * count, size)
    _raise(points, rise, first, powers[:count])
    for k in range(count):
        line, moment = powers[k], powers[count + k]
        for i in range(size):
            moment[i] = line[i] * first[i]
    for j in range(across.size):
        sums.shifts[j] = pair.matrix[row, 1 - column] * across[j] + pair.offset[row]
        sums.slopes[j] = pair.matrix[1 - row, 1 - column] * across[j] + pair.offset[1 - row]


@kernel
def _interpolate(points: Float, weights: Float, place: float, column: int, out: Float) -> None:
    """out[:, column] = the weights of values at the points for the value at a place (`interpolation_matrix`)."""
    total = 0.0
    for k in range(points.size):
        distance = place - points[k]
        term = weights[k] / (distance if distance != 0.0 else 1e-280)
        out[k, column] = term
        total += term
    for k in range(points.size):
        out[k, column] /= total


@kernel
def _panel_end(begin: int, along: Float, sums: PlaneSums) -> tuple[int, float]:
    """Where the places of the panel end that holds place `begin`, and the panel's centre."""
    start, half, last = sums.numbers[2], sums.numbers[3], sums.numbers[4] - 1.0
    number = min(math.floor((along[begin] - start) / (2.0 * half)), last)
    end = begin + 1
    while end < along.size and min(math.floor((along[end] - start) / (2.0 * half)), last) == number:
        end += 1
    return end, start + half * (2.0 * number + 1.0)


@kernel
def _prepare_basis(along: Float, points: Float, weights: Float, sums: PlaneSums) -> None:
    """The matrices that interpolate from the points of a panel to its queries, one after the other."""
    begin, count = 0, points.size
    while begin < along.size:
        end, centre = _panel_end(begin, along, sums)
        basis = sums.basis[count * begin : count * end].reshape(count, end - begin)
        for j in range(end - begin):
            _interpolate(points, weights, (along[begin + j] - centre) / sums.numbers[3], j, basis)
        begin = end


@kernel
def plan_sums(logs: Float, pair: GridPair, sums: PlaneSums) -> int:
    """Plan sums over log masses `(first, second)`; how many pieces of work they are."""
    _choose(pair, sums)
    chosen, numbers = sums.chosen, sums.numbers
    kind, row, column, rule = chosen[0], chosen[1], chosen[2], chosen[3]
    first, second, along, across = _axes(row, column, pair)
    laid = sums.logs[: first.size * second.size].reshape(first.size, second.size)
    for i in range(first.size):
        line = laid[i]
        for j in range(second.size):
            line[j] = logs[i, j] if row == 0 else logs[j, i]
    if kind == _BY_PANELS:
        points = sums.points[_RULES - 1]
        _prepare(pair, sums, points, numbers[3])
        lean = sums.lean[: POINTS * second.size].reshape(POINTS, second.size)
        _raise(points, numbers[0] * numbers[3], second, lean)
        chosen[5] = int(numbers[4])
    else:
        chosen[5] = (across.size + ROWS_PER_PIECE - 1) // ROWS_PER_PIECE
    if kind == _BY_ROWS:
        count = int(sums.limits[rule, 0])
        points, weights = sums.points[rule, :count], sums.weights[rule, :count]
        _prepare(pair, sums, points, numbers[1] * numbers[3])
        _prepare_basis(along, points, weights, sums)
        chosen[4] = count
    return chosen[5]


@kernel
def _mark(number: int, along: Float, sums: PlaneSums, marks: AnyArray) -> None:
    """marks[j] = where the queries begin along line j that are in a panel, or in later ones; in earlier ones where the
    pivot is negative. Lines that are neighbours begin at neighbouring places."""
    pivot, count, place = sums.numbers[1], int(sums.numbers[4]), 0
    edge = sums.numbers[2] + 2.0 * sums.numbers[3] * number
    for j in range(marks.size):
        if not 0 < number < count:
            place = along.size if (number == 0) == (pivot < 0.0) else 0
        elif pivot != 0.0:
            wanted = (edge - sums.shifts[j]) / pivot
            while place < along.size and along[place] < wanted:
                place += 1
            while place > 0 and along[place - 1] >= wanted:
                place -= 1
        marks[j] = place


@kernel
def _sum_panel(piece: int, pair: GridPair, sums: PlaneSums, room: Float, bounds: AnyArray, out: Float) -> None:
    row, column, numbers = sums.chosen[1], sums.chosen[2], sums.numbers
    first, second, along, across = _axes(row, column, pair)
    begin, end = bounds[0, : across.size], bounds[1, : across.size]
    _mark(piece, along, sums, begin)
    _mark(piece + 1, along, sums, end)
    if numbers[1] < 0.0:
        begin, end = end, begin
    logs = sums.logs[: first.size * second.size].reshape(first.size, second.size)
    powers = sums.powers[: 2 * POINTS * first.size].reshape(2 * POINTS, first.size)
    lean = sums.lean[: POINTS * second.size].reshape(POINTS, second.size)
    rule = PanelRule(first, second, powers, lean, sums.to_series)
    shifts, slopes = sums.shifts[: across.size], sums.slopes[: across.size]
    queries = PanelQueries(along, numbers[1], shifts, numbers[0], slopes, numbers[3])
    centre = numbers[2] + numbers[3] * (2.0 * piece + 1.0)
    transform_panel(logs, rule, queries, centre, begin, end, room, (out[0], out[1 + row], out[2 - row]))


@kernel
def _sum_rows(piece: int, pair: GridPair, sums: PlaneSums, room: Float, places: Float, out: Float) -> None:
    row, column, count = sums.chosen[1], sums.chosen[2], sums.chosen[4]
    first, second, along, across = _axes(row, column, pair)
    logs = sums.logs[: first.size * second.size].reshape(first.size, second.size)
    powers = sums.powers[: 2 * count * first.size].reshape(2 * count, first.size)
    pushes, slopes = places[0, : across.size], sums.slopes[: across.size]
    start, stop, begin = piece * ROWS_PER_PIECE, min((piece + 1) * ROWS_PER_PIECE, across.size), 0
    while begin < along.size:
        end, centre = _panel_end(begin, along, sums)
        beside = places[1, : end - begin]
        for j in range(end - begin):
            beside[j] = pair.matrix[1 - row, column] * along[begin + j]
        for j in range(start, stop):
            pushes[j] = sums.shifts[j] + pair.matrix[row, column] * centre
        basis = sums.basis[count * begin : count * end].reshape(count, end - begin)
        rule, parts = RowRule(first, second, powers, basis), (out[0], out[1 + row], out[2 - row])
        transform_rows(logs, rule, pushes, slopes, beside, (start, stop), begin, room, parts)
        begin = end


@kernel
def _sum_pairs(piece: int, pair: GridPair, sums: PlaneSums, places: Float, out: Float) -> None:
    first, second, along, matrix, offset = pair.first, pair.second, pair.along, pair.matrix, pair.offset
    logs, size = sums.logs[: first.size * second.size].reshape(first.size, second.size), along.size
    peak, total = places[0, :size], places[1, :size]
    for line in range(piece * ROWS_PER_PIECE, min((piece + 1) * ROWS_PER_PIECE, pair.across.size)):
        start1 = matrix[0, 0] * pair.across[line] + offset[0]
        start2 = matrix[1, 0] * pair.across[line] + offset[1]
        value, mean1, mean2 = out[0, line], out[1, line], out[2, line]
        for k in range(size):
            peak[k], total[k], mean1[k], mean2[k] = LOG_OF_ZERO, 0.0, 0.0, 0.0
        for part in range(2):
            for i in range(first.size):
                for j in range(second.size):
                    y1, y2 = first[i], second[j]
                    score = logs[i, j] + start1 * y1 + start2 * y2
                    slope = matrix[0, 1] * y1 + matrix[1, 1] * y2
                    if part == 0:
                        for k in range(size):
                            peak[k] = max(peak[k], score + slope * along[k])
                    else:
                        for k in range(size):
                            term = exponential(score + slope * along[k] - peak[k])
                            total[k] += term
                            mean1[k] += term * y1
                            mean2[k] += term * y2
        for k in range(size):
            value[k] = logarithm(total[k]) + peak[k]
            mean1[k] /= total[k]
            mean2[k] /= total[k]


@kernel
def sum_piece(
    piece: int, pair: GridPair, sums: PlaneSums, room: Float, bounds: AnyArray, places: Float, out: Float
) -> None:
    """One piece of the sums: (log M, mean_1, mean_2), `(3, across, along)`, about the middle of the nodes.

    Along is the second axis of x where `chosen[2]` is 1, the first where it is 0. room, bounds and places, `(2, n)`,
    are for one piece at a time (`piece_room`).
    """
    if sums.chosen[0] == _BY_PANELS:
        _sum_panel(piece, pair, sums, room, bounds, out)
    elif sums.chosen[0] == _BY_ROWS:
        _sum_rows(piece, pair, sums, room, places, out)
    else:
        _sum_pairs(piece, pair, sums, places, out)
