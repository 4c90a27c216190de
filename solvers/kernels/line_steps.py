"""One explicit Runge-Kutta step of finite volumes on the line in one compiled call (`stepping.py` specifies it)."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cell_steps import StepRoom, StepTask, place, reach
from mfpde.solvers.kernels.cells import Cells, Heads, Slopes, State
from mfpde.solvers.kernels.line_forces import ForceRoom, LineForces, add_forces
from mfpde.solvers.kernels.line_slope import LineRoom, end_line_slope, line_slope
from mfpde.typing import Float

__all__ = ["line_force_step", "line_part", "line_step"]

_OUT_OF_RANGE = np.nan  # in place of an error: of forces that tables or room do not reach


@kernel
def line_step(
    start: State,
    first: Slopes,
    task: StepTask,
    heads: Heads,
    cells: Cells,
    line: LineRoom,
    room: StepRoom,
    new: State,
    following: Slopes,
) -> tuple[float, float]:
    """new = the end of the step, following = the rates there where it is accepted; its error in units of what is
    allowed, and by how much it was limited. With a tableau without stages following = the rates at the start: compiled
    code of this size has one entrance."""
    count, moved_by, error = task.weights.size, 0.0, 0.0
    for stage in range(min(1, count), count + 1):
        out, rates = place(start, task, stage, room, new, following)
        error, moved_by = reach(start, first, task, stage, moved_by, cells, room, new)
        if not error <= 1.0:
            break
        line_slope(out, heads, stage, cells, line, rates, stage == count and cells.spreads)
    return error, moved_by


@kernel
def line_force_step(
    start: State,
    first: Slopes,
    task: StepTask,
    forces: LineForces,
    noise: Float,
    cells: Cells,
    rooms: tuple[LineRoom, StepRoom, ForceRoom],
    new: State,
    following: Slopes,
) -> tuple[float, float]:
    """As `line_step`, by forces of interactions; the error is none (NaN) where these are out of range."""
    line, room, acting = rooms
    count, moved_by, error = task.weights.size, 0.0, 0.0
    for stage in range(min(1, count), count + 1):
        out, rates = place(start, task, stage, room, new, following)
        error, moved_by = reach(start, first, task, stage, moved_by, cells, room, new)
        if not error <= 1.0:
            break
        if noise.size > 0 and not add_forces(out, forces, cells, acting, rates.speeds):
            return _OUT_OF_RANGE, moved_by
        end_line_slope(out, noise, stage, cells, line, rates, stage == count and cells.spreads)
    return error, moved_by


@kernel
def line_part(
    start: State,
    first: Slopes,
    task: StepTask,
    noise: Float,
    at: tuple[int, float],
    cells: Cells,
    rooms: tuple[LineRoom, StepRoom],
    new: State,
    following: Slopes,
) -> tuple[float, float]:
    """The part of a step between two evaluations of velocities that compiled code does not know: the rates of a stage
    from the velocities in place of its speeds, then the move to the next stage. Answers as `line_step` does."""
    line, room = rooms
    stage, moved_by = at
    count = task.weights.size
    if stage > 0 or count == 0:
        out, rates = place(start, task, stage, room, new, following)
        end_line_slope(out, noise, stage, cells, line, rates, stage == count and cells.spreads)
    if stage == count:
        return 0.0, moved_by
    return reach(start, first, task, stage + 1, moved_by, cells, room, new)
