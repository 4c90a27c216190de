"""The equation on cells of the line in compiled code."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from mfpde.compilation import quick
from mfpde.solvers.finite_volume.compiled_system import CompiledSystem, interaction_of
from mfpde.solvers.finite_volume.frames import Frame
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.line_forces import ForcesOfLine
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.system import Scheme
from mfpde.solvers.kernels import line_steps as steps
from mfpde.solvers.kernels.cell_steps import StepTask
from mfpde.solvers.kernels.cells import Cells, Heads, Slopes, State
from mfpde.solvers.kernels.line_forces import ForceRoom, LineForces, force_room
from mfpde.solvers.kernels.line_slope import LineRoom, line_room

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["LineSystem"]

_FORCE_CELLS_MAX = 1024  # of a panel: beyond it transforms are faster than sums between all cells
_line_step = quick(steps.line_step)
_line_force_step = quick(steps.line_force_step)


class LineSystem(CompiledSystem):
    """Sums over pairs of equally spaced cells."""

    dimension = 1
    part_kernel = staticmethod(quick(steps.line_part))
    cells_max: ClassVar[int] = 4096  # beyond it sums over panels of Chebyshev points are faster than all pairs

    def __init__(self, equation: Equation, grid: Grid, frame: Frame, scheme: Scheme) -> None:
        super().__init__(equation, grid, frame, scheme)
        self._line_rooms: dict[tuple[int, int], LineRoom] = {}
        self._force_rooms: dict[tuple[int, ...], ForceRoom] = {}
        law = interaction_of(equation)
        self._forces = None if law is None else ForcesOfLine(law, equation.geometry, frame.rests)

    @property
    def _summed(self) -> bool:
        return super()._summed or (self._forces is not None and self.grid.cells[0] <= _FORCE_CELLS_MAX)

    def _call(
        self, start: State, first: Slopes, task: StepTask, heads: Heads, cells: Cells, new: State, following: Slopes
    ) -> tuple[float, float]:
        room = self._step_room(task.nodes.size, start)
        line = self._room(len(start.mean))
        if self._forces is None:
            error, moved_by = _line_step(start, first, task, heads, cells, line, room, new, following)
            return float(error), float(moved_by)
        forces = self._forces.near(Solution(*start), self.grid)
        if forces is None:
            return math.nan, 0.0
        rooms = line, room, self._force_room(len(start.mean), forces)
        error, moved_by = _line_force_step(start, first, task, forces, heads.noise, cells, rooms, new, following)
        return float(error), float(moved_by)

    def _found_alike(self, one: Solution, other: Solution) -> bool:
        return self._forces is None or self._forces.near(one, self.grid) is self._forces.near(other, self.grid)

    def _room(self, panels: int) -> LineRoom:
        """For so many panels of the present cells; nothing in it outlives a call."""
        key = panels, self.grid.cells[0]
        if key not in self._line_rooms:
            self._line_rooms[key] = line_room(*key)
        return self._line_rooms[key]

    def _force_room(self, panels: int, forces: LineForces) -> ForceRoom:
        """Likewise, for these forces."""
        key = panels, self.grid.cells[0], forces.kinks.size
        if key not in self._force_rooms:
            self._force_rooms[key] = force_room(panels, self.grid.cells[0], forces)
        return self._force_rooms[key]

    def cost(self, panels: int) -> float:
        if not self._summed:
            return super().cost(panels)
        return 5.0 + 0.02 * panels * panels * self.grid.cells[0]
