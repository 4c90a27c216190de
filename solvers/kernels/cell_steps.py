"""Steps of explicit Runge-Kutta schemes on cells in compiled code (`stepping.py` specifies them): all but the rates."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cells import (
    MOMENTS,
    Cells,
    Slopes,
    State,
    Told,
    cell_moments,
    invert,
    low_fluxes,
)
from mfpde.solvers.kernels.finite_volume_update import combine, largest, limit, update
from mfpde.typing import Float

__all__ = ["EULER_CFL", "StepRoom", "StepTask", "place", "reach", "step_room"]

EULER_CFL = 0.9  # share of a cell that a first-order step may empty
_ORDER_THREE_WEIGHT = 0.1  # as in `steppers.base.combined_error`


class StepTask(NamedTuple):
    """A step: its tableau and length, the share of a cell that first-order fluxes take out per unit time, and what
    errors of the density and of the frame are measured in."""

    nodes: Float
    stages: Float
    weights: Float
    errors: Float
    step: float
    emptying: float
    rough: float
    tolerance: float
    restores: bool  # whether frames take back what limiting has done to means and variances


class StepRoom(NamedTuple):
    """What one call needs; nothing in it outlives one."""

    across: Float  # fluxes of the stages, (stages, panels, rows + 1, columns)
    along: Float
    mean: Float
    matrix: Float
    stage: State
    speeds: Float
    conductivity: Float
    told: Float
    total_across: Float  # (panels, rows + 1, columns)
    total_along: Float
    low_across: Float  # of one panel
    low_along: Float
    part_across: Float
    part_along: Float
    density: Float
    keep: Float
    moments: Float  # before and after a step
    small: Float  # (3, d, d)


def step_room(stages: int, state: State) -> StepRoom:
    """Room for so many stages of such a solution."""
    panels, rows, columns = state.density.shape
    across, along, size = (rows + 1, columns), (rows, columns + 1), state.mean.shape[1]
    return StepRoom(
        across=np.zeros((stages, panels, *across)),
        along=np.zeros((stages, panels, *along)),
        mean=np.zeros((stages, panels, size)),
        matrix=np.zeros((stages, panels, size, size)),
        stage=State(*(np.zeros_like(part) for part in state)),
        speeds=np.zeros((panels, size, rows, columns)),
        conductivity=np.zeros((panels, size, size)),
        told=np.zeros(len(Told._fields)),
        total_across=np.zeros((panels, *across)),
        total_along=np.zeros((panels, *along)),
        low_across=np.zeros(across),
        low_along=np.zeros(along),
        part_across=np.zeros(across),
        part_along=np.zeros(along),
        density=np.zeros((rows, columns)),
        keep=np.zeros((rows, columns)),
        moments=np.zeros((2, MOMENTS)),
        small=np.zeros((3, size, size)),
    )


@kernel
def _combine_one(weights: Float, count: int, step: float, flux: Float, out: Float) -> None:
    """out = `step sum weights flux` over the first stages."""
    for panel in range(out.shape[0]):
        for row in range(out.shape[1]):
            total = out[panel, row]
            for face in range(total.size):
                total[face] = 0.0
            for stage in range(count):
                if weights[stage] != 0.0:
                    combine(flux[stage, panel, row], step * weights[stage], total)


@kernel
def _combine(weights: Float, count: int, step: float, room: StepRoom) -> None:
    """The totals of the room; on the line nothing flows across the only row."""
    _combine_one(weights, count, step, room.along, room.total_along)
    if room.stage.mean.shape[1] == 2:
        _combine_one(weights, count, step, room.across, room.total_across)


@kernel
def _clear(low: Float) -> None:
    for i in range(low.shape[0]):
        line = low[i]
        for j in range(line.size):
            line[j] = 0.0


@kernel
def _take(part: Float, share: float, low: Float) -> None:
    """low += share part, and part is that much."""
    for i in range(part.shape[0]):
        here, total = part[i], low[i]
        for j in range(here.size):
            here[j] *= share
            total[j] += here[j]


@kernel
def _carry_low(
    before: Float, speeds: Float, conductivity: Float, steps: int, duration: float, cells: Cells, room: StepRoom
) -> None:
    """room.low = what first-order fluxes of a panel carry in that time at the velocity of the start, in steps that keep
    its density positive."""
    for i in range(before.shape[0]):
        u, line = room.density[i], before[i]
        for j in range(u.size):
            u[j] = line[j]
    _clear(room.low_across)
    _clear(room.low_along)
    for _ in range(steps):
        low_fluxes(room.density, speeds, conductivity, cells, room.part_across, room.part_along)
        _take(room.part_across, duration / steps, room.low_across)
        _take(room.part_along, duration / steps, room.low_along)
        update(room.density, room.part_across, room.part_along, room.density)


@kernel
def _limit(before: Float, across: Float, along: Float, room: StepRoom, new: Float) -> float:
    """Move fluxes towards the low ones; the change of the largest density, relative to the peak."""
    peak, change, unlimited = 0.0, 0.0, room.density
    for i in range(before.shape[0]):
        u, kept, line = before[i], unlimited[i], new[i]
        for j in range(u.size):
            kept[j] = line[j]
        peak = max(peak, largest(u))
    limit(before, across, along, room.low_across, room.low_along, room.keep, new)
    for i in range(before.shape[0]):
        kept, line = unlimited[i], new[i]
        for j in range(kept.size):
            kept[j] = abs(line[j] - kept[j])
        change = max(change, largest(kept))
    return change / peak


@kernel
def _sound(density: Float, mean: Float, matrix: Float) -> bool:
    """Finite, and no frame turned inside out."""
    total = 0.0
    for i in range(density.shape[0]):
        line = density[i]
        for j in range(line.size):
            total += line[j]
    for i in range(mean.size):
        total += mean[i]
        for j in range(mean.size):
            total += matrix[i, j]
    size = matrix[0, 0] if mean.size == 1 else matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0]
    return math.isfinite(total) and size != 0.0


@kernel
def _follow(weights: Float, count: int, step: float, panel: int, room: StepRoom, mean: Float, matrix: Float) -> None:
    """mean, matrix += `step sum weights rates` of a frame."""
    for stage in range(count):
        share = step * weights[stage]
        for i in range(mean.size):
            mean[i] += share * room.mean[stage, panel, i]
            for j in range(mean.size):
                matrix[i, j] += share * room.matrix[stage, panel, i, j]


@kernel
def _move(
    start: State,
    first: Slopes,
    weights: Float,
    count: int,
    share: float,
    task: StepTask,
    cells: Cells,
    room: StepRoom,
    out: State,
) -> float:
    """out = `start + step sum weights rates`, a solution at `share` of the step; what limiting has changed, relative to
    the peak, infinite where the solution is none."""
    moved_by, step = 0.0, task.step
    steps = max(1, math.ceil(share * step * task.emptying / EULER_CFL))
    _combine(weights, count, step, room)
    for panel in range(start.density.shape[0]):
        before, new, across, along = (
            start.density[panel],
            out.density[panel],
            room.total_across[panel],
            room.total_along[panel],
        )
        if update(before, across, along, new) < 0.0:
            _carry_low(before, first.speeds[panel], first.conductivity[panel], steps, share * step, cells, room)
            moved_by = max(moved_by, _limit(before, across, along, room, new))
        mean, matrix = out.mean[panel], out.matrix[panel]
        for i in range(mean.size):
            mean[i] = start.mean[panel, i]
            for j in range(mean.size):
                matrix[i, j] = start.matrix[panel, i, j]
        _follow(weights, count, step, panel, room, mean, matrix)
        if not _sound(new, mean, matrix):
            return np.inf
    return moved_by


@kernel
def _frame_error(frame: Float, mean: Float, matrix: Float, inverse: Float) -> float:
    """The largest entry of `S^{-1} (mean, matrix)`; not finite where one is not."""
    invert(frame, inverse)
    size, largest, whole = frame.shape[0], 0.0, 0.0
    for i in range(size):
        moved = 0.0
        for k in range(size):
            moved += inverse[i, k] * mean[k]
        largest, whole = max(largest, abs(moved)), whole + moved
        for j in range(size):
            wider = 0.0
            for k in range(size):
                wider += inverse[i, k] * matrix[k, j]
            largest, whole = max(largest, abs(wider)), whole + wider
    return largest if math.isfinite(whole) else np.inf


@kernel
def _error(start: State, weights: Float, count: int, rough: float, task: StepTask, room: StepRoom) -> float:
    """Of `step sum weights rates`: of densities relative to the largest in units of `rough`, of frames in units of the
    tolerance."""
    _combine(weights, count, task.step, room)
    size = 0.0
    for panel in range(start.density.shape[0]):
        density, across, along = start.density[panel], room.total_across[panel], room.total_along[panel]
        peak, change, whole = 0.0, 0.0, 0.0  # the last, the sum of fluxes, is not finite where one is not
        for i in range(density.shape[0]):
            u, flux, below, above = density[i], along[i], across[i], across[i + 1]
            left, right, changes = flux[: u.size], flux[1:], room.keep[i]
            for j in range(u.size):
                changes[j] = abs((above[j] - below[j]) + (right[j] - left[j]))
            peak, change = max(peak, largest(u)), max(change, largest(changes))
            for j in range(u.size):
                whole += flux[j] + above[j]
        mean, matrix, inverse = room.small[0, 0], room.small[1], room.small[2]
        for i in range(mean.size):
            mean[i] = 0.0
            for j in range(mean.size):
                matrix[i, j] = 0.0
        _follow(weights, count, task.step, panel, room, mean, matrix)
        frame = _frame_error(start.matrix[panel], mean, matrix, inverse)
        size = max(size, change / (peak * rough), frame / task.tolerance)
        if not math.isfinite(change + whole + frame):
            return np.inf
    return size


@kernel
def _root(moments: Float, out: Float) -> None:
    """out = the symmetric square root of a covariance, that across rows first."""
    if out.shape[0] == 1:
        out[0, 0] = math.sqrt(moments[3])
        return
    along, crossed, across = moments[3], moments[4], moments[5]
    root = math.sqrt(along * across - crossed * crossed)
    scale = 1.0 / math.sqrt(along + across + 2.0 * root)
    out[0, 0], out[1, 1] = scale * (across + root), scale * (along + root)
    out[0, 1] = out[1, 0] = scale * crossed


@kernel
def _restore(before: State, after: State, cells: Cells, room: StepRoom) -> None:
    """Mean and covariance of z are again those from before the step (`Moving.restored`)."""
    first, last, size = room.moments[0], room.moments[1], before.mean.shape[1]
    one, other, inverse = room.small[0], room.small[1], room.small[2]
    for panel in range(before.density.shape[0]):
        cell_moments(before.density[panel], cells.rows, cells.axis, first)
        cell_moments(after.density[panel], cells.rows, cells.axis, last)
        _root(first, one)
        _root(last, other)
        invert(other, inverse)
        frame, mean = after.matrix[panel], after.mean[panel]
        for i in range(size):  # other = frame root(before) root(after)^-1
            for j in range(size):
                total = 0.0
                for k in range(size):
                    for m in range(size):
                        total += frame[i, k] * one[k, m] * inverse[m, j]
                other[i, j] = total
        for i in range(size):
            for j in range(size):
                mean[i] += frame[i, j] * first[size - j] - other[i, j] * last[size - j]
        for i in range(size):
            for j in range(size):
                frame[i, j] = other[i, j]


@kernel
def _begin(first: Slopes, room: StepRoom) -> None:
    """The rates at the start are those of the first stage."""
    for panel in range(first.mean.shape[0]):
        for i in range(first.mean.shape[1]):
            room.mean[0, panel, i] = first.mean[panel, i]
            for j in range(first.mean.shape[1]):
                room.matrix[0, panel, i, j] = first.matrix[panel, i, j]
        for part in range(2):
            source, target = (first.across[panel], room.across[0, panel]) if part == 0 else (
                first.along[panel], room.along[0, panel])  # fmt: skip
            for i in range(source.shape[0]):
                line, out = source[i], target[i]
                for j in range(line.size):
                    out[j] = line[j]


@kernel
def _judge(start: State, new: State, task: StepTask, moved_by: float, cells: Cells, room: StepRoom) -> float:
    """The error of the step in units of what is allowed; where it is accepted frames are restored."""
    five, three = 0.0, 0.0
    for row in range(task.errors.shape[0]):
        error = _error(start, task.errors[row], task.weights.size, max(task.rough, moved_by), task, room)
        five, three = (error, three) if row == 0 else (five, error)
    if task.errors.shape[0] > 1:
        together = math.hypot(five, _ORDER_THREE_WEIGHT * three)
        five = five * (five / together) if 0.0 < together < np.inf else together
    if five <= 1.0 and task.restores:
        _restore(start, new, cells, room)
    return five


@kernel
def place(start: State, task: StepTask, stage: int, room: StepRoom, new: State, following: Slopes
          ) -> tuple[State, Slopes]:  # fmt: skip
    """Where the solution of a stage is, and its rates go; without stages that is the start."""
    count = task.weights.size
    if stage == count:
        return (new if count > 0 else start), following
    slopes = room.across[stage], room.along[stage], room.speeds, room.mean[stage], room.matrix[stage]
    return room.stage, Slopes(*slopes, room.conductivity, room.told)


@kernel
def reach(
    start: State, first: Slopes, task: StepTask, stage: int, moved_by: float, cells: Cells, room: StepRoom, new: State
) -> tuple[float, float]:
    """Move to a stage of a step that was limited by `moved_by` before: its error, known at the last stage, infinite
    where there is no solution, and by how much it is limited now."""
    count = task.weights.size
    if count == 0:
        return 0.0, moved_by
    if stage == 1:
        _begin(first, room)
    last = stage == count
    weights, share, out = (task.weights, 1.0, new) if last else (task.stages[stage], task.nodes[stage], room.stage)
    moved_by = max(moved_by, _move(start, first, weights, stage, share, task, cells, room, out))
    if moved_by == np.inf:
        return np.inf, moved_by
    return (_judge(start, new, task, moved_by, cells, room) if last else 0.0), moved_by
