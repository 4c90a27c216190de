"""Compiled parts of one gif853 step (steppers/gif853.py) for a state of real and imaginary rows, `(2, modes)`, and a
real diagonal L <= 0.

The parts that know nothing of the right-hand side are here; who owns a right-hand side owns the loop over the stages.
"""

import math

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.steppers.gif853 import ERROR_FIVE, ERROR_THREE, NODES, STAGE_WEIGHTS, STAGES, WEIGHTS
from mfpde.solvers.stepping.controller import (
    GROWTH_MAX,
    MEANT,
    MOTION_SHARE,
    PATH_SHARE,
    SAFETY,
    SHRINKING_MAX,
    SLOWING_MAX,
    SLOWING_POWER,
    SPEEDING_POWER,
)
from mfpde.solvers.stepping.step_ends import ROUNDING
from mfpde.typing import Float

__all__ = [
    "LAST_LENGTH",
    "LENGTH",
    "REJECTED",
    "advance_stage",
    "allowed_error",
    "fill_table",
    "judge",
    "ladder_step",
    "nearest_rung",
    "next_end",
    "path_share",
    "scale_difference",
    "step_errors",
]

_LADDER = 8  # steps are powers of 2^(1/8): few different tables
# a controller's numbers
LENGTH, LAST_LENGTH, LAST_ERROR, REJECTED = range(4)

# what is summed at each stage, for the new state and for the two errors: weights, and the earlier stages with a weight,
# filled up to a multiple of four with ones that have none
ALL_WEIGHTS = np.zeros((STAGES + 3, STAGES + 1))
ALL_WEIGHTS[:STAGES, :STAGES] = STAGE_WEIGHTS
ALL_WEIGHTS[STAGES, :STAGES] = WEIGHTS
ALL_WEIGHTS[STAGES + 1], ALL_WEIGHTS[STAGES + 2] = ERROR_FIVE, ERROR_THREE
ALL_WEIGHTS[:, 0] = 0.0  # S_0 = 0
SOURCE_COUNTS = np.count_nonzero(ALL_WEIGHTS, axis=1)
SOURCES = np.zeros((STAGES + 3, 16), dtype=np.int64)
for _row, _count in enumerate(SOURCE_COUNTS):
    SOURCES[_row, :_count] = np.flatnonzero(ALL_WEIGHTS[_row])


@kernel
def ladder_step(step: float) -> float:
    """The largest power of 2^(1/8) that is not above `step`."""
    return 2.0 ** (math.floor(_LADDER * math.log2(step) * (1 + 1e-15)) / _LADDER)


@kernel
def nearest_rung(step: float) -> float:
    """The power of 2^(1/8) that is nearest to `step`, on a logarithmic scale."""
    return ladder_step(step * 2.0 ** (0.5 / _LADDER))


@kernel
def fill_table(table: Float, step: float, rates: Float, modes: int) -> None:
    """table[0] = e^{c_i hL}, table[1] = e^{-c_i hL}, table[2] = int_0^{c_i h} e^{sL} ds, with L = -rates."""
    for stage in range(STAGES):
        time = NODES[stage] * step
        for mode in range(modes):
            rate = rates[mode]
            table[0, stage, mode] = math.exp(-rate * time)
            table[1, stage, mode] = math.exp(rate * time)
            table[2, stage, mode] = -math.expm1(-rate * time) / rate if rate > 0.0 else time


@kernel
def _sum_sources(row: int, scaled: Float, modes: int, real: Float, imaginary: Float) -> None:
    """The weighted sum of a row's sources, four at a time and both parts at once to halve the traffic."""
    weights, sources = ALL_WEIGHTS[row], SOURCES[row]
    for group in range(0, max(SOURCE_COUNTS[row], 1), 4):
        first, second, third, fourth = sources[group], sources[group + 1], sources[group + 2], sources[group + 3]
        a, b, c, d = weights[first], weights[second], weights[third], weights[fourth]
        p, q, r, s = scaled[first, 0], scaled[second, 0], scaled[third, 0], scaled[fourth, 0]
        t, u, v, w = scaled[first, 1], scaled[second, 1], scaled[third, 1], scaled[fourth, 1]
        if group == 0:
            for mode in range(modes):
                real[mode] = (a * p[mode] + b * q[mode]) + (c * r[mode] + d * s[mode])
                imaginary[mode] = (a * t[mode] + b * u[mode]) + (c * v[mode] + d * w[mode])
        else:
            for mode in range(modes):
                real[mode] += (a * p[mode] + b * q[mode]) + (c * r[mode] + d * s[mode])
                imaginary[mode] += (a * t[mode] + b * u[mode]) + (c * v[mode] + d * w[mode])


