"""One explicit Runge-Kutta step of finite volumes on the line in one compiled call (`stepping.py` specifies it)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.finite_volume_update import combine, limit, update
from mfpde.solvers.kernels.line_slope import (
    LineCells,
    LineHeads,
    LineRates,
    LineRoom,
    line_slope,
    low_fluxes,
)
from mfpde.typing import Float

__all__ = ["EULER_CFL", "LineState", "StepRoom", "StepTask", "line_step", "step_room"]

EULER_CFL = 0.9  # share of a cell that a first-order step may empty
_ORDER_THREE_WEIGHT = 0.1  # as in `steppers.base.combined_error`


class LineState(NamedTuple):
    """A solution: density `(panels, 1, n)`, mean `(panels, 1)`, matrix `(panels, 1, 1)`."""

    density: Float
    mean: Float
    matrix: Float


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


class StepRoom(NamedTuple):
    """What one call needs; nothing in it outlives one."""

    flux: Float  # of the stages, (stages, panels, 1, n + 1)
    mean: Float
    matrix: Float
    stage: LineState
    speeds: Float
    conductivity: Float
    total: Float  # (panels, 1, n + 1)
    low: Float  # of one panel, (1, n + 1)
    part: Float
    density: Float  # of one panel, (1, n)
    keep: Float
    still: Float  # fluxes across the only row, zeros (2, n)


def step_room(stages: int, panels: int, count: int) -> StepRoom:
    """Room for so many stages and panels of so many cells."""
    flux, cells = (panels, 1, count + 1), (panels, 1, count)
    return StepRoom(
        flux=np.zeros((stages, *flux)),
        mean=np.zeros((stages, panels, 1)),
        matrix=np.zeros((stages, panels, 1, 1)),
        stage=LineState(np.zeros(cells), np.zeros((panels, 1)), np.zeros((panels, 1, 1))),
        speeds=np.zeros((panels, 1, 1, count)),
        conductivity=np.zeros((panels, 1, 1)),
        total=np.zeros(flux),
        low=np.zeros((1, count + 1)),
        part=np.zeros((1, count + 1)),
        density=np.zeros((1, count)),
        keep=np.zeros((1, count)),
        still=np.zeros((2, count)),
    )


@kernel
def _combine(weights: Float, count: int, step: float, flux: Float, out: Float) -> None:
    """out = `step sum weights flux` over the first stages."""
    for panel in range(out.shape[0]):
        total = out[panel, 0]
        for face in range(total.size):
            total[face] = 0.0
        for stage in range(count):
            if weights[stage] != 0.0:
                combine(flux[stage, panel, 0], step * weights[stage], total)


@kernel
def _carry_low(
    before: Float, speed: Float, conductivity: float, steps: int, duration: float, cells: LineCells, room: StepRoom
) -> None:
    """room.low = what first-order fluxes of a panel carry in that time at the velocity of the start, in steps that keep
    its density positive."""
    u, part, low = room.density[0], room.part[0], room.low[0]
    for j in range(u.size):
        u[j] = before[j]
    for face in range(low.size):
        low[face] = 0.0
    for _ in range(steps):
        low_fluxes(u, speed, conductivity, cells, part)
        for face in range(low.size):
            part[face] *= duration / steps
            low[face] += part[face]
        update(room.density, room.still, room.part, room.density)


@kernel
def _move(
    start: LineState,
    first: LineRates,
    weights: Float,
    count: int,
    share: float,
    task: StepTask,
    cells: LineCells,
    room: StepRoom,
    out: LineState,
) -> float:
    """out = `start + step sum weights rates`, a solution at `share` of the step; what limiting has changed, relative to
    the peak, infinite where the solution is none."""
    moved_by, step = 0.0, task.step
    steps = max(1, math.ceil(share * step * task.emptying / EULER_CFL))
    _combine(weights, count, step, room.flux, room.total)
    for panel in range(start.density.shape[0]):
        before, new, flux = start.density[panel], out.density[panel], room.total[panel]
        if update(before, room.still, flux, new) < 0.0:
            speed, conductivity = first.speeds[panel, 0, 0], first.conductivity[panel, 0, 0]
            _carry_low(before[0], speed, conductivity, steps, share * step, cells, room)
            peak, change, unlimited = 0.0, 0.0, room.density
            for j in range(before.shape[1]):
                unlimited[0, j] = new[0, j]
                peak = max(peak, before[0, j])
            limit(before, room.still, flux, room.still, room.low, room.keep, new)
            for j in range(before.shape[1]):
                change = max(change, abs(new[0, j] - unlimited[0, j]))
            moved_by = max(moved_by, change / peak)
        mean, matrix = start.mean[panel, 0], start.matrix[panel, 0, 0]
        for stage in range(count):
            mean += step * weights[stage] * room.mean[stage, panel, 0]
            matrix += step * weights[stage] * room.matrix[stage, panel, 0, 0]
        out.mean[panel, 0], out.matrix[panel, 0, 0] = mean, matrix
        if not _sound(new, mean, matrix):
            return np.inf
    return moved_by


@kernel
def _sound(density: Float, mean: float, matrix: float) -> bool:
    """Finite, and no frame turned inside out."""
    total = 0.0
    for j in range(density.shape[1]):
        total += density[0, j]
    return math.isfinite(total) and math.isfinite(mean) and math.isfinite(matrix) and matrix != 0.0


@kernel
def _error(start: LineState, weights: Float, count: int, rough: float, task: StepTask, room: StepRoom) -> float:
    """Of `step sum weights rates`: of densities relative to the largest in units of `rough`, of frames in units of the
    tolerance."""
    _combine(weights, count, task.step, room.flux, room.total)
    size = 0.0
    for panel in range(start.density.shape[0]):
        density, flux, peak, change, mean, matrix = start.density[panel, 0], room.total[panel, 0], 0.0, 0.0, 0.0, 0.0
        whole = 0.0  # of flux: not finite where one is not
        for j in range(density.size):
            peak = max(peak, density[j])
            change = max(change, abs(flux[j + 1] - flux[j]))
            whole += flux[j]
        for stage in range(count):
            mean += task.step * weights[stage] * room.mean[stage, panel, 0]
            matrix += task.step * weights[stage] * room.matrix[stage, panel, 0, 0]
        frame = max(abs(mean), abs(matrix)) / abs(start.matrix[panel, 0, 0])
        size = max(size, change / (peak * rough), frame / task.tolerance)
        if not math.isfinite(change + whole + mean + matrix):
            return np.inf
    return size


@kernel
def line_step(
    start: LineState,
    first: LineRates,
    task: StepTask,
    heads: LineHeads,
    cells: LineCells,
    line: LineRoom,
    room: StepRoom,
    new: LineState,
) -> tuple[float, float]:
    """new = the end of the step; its error in units of what is allowed, and by how much it was limited."""
    panels, count, moved_by = start.density.shape[0], task.weights.size, 0.0
    for panel in range(panels):
        room.mean[0, panel, 0], room.matrix[0, panel, 0, 0] = first.mean[panel, 0], first.matrix[panel, 0, 0]
        for face in range(room.total.shape[2]):
            room.flux[0, panel, 0, face] = first.flux[panel, 0, face]
    for stage in range(1, count + 1):
        last = stage == count
        weights, share, out = (task.weights, 1.0, new) if last else (task.stages[stage], task.nodes[stage], room.stage)
        by = _move(start, first, weights, stage, share, task, cells, room, out)
        moved_by = max(moved_by, by)
        if by == np.inf:
            return np.inf, moved_by
        if not last:
            rates = LineRates(room.flux[stage], room.speeds, room.mean[stage], room.matrix[stage], room.conductivity)
            line_slope(out.density, out.mean, out.matrix, heads, stage, cells, line, rates)
    five, three = 0.0, 0.0
    for row in range(task.errors.shape[0]):
        error = _error(start, task.errors[row], count, max(task.rough, moved_by), task, room)
        five, three = (error, three) if row == 0 else (five, error)
    if task.errors.shape[0] == 1:
        return five, moved_by
    together = math.hypot(five, _ORDER_THREE_WEIGHT * three)
    return five * (five / together) if 0.0 < together < np.inf else together, moved_by
