"""The equation on cells of the plane in compiled code."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from mfpde.compilation import quick
from mfpde.measure import GridDensity
from mfpde.solvers.finite_volume.compiled_system import CompiledSystem, interaction_of
from mfpde.solvers.finite_volume.frames import Frame
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.plane_forces import ForcesOfPlane
from mfpde.solvers.finite_volume.rates import Rates
from mfpde.solvers.finite_volume.scheme import Scheme
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.kernels import plane_steps as steps
from mfpde.solvers.kernels.cell_steps import StepTask
from mfpde.solvers.kernels.cells import Cells, Heads, Slopes, State
from mfpde.solvers.kernels.plane_drift import BLOCK_CELLS, PieceRoom, work_room
from mfpde.solvers.kernels.plane_fluxes import FluxRoom, flux_room
from mfpde.solvers.kernels.plane_slope import PlaneRoom, plane_room
from mfpde.solvers.kernels.plane_steps import Part
from mfpde.transform.threads import pieces, run_pieces, thread_count
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["PlaneSystem"]

_SHARED_CELLS = 8000  # of a panel, from which threads share sums and fluxes
_SUMS_PER_THREAD = 4  # calls: pieces take different times, and threads may be slowed down by others
_BLOCKS_PER_THREAD = 2  # calls: blocks of rows take the same time
_POSITIONS_MAX = 8  # on one lattice, of which compiled sums over each take less time than other sums over all
_Call: TypeAlias = Callable[..., tuple[float, float]]
_plane_step = quick(steps.plane_step)


class PlaneSystem(CompiledSystem):
    """Sums from lattice to lattice, by panels of tilts."""

    dimension = 2
    part_kernel = staticmethod(quick(steps.plane_part))
    cells_max: ClassVar[int] = 1024  # rooms of closures grow with it

    def __init__(self, equation: Equation, grid: Grid, frame: Frame, scheme: Scheme) -> None:
        super().__init__(equation, grid, frame, scheme)
        self._plane_rooms: tuple[Grid, dict[int, PlaneRoom]] = grid, {}
        self._spare: list[tuple[PieceRoom, FluxRoom]] = []  # of threads that have ended
        law = interaction_of(equation)
        self._forces = None if law is None else ForcesOfPlane(law, equation.geometry, frame.rests)

    @property
    def _summed(self) -> bool:
        # laws of many positions on one lattice are one law to a query: `GridDensity.up_to` adds them up
        one = self.frame.rests and self.scheme.positions is not None and self.scheme.positions.size > _POSITIONS_MAX
        return super()._summed and not one

    def drifts(self, time: float, state: Solution, nearby: Rates | None, out: Float) -> GridDensity | None:
        if self._forces is not None and self._forces.find(state, self.grid, out):
            return None
        return super().drifts(time, state, nearby, out)

    def _call(
        self, start: State, first: Slopes, task: StepTask, heads: Heads, cells: Cells, new: State, following: Slopes
    ) -> tuple[float, float]:
        room, plane = self._step_room(task.nodes.size, start), self._room(len(start.mean))

        def call(part: Part, plane: PlaneRoom = plane, task: StepTask = task) -> tuple[float, float]:
            rooms = plane, room
            answer, change = _plane_step(start, first, task, heads, cells, rooms, new, following, part)
            return float(answer), float(change)

        if heads.noise.size == 0 or start.density[0].size < _SHARED_CELLS or thread_count() == 1:
            return call(Part(steps.WHOLE))
        return self._by_parts(call, plane, task, heads, len(start.mean), told=cells.spreads)

    def _by_parts(
        self, call: _Call, plane: PlaneRoom, task: StepTask, heads: Heads, panels: int, *, told: bool
    ) -> tuple[float, float]:
        """The same, threads sharing sums and fluxes."""
        count, error, moved_by = task.weights.size, 0.0, 0.0
        blocks = -(-self.grid.shape[0] // max(1, BLOCK_CELLS // self.grid.shape[1]))
        for stage in range(min(1, count), count + 1):
            error, change = call(Part(steps.MOVE, stage), task=task._replace(rough=max(task.rough, moved_by)))
            moved_by = max(moved_by, change)
            if not error <= 1.0:
                break
            for panel in range(panels):
                for place in itertools.product([stage], [panel], range(heads.masked.size), range(panels)):
                    found = int(call(Part(steps.PLAN, *place))[0])
                    self._share(call, plane, Part(steps.SUM, *place), found, _SUMS_PER_THREAD)
                    self._share(call, plane, Part(steps.JOIN, *place), blocks, _BLOCKS_PER_THREAD)
                call(Part(steps.FRAME, stage, panel))
                for other in range(2 if stage == count and told else 1):
                    self._share(call, plane, Part(steps.FLUXES, stage, panel, 0, other), self.grid.shape[0], 1)
        if error <= 1.0 and told:
            call(Part(steps.TELL, count))
        return error, moved_by

    def _share(self, call: _Call, plane: PlaneRoom, part: Part, size: int, per_thread: int) -> None:
        """So much of a part, in so many calls for each thread."""
        stretches = pieces(size, max(1, -(-size // (per_thread * thread_count()))))

        def work(piece: int) -> None:
            room = self._spare.pop() if self._spare else (work_room(*self.grid.shape), flux_room(*self.grid.shape))
            first, stop = stretches[piece]
            call(part._replace(first=first, stop=stop), plane=plane._replace(work=room[0], flux=room[1]))
            self._spare.append(room)

        run_pieces(work, len(stretches))

    def _room(self, panels: int) -> PlaneRoom:
        """For so many panels of the present cells."""
        if self._plane_rooms[0] is not self.grid:
            self._plane_rooms, self._spare = (self.grid, {}), []
        rooms = self._plane_rooms[1]
        if panels not in rooms:
            rooms[panels] = plane_room(panels, *self.grid.shape, sums=self._summed)
        return rooms[panels]

    def cost(self, panels: int) -> float:
        if not self._summed:
            return super().cost(panels)
        cells = math.prod(self.grid.cells)
        return 50.0 + panels * (0.05 + 0.2 * panels) * cells
