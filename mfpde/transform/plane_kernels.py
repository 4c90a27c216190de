"""The panel transform on a grid of the plane: queries `w = A x + b` for all x of a grid, nodes y on a grid.

On a panel about c, with `w_1 = a x_1 + shift(x_2) = c + v` and `w_2 = r v + s(x_2)`, the exponent is
`c y_1 + v (y_1 + r y_2) + s(x_2) y_2`: at Chebyshev points of v and grid points of x_2 the double sum is two matrix
products, exact, and only v is interpolated. Exponents are shifted by a panel's centre and by the largest one there:
nothing overflows, and what underflows is negligible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.transform.exponential import exponential, logarithm
from mfpde.transform.fused import fused
from mfpde.transform.products import multiply
from mfpde.typing import AnyArray, Float

__all__ = [
    "LOG_OF_ZERO",
    "POINTS",
    "PanelQueries",
    "PanelRule",
    "RowRule",
    "piece_room",
    "tilt_rows",
    "transform_panel",
    "transform_rows",
]

POINTS = 20  # Chebyshev points of a panel
LOG_OF_ZERO = -1e300  # stands for log 0: below any logarithm, and finite


class PanelRule(NamedTuple):
    """What all panels share: both axes of the nodes, `e^{v y_1}` and `y_1 e^{v y_1}` at the Chebyshev points v of a
    panel, `e^{r v y_2}`, and the matrix from values there to Chebyshev coefficients."""

    first: Float
    second: Float
    powers: Float
    lean: Float
    to_series: Float


class PanelQueries(NamedTuple):
    """`w_1 = pivot position + shifts(x_2)`, `w_2 = ratio (w_1 - shifts) + slopes(x_2)`; `half` is that of a panel."""

    position: Float
    pivot: float
    shifts: Float
    ratio: float
    slopes: Float
    half: float


class RowRule(NamedTuple):
    """Both axes of the nodes, `e^{v y_1}` and `y_1 e^{v y_1}` at the Chebyshev points v of a panel, and the matrix that
    interpolates from them to the queries."""

    first: Float
    second: Float
    powers: Float
    basis: Float


@kernel
def tilt_rows(log_masses: Float, first: Float, centre: float, tilted: Float, level: Float) -> None:
    """tilted = m e^{c y_1 - level(y_2)}, level the largest exponent over y_1."""
    rows, columns = log_masses.shape
    for j in range(columns):
        level[j] = LOG_OF_ZERO
    for i in range(rows):
        row, push = log_masses[i], centre * first[i]
        for j in range(columns):
            exponent = row[j] + push
            level[j] = max(level[j], exponent)
    for i in range(rows):
        row, push, out = log_masses[i], centre * first[i], tilted[i]
        for j in range(columns):
            out[j] = exponential(row[j] + (push - level[j]))


@kernel
def _tilt_columns(level: Float, second: Float, slopes: Float, tilted: Float, peak: Float) -> None:
    """tilted[y_2, x_2] = e^{level(y_2) + slope(x_2) y_2 - peak(x_2)}, peak the largest exponent over y_2."""
    rows, columns = tilted.shape
    for j in range(columns):
        peak[j] = -np.inf
    for i in range(rows):
        base, y = level[i], second[i]
        for j in range(columns):
            exponent = base + slopes[j] * y
            peak[j] = max(peak[j], exponent)
    for i in range(rows):
        base, y, out = level[i], second[i], tilted[i]
        for j in range(columns):
            out[j] = exponential((base - peak[j]) + slopes[j] * y)


@kernel
def _evaluate_series(
    series: Float, position: Float, scale: float, offset: float, peak: float, mass: Float, mean1: Float, mean2: Float
) -> None:
    """log M and the mean at t = scale position + offset by Clenshaw's recurrence, all queries of a row side by side."""
    c0, c1, c2 = series[0], series[1], series[2]
    for i in range(position.size):
        t = 2.0 * (scale * position[i] + offset)
        a, b, d, e, f, g = c0[POINTS - 1], 0.0, c1[POINTS - 1], 0.0, c2[POINTS - 1], 0.0
        for k in range(POINTS - 2, 0, -1):
            a, b = fused(t, a, c0[k] - b), a
            d, e = fused(t, d, c1[k] - e), d
            f, g = fused(t, f, c2[k] - g), f
        total = 0.5 * t * a + (c0[0] - b)
        mass[i] = logarithm(total) + peak
        mean1[i] = (0.5 * t * d + (c1[0] - e)) / total
        mean2[i] = (0.5 * t * f + (c2[0] - g)) / total


def piece_room(first: int, second: int, window: int) -> Float:
    """Room for a piece of work: so many nodes along both axes, and queries side by side. Nothing in it outlives one."""
    return np.empty((first + 5 * POINTS + 1 + window) * second + (3 * POINTS + 5) * window + 3 * POINTS)


@kernel
def _panel_series(
    log_masses: Float, rule: PanelRule, centre: float, tilted: Float, sums: Float, level: Float, series: Float
) -> None:
    """Chebyshev series in w_1 of `sum_{y_1} (1, y_1, y_2) m e^{w_1 (y_1 + r y_2) - level}`, for every y_2."""
    second, columns = rule.second, rule.second.size
    tilt_rows(log_masses, rule.first, centre, tilted, level)
    multiply(rule.powers, tilted, sums)
    for k in range(POINTS):
        low, high, factor = sums[k], sums[POINTS + k], rule.lean[k]
        for j in range(columns):
            low[j] *= factor[j]
            high[j] *= factor[j]
    multiply(rule.to_series, sums[:POINTS], series[:POINTS])
    multiply(rule.to_series, sums[POINTS:], series[POINTS : 2 * POINTS])
    for k in range(POINTS):
        from_row, row = series[k], series[2 * POINTS + k]
        for j in range(columns):
            row[j] = from_row[j] * second[j]


