"""Stages of exactly integrated noise on the modes of cells, in compiled code (`exact_stages.py` has the formulas).

Rates of modes are sums of those along both axes, `L = K_1 lambda_1 + K_2 lambda_2`, so e^{E} is a product of numbers
for each axis, and `e^{E_1 + E_2} - 1 = (e^{E_1} - 1) + e^{E_1} (e^{E_2} - 1)`, of which both terms are negative.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cells import invert
from mfpde.solvers.kernels.finite_volume_update import combine, largest
from mfpde.typing import Float

__all__ = ["ModeStart", "ModeStep", "carry_modes", "clear", "conduct", "continue_tails", "gain", "take_change"]


_SERIES_TERMS = 18  # of powers of |z| < 1


class ModeStart(NamedTuple):
    """Of a step, on the modes `(panels, rows, columns)`: the density, the polynomial p in place of N by powers of the
    time since the start `(terms, panels, rows, columns)`, and the conductivities `(panels, d)`; rates of unit
    conductivity for rows and columns, 0 for the only row of the line; the largest |h L| of slow modes."""

    given: Float
    polynomial: Float
    conductivities: Float
    across: Float
    along: Float
    slow: float


class ModeStep(NamedTuple):
    """Rates of the stages so far: S `(stages, panels, rows, columns)` and conductivities `(stages, panels, d)`; room
    for two numbers in each column."""

    scaled: Float
    spread: Float
    room: Float


@kernel
def _follow(time: float, rate: float, polynomial: Float) -> float:
    """`int_0^t e^{(t - s) L} (p(s) - p(0)) ds` by powers of s; L is constant."""
    top, exponent, total = polynomial.size - 1, time * rate, 0.0
    if abs(exponent) >= 1.0:
        integral, power = math.expm1(exponent) / rate, 1.0
        for k in range(1, top + 1):
            power *= time
            integral = (k * integral - power) / rate
            total += integral * polynomial[k]
        return total
    series = 1.0  # where that loses digits: sum z^j (top + 1)! / (top + 1 + j)! for the highest power, and downwards
    for j in range(_SERIES_TERMS, 0, -1):
        series = 1.0 + exponent * series / (top + 1 + j)
    integral = time ** (top + 1) / (top + 1) * series
    for k in range(top, 0, -1):
        total += integral * polynomial[k]
        integral = (time**k + rate * integral) / k
    return total


@kernel
def carry_modes(time: float, weights: Float, start: ModeStart, step: ModeStep, decay: Float, out: Float) -> None:
    """decay = e^E of a stage so long after the start, out = its density; weights are those of the stages so far, times
    the length of the step."""
    last, powers, grown = start.conductivities.shape[1] - 1, step.room[0], step.room[1]
    for panel in range(out.shape[0]):
        one, other = 0.0, 0.0
        for k in range(weights.size):
            one += weights[k] * step.spread[k, panel, 0]
            other += weights[k] * step.spread[k, panel, last]
        for j in range(powers.size):
            powers[j], grown[j] = math.exp(other * start.along[j]), math.expm1(other * start.along[j])
        first, second = start.conductivities[panel, 0], start.conductivities[panel, last]
        for i in range(out.shape[1]):
            at = start.across[i]
            power, more, rate = math.exp(one * at), math.expm1(one * at), first * at
            line, left, given = out[panel, i], decay[panel, i], start.given[panel, i]
            polynomial = start.polynomial[:, panel, i]
            constant = polynomial[0]
            for j in range(line.size):
                line[j] = given[j]
            for k in range(weights.size):
                combine(step.scaled[k, panel, i], weights[k], line)
            for j in range(line.size):
                left[j] = power * powers[j]
                whole = rate + second * start.along[j]
                integrated = (more + power * grown[j]) / whole if whole != 0.0 else time
                line[j] = left[j] * line[j] + integrated * constant[j]
            for j in range(line.size if len(polynomial) > 1 else 0):
                line[j] += _follow(time, rate + second * start.along[j], polynomial[:, j])


@kernel
def take_change(
    time: float, length: float, conductivities: Float, start: ModeStart, decay: Float, change: Float, scaled: Float
) -> None:
    """change, N of a stage with these conductivities so long after the start, loses `p L / L_n`, where p is constant,
    or p; scaled = e^{-E} of that, 0 in fast modes."""
    last = conductivities.shape[1] - 1
    for panel in range(change.shape[0]):
        first, second = conductivities[panel, 0], conductivities[panel, last]
        before, beside = start.conductivities[panel, 0], start.conductivities[panel, last]
        for i in range(change.shape[1]):
            now, then = first * start.across[i], before * start.across[i]
            line, out, left = change[panel, i], scaled[panel, i], decay[panel, i]
            polynomial, power = start.polynomial[:, panel, i], 1.0
            constant = polynomial[0]
            for k in range(1, len(polynomial)):
                power *= time
                combine(polynomial[k], -power, line)
            for j in range(line.size):
                rate = then + beside * start.along[j]
                share = (now + second * start.along[j]) / rate if rate != 0.0 else 1.0
                line[j] -= share * constant[j]
                out[j] = line[j] / left[j] if -length * rate <= start.slow else 0.0


@kernel
def conduct(strength: float, matrix: Float, inverse: Float, conductivities: Float, mixed: Float) -> None:
    """conductivities `(panels, d)` and mixed `(panels, d, d)` = `strength S^{-1} S^{-T}` on its diagonal and beside it;
    inverse is room for one S."""
    size = matrix.shape[1]
    for panel in range(matrix.shape[0]):
        invert(matrix[panel], inverse)
        for i in range(size):
            for j in range(size):
                total = 0.0
                for k in range(size):
                    total += inverse[i, k] * inverse[j, k]
                mixed[panel, i, j] = 0.0 if i == j else strength * total
                if i == j:
                    conductivities[panel, i] = strength * total


@kernel
def gain(across: Float, along: Float, out: Float) -> None:
    """out = what flows into cells less what flows out."""
    for panel in range(out.shape[0]):
        for i in range(out.shape[1]):
            line, flux, below, above = out[panel, i], along[panel, i], across[panel, i], across[panel, i + 1]
            left, right = flux[: line.size], flux[1:]
            for j in range(line.size):
                line[j] = (left[j] - right[j]) + (below[j] - above[j])


@kernel
def clear(density: Float, scale: Float, share: float, out: Float) -> None:
    """out = densities without what is below that share of each panel's peak, both in units of a scale."""
    for panel in range(out.shape[0]):
        peak = 0.0
        for i in range(out.shape[1]):
            u, unit, line = density[panel, i], scale[i], out[panel, i]
            for j in range(line.size):
                line[j] = max(u[j], 0.0) / unit[j]
            peak = max(peak, largest(line))
        for i in range(out.shape[1]):
            u, unit, line = density[panel, i], scale[i], out[panel, i]
            for j in range(line.size):
                floor = share * peak * unit[j]
                line[j] = 0.0 if u[j] < floor else u[j]


@kernel
def _continue_row(at: int, unit: Float, line: Float) -> None:
    """From a place on, in both directions."""
    for step in (-1, 1):
        j, ratio = at, 0.0
        while 0 <= j < line.size:
            g = unit[j] * unit[j]
            ratio = line[j] / g if line[j] > 0.0 else ratio
            line[j] = ratio * g
            j += step


@kernel
def continue_tails(scale: Float, out: Float) -> None:
    """Where densities have zeros, as much of g = scale^2 as next to there: in rows away from the peak, then in rows
    that have nothing else from those before."""
    for panel in range(out.shape[0]):
        values, peak, row = out[panel], 0.0, 0
        for i in range(values.shape[0]):
            most, at = 0.0, 0
            for j in range(values.shape[1]):
                if values[i, j] > most * scale[i, j]:
                    most, at = values[i, j] / scale[i, j], j
            if most > peak:
                peak, row = most, i
            _continue_row(at, scale[i], values[i])
        for step in (-1, 1):
            i = row + step
            while 0 <= i < values.shape[0]:
                if largest(values[i]) == 0.0:
                    for j in range(values.shape[1]):
                        fallen = scale[i, j] / scale[i - step, j]
                        values[i, j] = values[i - step, j] * fallen * fallen
                i += step
