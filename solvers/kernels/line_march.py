"""Several explicit steps on the line in one compiled call: which step is next, whether it is taken, and when Python has
to look.

`control.StepControl` specifies the control. Whatever is to be watched ends a march at once, or is written down for each
step that is taken (`Taken`), so that Python adds it up as it does for single steps: a run has the same bits however it
is cut into calls.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cell_steps import StepTask
from mfpde.solvers.kernels.cells import Cells, Slopes, State
from mfpde.solvers.kernels.exponential_step import LAST_LENGTH, LENGTH, REJECTED, judge, next_end
from mfpde.solvers.steppers.rkc2 import STAGES_FACTOR
from mfpde.solvers.stepping.controller import SHORTEST_STEP, STILL_GROWING
from mfpde.solvers.stepping.pole import is_near, line_zero
from mfpde.typing import AnyArray, Float

__all__ = [
    "CROWDED",
    "DOUBTS_ALONE",
    "EDGE_MASS_MAX",
    "EXACT_CFL",
    "EXACT_FIRST",
    "GOES_ON",
    "LOOKED_AT",
    "MASS_ROUNDING",
    "RATES_ALONE",
    "RATES_UNKNOWN",
    "REACH_SHARE",
    "REGROWTH",
    "REGROWTH_REJECTED",
    "REGROWTH_SHARE",
    "SHARE_OF_CELLS",
    "STAGES_MAX",
    "STIFF_FIRST",
    "STIFF_RATIO",
    "UNKNOWN_GAIN",
    "WALL_FACTOR",
    "March",
    "Taken",
    "ends_march",
    "next_task",
    "settle",
]

GOES_ON, LOOKED_AT, CROWDED, RATES_UNKNOWN = 0, 1, 2, 3  # how a march goes on after a step that was tried
RATES_ALONE, DOUBTS_ALONE = -1, -2  # attempts of those that take no step

SHARE_OF_CELLS = 0.1  # of the error of the cells, that time steps may add
MASS_ROUNDING = 2e-15  # share of the mass that rounding may change in one step
EDGE_MASS_MAX = 1e-14  # share of the mass near an end, at which a box without walls grows
STIFF_RATIO = 5.0  # of the rates at which diffusion and transport empty cells, from which on rkc2 may pay
STAGES_MAX = 100  # of rkc2
REACH_SHARE = 0.3  # of their squared number, that as many stages reach at once
STIFF_FIRST = 4.0  # times what is stable for the other scheme: the first step of rkc2
# of the lengths of the schemes for noise, while another one takes steps: at most for each of them, the same after a
# rejection, when trials had been a tenth of the time, and over their time
REGROWTH, REGROWTH_REJECTED, REGROWTH_SHARE = 1.1, 1.03, 0.5
UNKNOWN_GAIN = 2.2  # of work per time, that the next step of rkc2 may bring while its steps grow as fast as they may
EXACT_FIRST = 4.0  # times what the other scheme of that order means to take: the first such step
EXACT_CFL = 10.0  # share of a cell that transport may take out in such a step; at 40 waves grow at the ends
WALL_FACTOR = 0.15  # times (G h / D)^2: error of a stationary density at a wall, measured for G h / D from 0.04 to 0.2
_BELOW = 0.999  # of the least price of other schemes, up to which that of the usual one is below it for sure
_BLOCK = 32  # cells whose sum is found first: rounding of sums stays below that of the mass in a step
_USUAL, _STIFF, _EXACT = 0, 1, 2  # rows of the controllers
_STEPS, _REJECTED, _LIMITED = 0, 1, 2  # places of the counts

_is_near, _line_zero = kernel(is_near), kernel(line_zero)


class March(NamedTuple):
    """What steps in one call depend on, and what is told of them. Without attempts there is one step, which is not
    judged here; with less than none there is none: all is told of rates, or what raises doubts."""

    target: float
    cfl: float
    work: float  # evaluations of a step
    error_order: int
    error_floor: float
    stiffness: float  # share of a cell that leaves it per unit time and conductivity, as stiff as its scheme makes it
    exact_work: float  # of a step that integrates noise exactly, in evaluations; infinite where there is none
    left: float  # share of the time of a pole, from which on it may be accepted
    narrow: float  # width of a peak in cells, from which on clusters may be too narrow
    wall_error: float  # of cosines, relative to the peak, from which on other modes may be sought
    roughness: float  # error of the cells per unit time at the start
    ring: int  # cells near an end
    attempts: int
    crowded: Float  # shares of the mass near both ends, from which on the box may have to grow
    clock: Float  # the time; that of the last 1/r of `PoleLine`, and this
    controllers: Float  # what each of them keeps: the usual one, that of stiff steps, that of exact ones
    counts: AnyArray  # steps, rejected, limited
    rows: Float  # `Taken` of each step


class Taken(NamedTuple):
    """A step that was taken: its length, where it ended, and what is told of the solution there."""

    length: float
    end: float
    roughness: float
    inverse_growth: float  # `diagnostics.inverse_growth`
    least: float  # frame
    largest: float
    at_walls: float  # `diagnostics.mass_at_walls`


@kernel
def _next_end(march: March, outflow: float, spreading: float) -> float:
    """The end of the next step; none (NaN) where it is too short, or another scheme may be cheaper per time: prices of
    theirs are at least those of their full lengths."""
    time, meant, target, emptying = march.clock[0], march.controllers[_USUAL, LENGTH], march.target, outflow + spreading
    stable = march.cfl / emptying
    end = next_end(time, min(meant, stable), target)
    if meant < SHORTEST_STEP * max(abs(time), min(target - time, 1.0)) or not end > time:
        return np.nan
    if meant <= stable:
        return end
    least, stiff, exact = np.inf, march.controllers[_STIFF], march.controllers[_EXACT, LENGTH]
    if spreading > STIFF_RATIO * outflow:
        reached = stiff[LENGTH] if stiff[LENGTH] > 0.0 else STIFF_FIRST * stable
        least = math.sqrt(2.0 * STAGES_FACTOR * emptying / min(reached, REACH_SHARE * STAGES_MAX**2 / emptying))
        if march.exact_work < np.inf and stiff[LENGTH] >= STILL_GROWING * stiff[LAST_LENGTH]:
            least /= UNKNOWN_GAIN
    reached = exact if exact > 0.0 else EXACT_FIRST * meant
    least = min(least, march.exact_work / min(reached, EXACT_CFL / outflow))
    return end if march.work < _BELOW * least * (end - time) else np.nan


@kernel
def next_task(march: March, rates: Slopes, taken: int, task: StepTask) -> tuple[float, StepTask]:
    """The end of the next step of a march that has taken so many, and what it is; no end (NaN) where Python has to plan
    it. Without a march that is the task."""
    if march.attempts <= 0:
        return 0.0, task
    outflow, spreading = rates.told[0], 0.0
    for panel in range(rates.conductivity.shape[0]):
        spreading = max(spreading, march.stiffness * rates.conductivity[panel, 0, 0])
    end = _next_end(march, outflow, spreading)
    length, roughness = end - march.clock[0], march.roughness if taken == 0 else rates.told[1]
    rough = max(task.tolerance, SHARE_OF_CELLS * length * roughness)
    tableau, frames = (task.nodes, task.stages, task.weights, task.errors), (task.tolerance, task.restores)
    return end, StepTask(*tableau, length, outflow + spreading, rough, *frames)


@kernel
def ends_march(march: March, taken: int, end: float, cells: Cells) -> int:
    """What is told of the rates at the end of a step after so many (`end_line_slope`)."""
    if not cells.spreads:
        return 0
    last = march.attempts > 0 and (taken + 1 == march.rows.shape[0] or not end < march.target)
    return 2 if last or march.attempts == RATES_ALONE else 1


@kernel
def _sum(density: Float) -> float:
    """Of the cells of all panels."""
    total = 0.0
    for panel in range(density.shape[0]):
        u = density[panel, 0]
        for begin in range(0, u.size, _BLOCK):
            part = 0.0
            for j in range(begin, min(begin + _BLOCK, u.size)):
                part += u[j]
            total += part
    return total


@kernel
def _leaves_the_box(before: State, after: State, width: float) -> bool:
    """Whether a step takes mass through open ends, as `FiniteVolumeIntegration` asks."""
    mass = _sum(after.density)
    lost, in_all = abs(mass / _sum(before.density) - 1.0), abs(mass * width - 1.0)
    return lost > MASS_ROUNDING and in_all > EDGE_MASS_MAX


@kernel
def _is_crowded(density: Float, march: March) -> bool:
    """Whether mass may have come near to an end."""
    total, n = _sum(density), density.shape[2]
    for end in range(2):
        here, begin = 0.0, 0 if end == 0 else n - march.ring
        for panel in range(density.shape[0]):
            for j in range(begin, begin + march.ring):
                here += density[panel, 0, j]
        if here > march.crowded[end] * total:
            return True
    return False


@kernel
def _at_walls(density: Float) -> float:
    """`diagnostics.mass_at_walls`."""
    found, n = 0.0, density.shape[2]
    for panel in range(density.shape[0]):
        u = density[panel, 0]
        found += abs(3.0 * u[1] - 2.0 * u[0] - u[2]) + abs(3.0 * u[n - 2] - 2.0 * u[n - 1] - u[n - 3])
    return found / (24.0 * _sum(density))


@kernel
def _wall_error(density: Float, rates: Slopes, width: float) -> float:
    """Of cosines (`NoiseSteps`), relative to the peak."""
    peak, missed, last = 0.0, 0.0, density.shape[2] - 1
    for panel in range(density.shape[0]):
        u, speed = density[panel, 0], rates.speeds[panel, 0, 0]
        scale = width / rates.conductivity[panel, 0, 0]
        for j in range(u.size):
            peak = max(peak, u[j])
        missed = max(missed, (speed[0] * scale) ** 2 * u[0], (speed[last] * scale) ** 2 * u[last])
    return WALL_FACTOR * missed / peak


@kernel
def _write_down(march: March, taken: int, end: float, state: State, rates: Slopes, cells: Cells) -> int:
    """A step that was taken, after so many; how the march goes on."""
    widest, least = 0, np.inf
    for panel in range(state.matrix.shape[0]):
        size = abs(state.matrix[panel, 0, 0])
        widest = panel if size > abs(state.matrix[widest, 0, 0]) else widest
        least = min(least, size)
    frame, change, inverse = state.matrix[widest, 0, 0], rates.matrix[widest, 0, 0], np.inf
    if frame * change > 0.0:
        inverse = 0.5 * frame / change
    row, clock, walls, width = march.rows[taken], march.clock, cells.walls, cells.widths[0]
    row[0], row[1], row[2], row[3] = end - clock[0], end, rates.told[1], inverse
    row[4], row[5], row[6] = least, abs(frame), _at_walls(state.density) if walls else 0.0
    pole = _line_zero(clock[1], clock[2], end, inverse)
    clock[0], clock[1], clock[2] = end, end, inverse
    if not walls and _is_crowded(state.density, march):
        return CROWDED
    if not end < march.target or taken + 1 == march.rows.shape[0]:
        return LOOKED_AT
    if rates.told[2] < march.narrow or _is_near(end, pole, march.left):
        return LOOKED_AT
    if march.wall_error < np.inf and _wall_error(state.density, rates, width) > march.wall_error:
        return LOOKED_AT
    return GOES_ON


@kernel
def _copy(source: Float, target: Float) -> None:
    """target = source."""
    values, out = source.reshape(source.size), target.reshape(target.size)
    for k in range(values.size):
        out[k] = values[k]


@kernel
def settle(march: March, taken: int, tried: tuple[float, float, float], alike: bool, start: State, first: Slopes,
           new: State, following: Slopes, cells: Cells) -> tuple[int, int]:  # fmt: skip
    """Judge a step of a march that has taken so many before: its end, its error and by how much it was limited. How the
    march goes on, and how many it has taken now.

    A step that compiled code cannot judge is left to Python (`LOOKED_AT`), as if it had not been tried; after one that
    is taken Python may have to look, or to find the rates (`RATES_UNKNOWN`): `alike` says whether it finds the same.
    """
    end, error, moved_by = tried
    if np.isnan(error) or (error < np.inf and not cells.walls and _leaves_the_box(start, new, cells.widths[0])):
        return LOOKED_AT, taken
    length = end - march.clock[0]
    accepted = judge(march.controllers[_USUAL], length, error, march.error_order, march.error_floor)
    march.counts[_LIMITED] += 1 if moved_by > 0.0 else 0
    march.counts[_STEPS if accepted else _REJECTED] += 1
    for other in range(_STIFF, _EXACT + 1):
        kept = march.controllers[other]
        growth = REGROWTH_REJECTED if kept[REJECTED] > 0.0 else REGROWTH
        kept[LENGTH] = min(growth * kept[LENGTH], kept[LENGTH] + REGROWTH_SHARE * length)
    if not accepted:
        return GOES_ON, taken
    speeds = 0.0
    for panel in range(following.speeds.shape[0]):
        for j in range(cells.axis.size):
            speeds += abs(following.speeds[panel, 0, 0, j])
    ended = _write_down(march, taken, end, new, following, cells)
    _copy(new.density, start.density)
    _copy(new.mean, start.mean)
    _copy(new.matrix, start.matrix)
    _copy(following.along, first.along)  # nothing flows across the only row
    _copy(following.speeds, first.speeds)
    _copy(following.mean, first.mean)
    _copy(following.matrix, first.matrix)
    _copy(following.conductivity, first.conductivity)
    _copy(following.told, first.told)
    return (ended if alike and speeds < np.inf else RATES_UNKNOWN), taken + 1
