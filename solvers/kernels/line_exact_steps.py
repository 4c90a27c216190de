"""One step of finite volumes on the line that integrates noise exactly, in one compiled call."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cells import Cells, Heads, Slopes, State
from mfpde.solvers.kernels.line_exact import (
    STAGES,
    ExactRoom,
    ExactTask,
    LineModes,
    begin_exact,
    judge_exact,
    reach_exact,
    take_exact,
)
from mfpde.solvers.kernels.line_forces import OUT_OF_RANGE, ForceRoom, LineForces, add_forces
from mfpde.solvers.kernels.line_slope import LineRoom, end_line_slope, line_slope
from mfpde.typing import Float

__all__ = ["line_exact_step", "line_force_exact_step"]


@kernel
def line_exact_step(
    start: State,
    first: Slopes,
    task: ExactTask,
    heads: Heads,
    cells: Cells,
    rooms: tuple[LineRoom, ExactRoom],
    modes: LineModes,
    new: State,
) -> tuple[float, float]:
    """new = the end of a step: its error in units of what is allowed, infinite where it leads nowhere, and the largest
    negative density (`judge_exact`). Heads have a row for the start and for each stage; densities do not spread."""
    line, room = rooms
    begin_exact(start, first, heads.noise[0], modes, cells, line, room)
    for number in range(task.followed.size + STAGES):
        if not reach_exact(start, task, number, modes, room):
            return np.inf, 0.0
        line_slope(room.stage, heads, number + 1, cells, line, room.rates, 0)
        take_exact(task, number, heads.noise[number + 1], modes, cells, line, room)
    return judge_exact(start, task, modes, room, new)


@kernel
def line_force_exact_step(
    start: State,
    first: Slopes,
    task: ExactTask,
    law: tuple[LineForces, Float],
    cells: Cells,
    rooms: tuple[LineRoom, ExactRoom, ForceRoom],
    modes: LineModes,
    new: State,
) -> tuple[float, float]:
    """The same by forces of interactions, and noise; the error is none (NaN) where these are out of range."""
    (forces, noise), (line, room, acting) = law, rooms
    begin_exact(start, first, noise[0], modes, cells, line, room)
    for number in range(task.followed.size + STAGES):
        if not reach_exact(start, task, number, modes, room):
            return np.inf, 0.0
        if not add_forces(room.stage, forces, cells, acting, room.rates.speeds):
            return OUT_OF_RANGE, 0.0
        end_line_slope(room.stage, noise, number + 1, cells, line, room.rates, 0)
        take_exact(task, number, noise[number + 1], modes, cells, line, room)
    return judge_exact(start, task, modes, room, new)
