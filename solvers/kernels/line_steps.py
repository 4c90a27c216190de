"""One explicit Runge-Kutta step of finite volumes on the line in one compiled call (`stepping.py` specifies it)."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cell_steps import StepRoom, StepTask, begin, judge, move
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
    if count > 0:
        begin(first, room)
    for stage in range(min(1, count), count + 1):
        last, out = stage == count, room.stage
        if last:
            out = new if count > 0 else start
        if count > 0:
            weights, share = (task.weights, 1.0) if last else (task.stages[stage], task.nodes[stage])
            moved_by = max(moved_by, move(start, first, weights, stage, share, task, cells, room, out))
            if moved_by == np.inf:
                return np.inf, moved_by
            error = judge(start, new, task, moved_by, cells, room) if last else 0.0
        if not error <= 1.0:
            break
        rates = following
        if not last:
            slopes = room.across[stage], room.along[stage], room.speeds, room.mean[stage], room.matrix[stage]
            rates = Slopes(*slopes, room.conductivity, room.told)
        line_slope(out.density, out.mean, out.matrix, heads, stage, cells, line, rates, last)
    return error, moved_by
