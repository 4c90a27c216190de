"""The equation on cells of the line in compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mfpde.compilation import quick
from mfpde.solvers.finite_volume.compiled_system import CompiledSystem
from mfpde.solvers.finite_volume.frames import Frame
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.system import Scheme
from mfpde.solvers.kernels import line_steps as steps
from mfpde.solvers.kernels.cell_steps import StepTask
from mfpde.solvers.kernels.cells import Cells, Heads, Slopes, State
from mfpde.solvers.kernels.line_slope import LineRoom, line_room

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["LineSystem"]


_line_step = quick(steps.line_step)


class LineSystem(CompiledSystem):
    """Sums over pairs of equally spaced cells."""

    dimension = 1
    part_kernel = staticmethod(quick(steps.line_part))
    cells_max: ClassVar[int] = 4096  # beyond it sums over panels of Chebyshev points are faster than all pairs

    def __init__(self, equation: Equation, grid: Grid, frame: Frame, scheme: Scheme) -> None:
        super().__init__(equation, grid, frame, scheme)
        self._line_rooms: dict[tuple[int, int], LineRoom] = {}

    def _call(
        self, start: State, first: Slopes, task: StepTask, heads: Heads, cells: Cells, new: State, following: Slopes
    ) -> tuple[float, float]:
        room = self._step_room(task.nodes.size, start)
        line = self._room(len(start.mean))
        error, moved_by = _line_step(start, first, task, heads, cells, line, room, new, following)
        return float(error), float(moved_by)

    def _room(self, panels: int) -> LineRoom:
        """For so many panels of the present cells; nothing in it outlives a call."""
        key = panels, self.grid.cells[0]
        if key not in self._line_rooms:
            self._line_rooms[key] = line_room(*key)
        return self._line_rooms[key]

    def cost(self, panels: int) -> float:
        if not self._summed:
            return super().cost(panels)
        return 5.0 + 0.02 * panels * panels * self.grid.cells[0]
