"""Explicit Runge-Kutta steps of finite volumes on the line in one compiled call (`stepping.py` specifies them)."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cell_steps import StepRoom, StepTask, place, reach
from mfpde.solvers.kernels.cells import Cells, Slopes, State
from mfpde.solvers.kernels.line_forces import OUT_OF_RANGE, ForceRoom
from mfpde.solvers.kernels.line_law import LineLaw, found_alike, law_doubts, law_slope
from mfpde.solvers.kernels.line_march import DOUBTS_ALONE, GOES_ON, March, ends_march, next_task, settle
from mfpde.solvers.kernels.line_slope import LineRoom, end_line_slope
from mfpde.typing import Float

__all__ = ["line_part", "line_steps"]


@kernel
def line_steps(
    start: State,
    first: Slopes,
    task: StepTask,
    law: LineLaw,
    cells: Cells,
    rooms: tuple[tuple[LineRoom, ForceRoom | None], StepRoom],
    new: State,
    following: Slopes,
    march: March,
) -> tuple[float, float]:
    """new = the end of a step, following = the rates there where it is accepted; its error in units of what is allowed,
    none (NaN) where forces are out of range, and by how much it was limited. With a tableau without stages following =
    the rates at the start, and for doubts alone the answer is what tails, and fluxes in the time of the step, do to
    drifts: compiled code of this size has one entrance.

    A march leaves in start and first where the last step that it has taken has led, and the rates there; it answers how
    it has ended (`settle`), and how many steps it has taken.
    """
    (heads, forces, noise), (summing, room) = law, rooms
    if march.attempts == DOUBTS_ALONE:
        drifts = room.speeds, following.speeds
        return law_doubts(start, first, task.step, heads, cells, summing[0], room.stage.density, drifts)
    count, error, moved_by, ended, taken = task.weights.size, 0.0, 0.0, GOES_ON, 0
    for _ in range(max(1, march.attempts)):
        end, step = next_task(march, first, taken, task)
        if not end < np.inf:
            break
        moved_by, told = 0.0, ends_march(march, taken, end, cells)
        for stage in range(min(1, count), count + 1):
            out, rates = place(start, step, stage, room, new, following)
            error, moved_by = reach(start, first, step, stage, moved_by, cells, room, new)
            if not error <= 1.0:
                break
            here = stage, (told if stage == count else 0)
            if not law_slope(out, heads, forces, noise, here, cells, summing, rates):
                error = OUT_OF_RANGE
                break
        if march.attempts <= 0:
            return error, moved_by
        alike = found_alike(new, forces, cells)
        ended, taken = settle(march, taken, (end, error, moved_by), alike, start, first, new, following, cells)
        if ended != GOES_ON:
            break
    return float(ended), float(taken)


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
    from the velocities in place of its speeds, then the move to the next stage. Answers as `line_steps` does."""
    line, room = rooms
    stage, moved_by = at
    count = task.weights.size
    if stage > 0 or count == 0:
        out, rates = place(start, task, stage, room, new, following)
        end_line_slope(out, noise, stage, cells, line, rates, 1 if stage == count and cells.spreads else 0)
    if stage == count:
        return 0.0, moved_by
    return reach(start, first, task, stage + 1, moved_by, cells, room, new)
