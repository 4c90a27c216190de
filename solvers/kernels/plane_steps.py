"""One explicit Runge-Kutta step of finite volumes on the plane in compiled code (`stepping.py` specifies it).

In one call, or in parts that threads share: the parts are the same functions, and so are the bits.
"""

from __future__ import annotations

from typing import NamedTuple

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cell_steps import StepRoom, StepTask, place, reach
from mfpde.solvers.kernels.cells import Cells, Heads, Slopes, State
from mfpde.solvers.kernels.plane_drift import sum_source
from mfpde.solvers.kernels.plane_slope import (
    PlaneRoom,
    begin_fluxes,
    begin_slope,
    begin_source,
    end_plane_slope,
    end_slope,
    flux_rows,
    join_block,
    move_frame,
    plane_slope,
)
from mfpde.typing import Float

__all__ = ["FLUXES", "FRAME", "JOIN", "MOVE", "PLAN", "SUM", "TELL", "WHOLE", "Part", "plane_part", "plane_step"]


# what a call does
WHOLE, MOVE, PLAN, SUM, JOIN, FRAME, FLUXES, TELL = range(8)


class Part(NamedTuple):
    """What a call does, at which stage, and of what: of a panel, a head, a source (of FLUXES whether they are those of
    the other order), and pieces from first to stop."""

    kind: int
    stage: int = 0
    panel: int = 0
    head: int = 0
    source: int = 0
    first: int = 0
    stop: int = 0


@kernel
def _part(part: Part, state: State, heads: Heads, cells: Cells, plane: PlaneRoom, rates: Slopes) -> float:
    """Do one part of a slope; of PLAN the number of pieces."""
    kind, stage, panel, head, source, first, stop = part
    density = state.density[panel]
    if kind == PLAN:
        return float(begin_source(panel, head, source, state, heads, stage, cells, plane))
    if kind == SUM:
        for piece in range(first, stop):
            sum_source(piece, source, cells, plane.drift, plane.work)
    elif kind == JOIN:
        for block in range(first, stop):
            join_block(block, head, source, state, heads, stage, cells, plane)
    elif kind == FRAME:
        move_frame(panel, plane.drift.drift, density, state.matrix[panel], heads.noise[stage], cells, plane, rates)
        begin_fluxes(panel, cells, plane, rates)
    elif kind == FLUXES:
        flux_rows(panel, source, first, stop, density, cells, plane, rates)
    else:
        end_slope(state, cells, plane, rates)
    return 0.0


@kernel
def plane_step(
    start: State,
    first: Slopes,
    task: StepTask,
    heads: Heads,
    cells: Cells,
    rooms: tuple[PlaneRoom, StepRoom],
    new: State,
    following: Slopes,
    part: Part,
) -> tuple[float, float]:
    """As `line_step`; or one part of it, of which the first number is what `_part` gives."""
    plane, room = rooms
    count, moved_by, error = task.weights.size, 0.0, 0.0
    if part.kind > MOVE:
        out, rates = place(start, task, part.stage, room, new, following)
        return _part(part, out, heads, cells, plane, rates), 0.0
    low, high = (part.stage, part.stage) if part.kind == MOVE else (min(1, count), count)
    for stage in range(low, high + 1):
        out, rates = place(start, task, stage, room, new, following)
        error, moved_by = reach(start, first, task, stage, moved_by, cells, room, new)
        if not error <= 1.0:
            break
        if part.kind == MOVE:
            begin_slope(out, cells, plane)
        else:
            plane_slope(out, heads, stage, cells, plane, rates, stage == count and cells.spreads)
    return error, moved_by


@kernel
def plane_part(
    start: State,
    first: Slopes,
    task: StepTask,
    noise: Float,
    at: tuple[int, float],
    cells: Cells,
    rooms: tuple[PlaneRoom, StepRoom],
    new: State,
    following: Slopes,
) -> tuple[float, float]:
    """As `line_part`."""
    plane, room = rooms
    stage, moved_by = at
    count = task.weights.size
    if stage > 0 or count == 0:
        out, rates = place(start, task, stage, room, new, following)
        end_plane_slope(out, noise, stage, cells, plane, rates, stage == count and cells.spreads)
    if stage == count:
        return 0.0, moved_by
    return reach(start, first, task, stage + 1, moved_by, cells, room, new)
