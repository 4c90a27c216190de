"""One step of finite volumes on the line that integrates noise exactly, in one compiled call."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cells import Cells, Slopes, State
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
from mfpde.solvers.kernels.line_forces import OUT_OF_RANGE, ForceRoom
from mfpde.solvers.kernels.line_law import LineLaw, law_slope
from mfpde.solvers.kernels.line_slope import LineRoom

__all__ = ["line_exact_step"]


@kernel
def line_exact_step(
    start: State,
    first: Slopes,
    task: ExactTask,
    law: LineLaw,
    cells: Cells,
    rooms: tuple[tuple[LineRoom, ForceRoom | None], ExactRoom],
    modes: LineModes,
    new: State,
) -> tuple[float, float]:
    """new = the end of a step: its error in units of what is allowed, infinite where it leads nowhere, none (NaN) where
    forces are out of range, and the largest negative density (`judge_exact`). Laws have a row for the start and for
    each stage; densities do not spread."""
    (heads, forces, noise), (summing, room), line = law, rooms, rooms[0][0]
    begin_exact(start, first, noise[0], modes, cells, line, room)
    for number in range(task.followed.size + STAGES):
        if not reach_exact(start, task, number, modes, room):
            return np.inf, 0.0
        if not law_slope(room.stage, heads, forces, noise, (number + 1, 0), cells, summing, room.rates):
            return OUT_OF_RANGE, 0.0
        take_exact(task, number, noise[number + 1], modes, cells, line, room)
    return judge_exact(start, task, modes, room, new)
