"""One explicit Runge-Kutta step of finite volumes on the line in one compiled call (`stepping.py` specifies it)."""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cell_steps import StepRoom, StepTask, place, reach
from mfpde.solvers.kernels.cells import Cells, Heads, Slopes, State
from mfpde.solvers.kernels.line_slope import LineRoom, line_slope

__all__ = ["line_step"]


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
        line_slope(out.density, out.mean, out.matrix, heads, stage, cells, line, rates, stage == count)
    return error, moved_by