@kernel
def transform_panel(
    log_masses: Float,
    rule: PanelRule,
    queries: PanelQueries,
    centre: float,
    begin: AnyArray,
    end: AnyArray,
    room: Float,
    out: tuple[Float, Float, Float],
) -> None:
    """(log M, mean_1, mean_2) at all queries of one panel: row j holds positions begin[j] .. end[j]; room as
    `piece_room` makes it."""
    low, high = 0, begin.size
    while low < high and begin[low] >= end[low]:
        low += 1
    while high > low and begin[high - 1] >= end[high - 1]:
        high -= 1
    if low == high:
        return
    rows, columns, window, shifts = rule.first.size, rule.second.size, high - low, queries.shifts
    value, mean1, mean2 = out
    rest = room[rows * columns :]
    tilted, level, rest = room[: rows * columns].reshape(rows, columns), rest[:columns], rest[columns:]
    sums, rest = rest[: 2 * POINTS * columns].reshape(2 * POINTS, columns), rest[2 * POINTS * columns :]
    series, rest = rest[: 3 * POINTS * columns].reshape(3 * POINTS, columns), rest[3 * POINTS * columns :]
    _panel_series(log_masses, rule, centre, tilted, sums, level, series)
    raised, rest = rest[: columns * window].reshape(columns, window), rest[columns * window :]
    values, rest = rest[: 3 * POINTS * window].reshape(3 * POINTS, window), rest[3 * POINTS * window :]
    peak, at_centre, rest = rest[:window], rest[window : 2 * window], rest[2 * window :]
    for j in range(window):  # w_2 where w_1 is the centre: large offsets of both stay apart
        at_centre[j] = queries.slopes[low + j] + queries.ratio * (centre - shifts[low + j])
    _tilt_columns(level, rule.second, at_centre, raised, peak)
    multiply(series, raised, values)
    row = rest[: 3 * POINTS].reshape(3, POINTS)
    for j in range(low, high):
        start, stop = begin[j], end[j]
        if start >= stop:
            continue
        for part in range(3):
            for k in range(POINTS):
                row[part, k] = values[part * POINTS + k, j - low]
        _evaluate_series(
            row,
            queries.position[start:stop],
            queries.pivot / queries.half,
            (shifts[j] - centre) / queries.half,
            peak[j - low],
            value[j, start:stop],
            mean1[j, start:stop],
            mean2[j, start:stop],
        )


@kernel
def transform_rows(
    log_masses: Float,
    rule: RowRule,
    pushes: Float,
    slopes: Float,
    along: Float,
    lines: tuple[int, int],
    begin: int,
    room: Float,
    out: tuple[Float, Float, Float],
) -> None:
    """(log M, mean_1, mean_2) in the rows from `lines[0]` to `lines[1]`, from position `begin`: w_1 is `pushes` plus
    the Chebyshev points of the rule, w_2 is `slopes + along`; room as `piece_room` makes it."""
    second, basis = rule.second, rule.basis
    rows, columns, window, points = rule.first.size, second.size, along.size, basis.shape[0]
    value, mean1, mean2 = out
    rest = room[rows * columns :]
    tilted, level, rest = room[: rows * columns].reshape(rows, columns), rest[:columns], rest[columns:]
    sums, rest = rest[: 2 * points * columns].reshape(2 * points, columns), rest[2 * points * columns :]
    series, rest = rest[: 3 * points * columns].reshape(3 * points, columns), rest[3 * points * columns :]
    raised, rest = rest[: columns * window].reshape(columns, window), rest[columns * window :]
    values, rest = rest[: 3 * points * window].reshape(3 * points, window), rest[3 * points * window :]
    peak, at, parts = rest[:window], rest[window : 2 * window], rest[2 * window : 5 * window].reshape(3, window)
    for i in range(lines[0], lines[1]):
        tilt_rows(log_masses, rule.first, pushes[i], tilted, level)
        multiply(rule.powers, tilted, sums)
        for k in range(points):
            mass, moment = sums[k], sums[points + k]
            low, high, other = series[k], series[points + k], series[2 * points + k]
            for j in range(columns):
                low[j] = mass[j]
                high[j] = moment[j]
                other[j] = mass[j] * second[j]
        for j in range(window):
            at[j] = slopes[i] + along[j]
        _tilt_columns(level, second, at, raised, peak)
        multiply(series, raised, values)
        for part in range(3):
            total = parts[part]
            for j in range(window):
                total[j] = 0.0
            for k in range(points):
                share, found = basis[k], values[part * points + k]
                for j in range(window):
                    total[j] = fused(share[j], found[j], total[j])
        logs, means1, means2 = value[i], mean1[i], mean2[i]
        total, moment1, moment2 = parts[0], parts[1], parts[2]
        for j in range(window):
            logs[begin + j] = logarithm(total[j]) + peak[j]
            means1[begin + j] = moment1[j] / total[j]
            means2[begin + j] = moment2[j] / total[j]
