"""What moves tokens on the line in compiled code: attention, or the forces of an interaction. There is a translation
for each, by which of them is None."""

from __future__ import annotations

from typing import NamedTuple

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cells import Cells, Heads, Slopes, State
from mfpde.solvers.kernels.line_forces import ForceRoom, LineForces, add_forces, fit_table
from mfpde.solvers.kernels.line_slope import LineRoom, end_line_slope, line_doubts, line_slope
from mfpde.typing import Float

__all__ = ["LineLaw", "found_alike", "law_doubts", "law_slope"]


class LineLaw(NamedTuple):
    """Heads or forces, and the strength of diffusion, `(stages,)`."""

    heads: Heads | None
    forces: LineForces | None
    noise: Float


@kernel
def law_slope(
    state: State,
    heads: Heads | None,
    forces: LineForces | None,
    noise: Float,
    here: tuple[int, int],
    cells: Cells,
    rooms: tuple[LineRoom, ForceRoom | None],
    rates: Slopes,
) -> bool:
    """rates = those of a solution by a law, at a stage, of which little, all or nothing is told (`end_line_slope`);
    without noise, not even 0, of the velocity that they have. False where forces are out of range."""
    (stage, told), (line, acting) = here, rooms
    if heads is not None:
        line_slope(state, heads, stage, cells, line, rates, told)
    if forces is not None and acting is not None:
        if noise.size > 0 and not add_forces(state, forces, cells, acting, rates.speeds):
            return False
        end_line_slope(state, noise, stage, cells, line, rates, told)
    return True


@kernel
def law_doubts(
    start: State,
    first: Slopes,
    length: float,
    heads: Heads | None,
    cells: Cells,
    line: LineRoom,
    changed: Float,
    drifts: tuple[Float, Float],
) -> tuple[float, float]:
    """`line_doubts` of attention; interactions look into no tails."""
    if heads is not None:
        return line_doubts(start, first, length, heads, cells, line, changed, drifts)
    return 0.0, 0.0


@kernel
def found_alike(state: State, forces: LineForces | None, cells: Cells) -> bool:
    """Whether tables made for a solution are these, where there are any."""
    if forces is not None:
        return fit_table(state, forces, cells)
    return True