@kernel
def advance_stage(
    stage: int,
    state: Float,
    start: Float,
    scaled: Float,
    table: Float,
    step: float,
    out: Float,
    offset: int,
    modes: int,
) -> None:
    """out = U_stage, written from column `offset` on; stage = STAGES is the new state."""
    row = STAGES - 1 if stage == STAGES else stage
    real, imaginary = out[0, offset : offset + modes], out[1, offset : offset + modes]
    _sum_sources(stage, scaled, modes, real, imaginary)
    decay, integral = table[0, row], table[2, row]
    state_real, state_imaginary, start_real, start_imaginary = state[0], state[1], start[0], start[1]
    for mode in range(modes):
        real[mode] = decay[mode] * (state_real[mode] + step * real[mode]) + integral[mode] * start_real[mode]
        imaginary[mode] = (
            decay[mode] * (state_imaginary[mode] + step * imaginary[mode]) + integral[mode] * start_imaginary[mode]
        )


@kernel
def scale_difference(stage: int, slope: Float, start: Float, scaled: Float, table: Float, modes: int) -> None:
    """scaled[stage] = e^{-c_i hL} (N(U_i) - N(u_n))."""
    growth = table[1, STAGES - 1 if stage == STAGES else stage]
    for part in range(2):
        for mode in range(modes):
            scaled[stage, part, mode] = growth[mode] * (slope[part, mode] - start[part, mode])


@kernel
def step_errors(scaled: Float, table: Float, step: float, errors: Float, modes: int) -> None:
    """errors[0], errors[1] = differences to the embedded solutions of order five and three."""
    decay = table[0, STAGES - 1]
    for which in range(2):
        real, imaginary = errors[which, 0], errors[which, 1]
        _sum_sources(STAGES + 1 + which, scaled, modes, real, imaginary)
        for mode in range(modes):
            real[mode] *= step * decay[mode]
            imaginary[mode] *= step * decay[mode]


@kernel
def allowed_error(largest: float, rounding: float, motion: float, share: float) -> float:
    """As `stepping.controller.allowed_error`."""
    return min(largest, max(rounding, min(MOTION_SHARE, share) * motion))


@kernel
def path_share(largest: float, slowing: float) -> float:
    """As `stepping.controller.path_share`."""
    bounded = min(max(slowing, 1.0 / SLOWING_MAX), SLOWING_MAX)
    power = SLOWING_POWER if bounded > 1.0 else SPEEDING_POWER
    return PATH_SHARE * largest * bounded**power


@kernel
def next_end(time: float, length: float, end: float) -> float:
    """As `stepping.step_ends.next_end`, for one end."""
    left = end - time
    if length >= left * (1.0 - ROUNDING):
        return end
    return time + (0.5 * left if 2.0 * length > left else length)


@kernel
def judge(controller: Float, length: float, error: float, error_order: int, floor: float) -> bool:
    """As `stepping.controller.Controller.judge`; `controller` are its numbers, errors below the floor no trend."""
    factor, accepted = _factor(controller, length, error, error_order, floor), error <= 1.0
    if controller[REJECTED] == 1.0 or not accepted:
        factor = min(factor, 1.0)
    proposed = length * factor
    cut = length < MEANT * controller[LENGTH]
    controller[LENGTH] = max(proposed, controller[LENGTH]) if accepted and cut else proposed
    controller[REJECTED] = 0.0 if accepted else 1.0
    if accepted:
        controller[LAST_LENGTH], controller[LAST_ERROR] = length, max(error, floor)
    return accepted


@kernel
def _factor(controller: Float, length: float, error: float, error_order: int, floor: float) -> float:
    if not math.isfinite(error):
        return SHRINKING_MAX
    if error == 0.0:
        return GROWTH_MAX
    power = 1.0 / error_order
    wanted = SAFETY * error**-power
    if controller[LAST_LENGTH] > 0.0 and error <= 1.0:
        seen = max(error, floor)
        trend = length / controller[LAST_LENGTH] * (controller[LAST_ERROR] / seen) ** power
        wanted = min(wanted, SAFETY * seen**-power * trend)
    return min(max(wanted, SHRINKING_MAX), GROWTH_MAX)
