"""The compiled time loop of one row of modes, on the circle or about an axis of a sphere: adaptive gif853 steps, modes
added and removed as the solution needs them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mfpde.compilation import kernel
from mfpde.solvers.kernels.axis_slope import quotient_slope, series_slope
from mfpde.solvers.kernels.degree_sizes import LASTING_WEIGHT
from mfpde.solvers.kernels.exponential_step import (
    LENGTH,
    advance_stage,
    allowed_error,
    fill_table,
    judge,
    ladder_step,
    nearest_rung,
    next_end,
    scale_difference,
    step_errors,
)
from mfpde.solvers.kernels.fast_fourier import copy_rows
from mfpde.solvers.kernels.zonal_slope import GridRoom, convolution_slope, drift_mode_count, grid_slope, keep_symmetry
from mfpde.solvers.steppers.gif853 import LARGEST_DECAY, ORDER, STAGES
from mfpde.solvers.stepping.controller import ERROR_FLOOR, MOTION_SHARE, SHORTEST_STEP
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.solvers.kernels.circle_work import Work

__all__ = ["LENGTH", "advance", "restart_slope"]

# what `advance` returns
REACHED, UNDER_WAY, MODES_CHANGED, GRID_TOO_COARSE, RESOLUTION_LOST, STEP_VANISHED = range(6)
# columns of `numbers`: a controller's, and others, of which the last is of the latest slope alone
CONTROLLER = 4
TIME, LAST_TAIL, SPILL = range(CONTROLLER, 7)
# columns of `counts`; from SLOT on they follow from the state, or do not matter
MODES, STEPS, REJECTED, EVALUATIONS, SINCE_CHANGE, SLOT, DRIFT_MODES, NEXT_DRIFT_MODES = range(8)
# columns of `limits`
TOLERANCE, TRUNCATION, CUT, BOUND, FLOOR, LOST, ROUNDING = range(7)
# columns of `choices`
MOST_MODES, DIRECT, EVEN, PERIOD, WINDOW, ABOUT_AXIS = range(6)

_MODES_MIN = _MODES_RUNG = 8  # of one register: fewer cost no less
_POINTS_PER_MODE = 32  # on a great circle, above which products are made on no finer grid
_STEPS_BETWEEN_REDUCTIONS = 24  # accepted steps between a change of the number of modes and the next reduction
#: accepted steps after which a call of `advance` ends, so that the caller can see whether anything moves still
STEPS_BETWEEN_LOOKS = 256


@kernel
def evaluate_slope(
    work: Work, numbers: Float, counts: AnyArray, limits: Float, choices: AnyArray, slope: Float, looks: bool
) -> None:
    """slope = N(padded state); numbers[SPILL] becomes what the grid could not hold (0 for convolutions), as far as it
    `looks`."""
    modes = counts[MODES]
    if choices[ABOUT_AXIS] == 1:
        _axis_slope(work, numbers, counts, limits, slope, looks)
    elif choices[DIRECT] >= modes * min(modes, work.potential.shape[1]):
        convolution_slope(
            work.padded, work.offset, work.potential, work.external, modes, counts[DRIFT_MODES], work.drift, slope
        )
        numbers[SPILL] = 0.0
    else:
        numbers[SPILL] = grid_slope(
            work.padded,
            work.offset,
            work.potential,
            work.normaliser,
            work.external,
            limits[BOUND],
            modes,
            GridRoom(work.density, work.speed, work.scratch, work.roots),
            slope,
        )
    keep_symmetry(slope, modes, choices[EVEN] == 1, choices[PERIOD])
    counts[EVALUATIONS] += 1


@kernel
def _axis_slope(work: Work, numbers: Float, counts: AnyArray, limits: Float, slope: Float, looks: bool) -> None:
    """The same about an axis."""
    modes, coefficients = counts[MODES], work.padded[0, work.offset :]
    if work.normaliser.size == 0:
        series_slope(work.axis, coefficients, work.potential[0], counts[DRIFT_MODES], modes, slope)
        numbers[SPILL] = 0.0
    else:
        spill = quotient_slope(
            work.axis, coefficients, work.potential[0], work.normaliser, limits[BOUND], modes, looks, slope
        )
        total, largest = 0.5, 1.0
        for mode in range(1, modes):
            size = abs(coefficients[mode])
            total, largest = total + work.peaks[mode] * size, max(largest, size)
        numbers[SPILL] = work.peaks[modes - 1] * max(spill - work.rounding * largest, 0.0) / total


@kernel
def find_drift_modes(work: Work, counts: AnyArray, limits: Float) -> None:
    """How many modes of the drift matter in the padded state, kept for a whole step."""
    count = drift_mode_count(work.padded, work.offset, work.pulls, counts[MODES], limits[CUT])
    counts[DRIFT_MODES] = max(count, work.external.shape[1])


@kernel
def _find_table(work: Work, counts: AnyArray, step: float) -> int:
    """Index of the table for this step, made if need be: tables depend on nothing but the step."""
    for slot in range(work.table_steps.size):
        if work.table_steps[slot] == step and work.table_modes[slot] >= counts[MODES]:
            return slot
    slot = counts[SLOT] % work.table_steps.size
    counts[SLOT] += 1
    fill_table(work.tables[slot], step, work.rates, counts[MODES])
    work.table_steps[slot] = step
    work.table_modes[slot] = counts[MODES]
    return slot


@kernel
def _sizes(values: Float, offset: int, modes: int, sizes: Float) -> None:
    """|Re| + |Im| of every mode: between the modulus and 1.42 times it, and without roots."""
    real, imaginary = values[0, offset : offset + modes], values[1, offset : offset + modes]
    for mode in range(modes):
        sizes[mode] = abs(real[mode]) + abs(imaginary[mode])


@kernel
def _noise(sizes: Float, rounding: float, modes: int) -> float:
    """What rounding leaves of every mode: peaks of many dimensions would make errors of it."""
    largest = 1.0
    for mode in range(1, modes):
        largest = max(largest, sizes[mode])
    return rounding * largest


@kernel
def _error_size(error: Float, work: Work, modes: int, floor: float, steps: float) -> float:
    """Bounds of max|error| / max(density) and of int |error|, and the relative error of every mode that can grow or
    hardly decays.

    Errors of these modes last, so each step may have its share of them: they count times the steps so far.
    The floor of that is relative to all modes together, since their rounding is: next to the uniform state velocities
    are small, and products with the density keep their digits.
    """
    sizes, here, peaks = work.error_sizes, work.state_sizes, work.peaks
    _sizes(error, 0, modes, sizes)
    noise = _noise(here, work.rounding, modes)
    excited, error_total, error_square, relative = 0.0, 0.0, 0.0, 0.0
    for mode in range(1, modes):
        excited += peaks[mode] * here[mode]
        error_total += peaks[mode] * max(sizes[mode] - noise, 0.0)
        error_square += sizes[mode] * sizes[mode]
    if excited > 0.0:
        weight = max(1.0, min(steps, LASTING_WEIGHT / excited))
        floor *= min(1.0, excited) * weight
        for mode in range(1, min(work.watched, modes)):
            relative = max(relative, weight * sizes[mode] / (here[mode] + floor * peaks[mode]))
    return max(error_total / (0.5 + excited), math.sqrt(work.copies * error_square), relative)


@kernel
def _attempt(
    state: Float, work: Work, numbers: Float, counts: AnyArray, limits: Float, choices: AnyArray, step: float
) -> float:
    """One step: the new state in work.padded, its N in work.slope; returns the error relative to what is allowed."""
    modes = counts[MODES]
    table = work.tables[_find_table(work, counts, step)]
    kept = counts[DRIFT_MODES]
    for stage in range(1, STAGES + 1):
        advance_stage(stage, state, work.start, work.scaled, table, step, work.padded, work.offset, modes)
        if stage == STAGES:  # the state that the next step starts from
            find_drift_modes(work, counts, limits)
        evaluate_slope(work, numbers, counts, limits, choices, work.slope, stage == STAGES)
        scale_difference(stage, work.slope, work.start, work.scaled, table, modes)
    counts[NEXT_DRIFT_MODES], counts[DRIFT_MODES] = counts[DRIFT_MODES], kept  # a rejected state must leave no trace
    step_errors(work.scaled, table, step, work.errors, modes)
    _sizes(work.padded, work.offset, modes, work.state_sizes)
    steps = float(counts[STEPS])
    five = _error_size(work.errors[0], work, modes, limits[FLOOR], steps)
    three = _error_size(work.errors[1], work, modes, limits[FLOOR], steps)
    if five == 0.0:
        return 0.0
    ratio = three / five  # never their squares, which underflow
    return five / math.sqrt(1.0 + 0.01 * ratio * ratio) / _allowed(state, work, modes, limits, steps)


@kernel
def _allowed(state: Float, work: Work, modes: int, limits: Float, steps: float) -> float:
    """The error that the attempted step may have, as `Limits.allowed`."""
    moved = work.errors[0]
    for part in range(2):
        before, after = state[part], work.padded[part, work.offset : work.offset + modes]
        for mode in range(modes):
            moved[part, mode] = after[mode] - before[mode]
    motion = _error_size(moved, work, modes, limits[FLOOR], steps)
    return allowed_error(limits[TOLERANCE], limits[ROUNDING], motion, MOTION_SHARE)


@kernel
def _window(modes: int, choices: AnyArray) -> int:
    """How many of the last modes tell whether there are enough: clusters side by side leave gaps in the spectrum."""
    return max(2, min(modes // 8, choices[WINDOW]))


@kernel
def _tail(work: Work, first: int, last: int) -> float:
    """Largest mode in [first, last), relative to the sum of all below it."""
    sizes, peaks, total, tail = work.state_sizes, work.peaks, 0.5, 0.0
    noise = _noise(sizes, work.rounding, last)
    for mode in range(1, first):
        total += peaks[mode] * sizes[mode]
    for mode in range(first, last):
        tail = max(tail, peaks[mode] * (sizes[mode] - noise))
    return tail / total


@kernel
def _choose_step(numbers: Float, rate: float, target: float) -> tuple[float, float]:
    """Length and end of the next step, on the ladder and bounded by the fastest decay where the target lets it."""
    length = numbers[LENGTH]
    if rate > 0.0:
        length = min(length, LARGEST_DECAY / rate)
    length = ladder_step(length)
    end = next_end(numbers[TIME], length, target)
    return (length if end == numbers[TIME] + length else end - numbers[TIME]), end


@kernel
def _accept(state: Float, work: Work, numbers: Float, counts: AnyArray, end: float) -> None:
    modes = counts[MODES]
    copy_rows(work.padded, work.offset, state, 0, modes)
    copy_rows(work.slope, 0, work.start, 0, modes)
    numbers[TIME] = end
    counts[STEPS] += 1
    counts[SINCE_CHANGE] += 1
    counts[DRIFT_MODES] = counts[NEXT_DRIFT_MODES]


@kernel
def _can_drop(state: Float, work: Work, counts: AnyArray, limits: Float, choices: AnyArray) -> bool:
    """Whether the last eighth of the modes is far below what matters, not too soon after the last change."""
    modes = counts[MODES]
    fewer = 7 * modes // 8 // _MODES_RUNG * _MODES_RUNG
    if counts[SINCE_CHANGE] < _STEPS_BETWEEN_REDUCTIONS or fewer < _MODES_MIN or fewer >= modes:
        return False
    counts[SINCE_CHANGE] = 0
    if _tail(work, fewer - _window(fewer, choices), modes) > 0.1 * limits[TRUNCATION]:
        return False
    state[:, fewer:] = 0.0
    counts[MODES] = fewer
    return True


@kernel
def _can_show(work: Work, numbers: Float, counts: AnyArray, limits: Float, choices: AnyArray) -> int:
    """REACHED if the modes and the grid hold the attempted state, otherwise what must change (the number of modes is
    raised here)."""
    modes = counts[MODES]
    tail = _tail(work, modes - _window(modes, choices), modes)
    before = numbers[LAST_TAIL]
    numbers[LAST_TAIL] = tail
    if tail > limits[TRUNCATION] and modes < choices[MOST_MODES]:
        counts[MODES] = min((9 * modes // 8 + _MODES_RUNG) // _MODES_RUNG * _MODES_RUNG, choices[MOST_MODES])
        counts[SINCE_CHANGE] = 0
        return MODES_CHANGED
    if tail > limits[LOST] and tail >= before:  # rough data under noise start above the limit and sink
        return RESOLUTION_LOST
    if numbers[SPILL] > limits[TRUNCATION] and work.points < _POINTS_PER_MODE * modes:
        return GRID_TOO_COARSE
    return REACHED


@kernel
def advance(
    state: Float,
    work: Work,
    numbers: Float,
    counts: AnyArray,
    limits: Float,
    choices: AnyArray,
    target: float,
    budget: int,
) -> int:
    """Step to `target` with at most `budget` attempts, not beyond the next multiple of STEPS_BETWEEN_LOOKS. Everything
    that lasts is in state, numbers (before SPILL) and counts (before SLOT): what a resume restores.

    After MODES_CHANGED or GRID_TOO_COARSE the caller makes room and calls `restart_slope`.
    """
    for _ in range(budget):
        if numbers[TIME] >= target:
            return REACHED
        step, end = _choose_step(numbers, work.rates[counts[MODES] - 1], target)
        if not step > SHORTEST_STEP * numbers[TIME]:
            return STEP_VANISHED
        error = _attempt(state, work, numbers, counts, limits, choices, step)
        if error <= 1.0:
            verdict = _can_show(work, numbers, counts, limits, choices)
            if verdict != REACHED:
                counts[REJECTED] += 1
                return verdict
        accepted = judge(numbers[:CONTROLLER], step, error, ORDER, ERROR_FLOOR)
        numbers[LENGTH] = nearest_rung(numbers[LENGTH])
        if not accepted:
            counts[REJECTED] += 1
            continue
        _accept(state, work, numbers, counts, end)
        if _can_drop(state, work, counts, limits, choices):
            return MODES_CHANGED
        if counts[STEPS] % STEPS_BETWEEN_LOOKS == 0:
            break
    return REACHED if numbers[TIME] >= target else UNDER_WAY


@kernel
def restart_slope(state: Float, work: Work, numbers: Float, counts: AnyArray, limits: Float, choices: AnyArray) -> None:
    """work.start = N(state), needed whenever the state or the number of its modes was changed from outside a step."""
    modes = counts[MODES]
    copy_rows(state, 0, work.padded, work.offset, modes)
    find_drift_modes(work, counts, limits)
    evaluate_slope(work, numbers, counts, limits, choices, work.start, True)
