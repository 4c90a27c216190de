"""The equation on cells of the line in compiled code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.compilation import quick
from mfpde.solvers.finite_volume.compiled_system import (
    NO_STEP,
    CompiledSystem,
    ToldRates,
    arrays_of,
    interaction_of,
)
from mfpde.solvers.finite_volume.control import ERROR_FLOOR, Plan, StepControl
from mfpde.solvers.finite_volume.diagnostics import Faults
from mfpde.solvers.finite_volume.frames import Frame
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.line_forces import ForcesOfLine
from mfpde.solvers.finite_volume.marching import LEFT_OF_POLE, NARROW, Ahead, Marched
from mfpde.solvers.finite_volume.modes import Modes
from mfpde.solvers.finite_volume.rates import Rates
from mfpde.solvers.finite_volume.scheme import Scheme
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.stepping import Start
from mfpde.solvers.kernels import line_exact_steps as exact
from mfpde.solvers.kernels import line_steps as steps
from mfpde.solvers.kernels.cell_steps import StepTask
from mfpde.solvers.kernels.cells import Cells, Heads, Slopes, State
from mfpde.solvers.kernels.line_exact import ExactRoom, ExactTask, exact_room
from mfpde.solvers.kernels.line_forces import ForceRoom, LineForces, force_room
from mfpde.solvers.kernels.line_law import LineLaw
from mfpde.solvers.kernels.line_march import CROWDED, DOUBTS_ALONE, RATES_ALONE, RATES_UNKNOWN, March, Taken
from mfpde.solvers.kernels.line_slope import RESIDUAL, LineRoom, line_room
from mfpde.solvers.steppers.gif853 import NODES
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["LineSystem"]

_FORCE_CELLS_MAX = 1024  # of a panel: beyond it transforms are faster than sums between all cells
# one for each form of a law
_line_steps, _line_force_steps = quick(steps.line_steps), quick(steps.line_steps)
_line_exact_step, _line_force_exact_step = quick(exact.line_exact_step), quick(exact.line_exact_step)
# the arrays of a march that takes no steps
_NO_NUMBERS = np.zeros(0), np.zeros(0), np.zeros((0, 0)), np.zeros(0, dtype=np.int64), np.zeros((0, 0))
_ONE_STEP = March(0.0, 0.0, 0.0, 1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, *_NO_NUMBERS)
_RATES_ALONE = _ONE_STEP._replace(attempts=RATES_ALONE)
_DOUBTS_ALONE = _ONE_STEP._replace(attempts=DOUBTS_ALONE)


class LineSystem(CompiledSystem):
    """Sums over pairs of equally spaced cells."""

    dimension = 1
    part_kernel = staticmethod(quick(steps.line_part))
    cells_max: ClassVar[int] = 4096  # beyond it sums over panels of Chebyshev points are faster than all pairs

    def __init__(self, equation: Equation, grid: Grid, frame: Frame, scheme: Scheme) -> None:
        super().__init__(equation, grid, frame, scheme)
        self._line_rooms: dict[tuple[int, int], LineRoom] = {}
        self._force_rooms: dict[tuple[int, ...], ForceRoom] = {}
        self._march_rooms: dict[tuple[int, int], tuple[State, Slopes]] = {}
        self._exact_rooms: dict[tuple[int, int], ExactRoom] = {}
        self._stiff: tuple[Grid, float] | None = None
        law = interaction_of(equation)
        self._forces = None if law is None else ForcesOfLine(law, equation.geometry, frame.rests)

    @property
    def _summed(self) -> bool:
        return super()._summed or (self._forces is not None and self.grid.cells[0] <= _FORCE_CELLS_MAX)

    def _call(
        self,
        start: State,
        first: Slopes,
        task: StepTask,
        heads: Heads,
        cells: Cells,
        new: State,
        following: Slopes,
        march: March = _ONE_STEP,
    ) -> tuple[float, float]:
        """Also for a march: how it has ended, and how many steps it has taken."""
        found = self._law(start, heads)
        if found is None:
            return math.nan, 0.0
        (law, summing), call = found, _line_steps if self._forces is None else _line_force_steps
        rooms = summing, self._step_room(task.nodes.size, start)
        error, moved_by = call(start, first, task, law, cells, rooms, new, following, march)
        return float(error), float(moved_by)

    def _law(self, state: State, heads: Heads) -> tuple[LineLaw, tuple[LineRoom, ForceRoom | None]] | None:
        """What moves tokens about there, with its rooms; None where W has no table."""
        panels = len(state.mean)
        if self._forces is None:
            return LineLaw(heads, None, heads.noise), (self._room(panels), None)
        forces = self._forces.near(Solution(*state), self.grid)
        if forces is None:
            return None
        return LineLaw(None, forces, heads.noise), (self._room(panels), self._force_room(panels, forces))

    def march(self, start: Start, control: StepControl, ahead: Ahead) -> Marched | None:
        if not (self._constant and self._summed):
            return None
        state, first = State(*(part.copy() for part in start.solution)), self._arrays(start.rates, copied=True)
        new, following = self._march_room(start.solution)
        stepper, kept = control.stepper, control.arrays()
        march = March(
            target=ahead.target,
            cfl=control.cfl,
            work=float(stepper.tableau.weights.size),
            error_order=stepper.error_order,
            error_floor=ERROR_FLOOR,
            stiffness=self._stiffness if self.noisy else 0.0,
            exact_work=ahead.exact_work,
            left=LEFT_OF_POLE,
            narrow=NARROW,
            wall_error=ahead.wall_error,
            roughness=start.roughness,
            ring=self.grid.rings[0],
            attempts=ahead.attempts,
            crowded=ahead.crowded,
            clock=np.array([start.time, *ahead.grown]),
            controllers=kept["controller"],
            counts=kept["control_counts"],
            rows=np.empty((ahead.steps, len(Taken._fields))),
        )
        before = kept["control_counts"][:2].sum()
        task = self._task(stepper.tableau, control.tolerance, start.time)
        heads = self._constant_heads(stepper.tableau.nodes.size + 1)
        ended, taken = self._call(state, first, task, heads, self._tables(), new, following, march)
        if np.isnan(ended):
            return None
        control.restore(kept)
        rows = [Taken(*row) for row in march.rows[: int(taken)].tolist()]
        steps = [(each, self._faults(each)) for each in rows]
        rates = None if ended == RATES_UNKNOWN else self._rates(first)
        tried = int(kept["control_counts"][:2].sum() - before)
        return Marched(Solution(*state), rates, steps, tried, ended == CROWDED)

    def knows_modes(self, modes: Modes) -> bool:
        return self._summed and modes.known_on_line

    def exact_step(
        self, modes: Modes, start: Start, plan: Plan, followed: Sequence[float], allowed: tuple[float, float]
    ) -> tuple[Solution | None, float, float]:
        tables = modes.on_line(self.scheme.walls) if self._summed else None
        if tables is None:
            return super().exact_step(modes, start, plan, followed, allowed)
        state = arrays_of(start.solution)
        task = ExactTask(plan.length, np.array(followed), *allowed, modes.floor)
        nodes = [0.0, *followed, *NODES[1:].tolist(), 1.0]
        heads = self._heads_along([min(start.time + node * plan.length, plan.latest) for node in nodes])
        found = self._law(state, heads)
        if found is None:
            return super().exact_step(modes, start, plan, followed, allowed)
        (law, summing), call = found, _line_exact_step if self._forces is None else _line_force_exact_step
        cells, new = self._tables(spreads=False), State(*map(np.empty_like, state))
        rooms = summing, self._exact_room(len(state.mean))
        error, clipped = call(state, self._arrays(start.rates), task, law, cells, rooms, tables, new)
        if np.isnan(error):
            return super().exact_step(modes, start, plan, followed, allowed)
        return (Solution(*new) if error < np.inf else None), float(error), float(clipped)

    @property
    def _stiffness(self) -> float:
        """`spreading` of unit conductivity; that of the last grid is kept."""
        if self._stiff is None or self._stiff[0] is not self.grid:
            self._stiff = self.grid, super().spreading(np.ones((1, 1, 1)))
        return self._stiff[1]

    def spreading(self, conductivities: Float) -> float:
        strongest = float(conductivities.max())
        return self._stiffness * strongest if strongest > 0.0 else 0.0

    def _faults(self, taken: Taken) -> Faults:
        """What cells make wrong after a step."""
        widening = self._widening(taken.end, taken.largest * float(self.grid.widths[0])) if self.noisy else 0.0
        frames = np.array([[[taken.least]], [[taken.largest]]]) if self._sees_windows else None
        return Faults(taken.roughness, 0.0 if frames is None else self._misled(taken.end, frames), widening)

    def drift_doubts(self, time: float, solution: Solution, rates: Rates, length: float) -> tuple[float, float]:
        if not (self.scheme.closed or self.tilts):
            return 0.0, 0.0
        if self._forces is not None or not self._summed:
            return super().drift_doubts(time, solution, rates, length)
        state, heads, cells = arrays_of(solution), self._heads_now(time), self._tables()
        following, task = self._march_room(solution)[1], NO_STEP._replace(step=length * self.tilts)
        return self._call(state, self._arrays(rates), task, heads, cells, state, following, _DOUBTS_ALONE)

    def residual(self, solution: Solution, rates: Rates) -> float:
        """As marches tell it, where there are any, also before the first one."""
        if not (self._constant and self._summed and isinstance(rates, ToldRates) and rates.measure is None):
            return super().residual(solution, rates)
        if rates.told.residual < np.inf:
            return rates.told.residual
        still, found = arrays_of(solution), self._blank(solution)
        self._call(still, found, NO_STEP, self._heads_now(0.0), self._tables(), still, found, _RATES_ALONE)
        return float(found.told[RESIDUAL])

    def _found_alike(self, one: Solution, other: Solution) -> bool:
        return self._forces is None or self._forces.near(one, self.grid) is self._forces.near(other, self.grid)

    def _room(self, panels: int) -> LineRoom:
        """For so many panels of the present cells; nothing in it outlives a call."""
        key = panels, self.grid.cells[0]
        if key not in self._line_rooms:
            self._line_rooms[key] = line_room(*key)
        return self._line_rooms[key]

    def _march_room(self, state: Solution) -> tuple[State, Slopes]:
        """Where the steps of a march are tried; nothing in it outlives a call."""
        key = len(state.mean), self.grid.cells[0]
        if key not in self._march_rooms:
            self._march_rooms[key] = State(*map(np.empty_like, state)), self._blank(state)
        return self._march_rooms[key]

    def _exact_room(self, panels: int) -> ExactRoom:
        """Likewise, for steps that integrate noise exactly."""
        key = panels, self.grid.cells[0]
        if key not in self._exact_rooms:
            self._exact_rooms[key] = exact_room(*key)
        return self._exact_rooms[key]

    def _force_room(self, panels: int, forces: LineForces) -> ForceRoom:
        """Likewise, for these forces."""
        key = panels, self.grid.cells[0], forces.kinks.size
        if key not in self._force_rooms:
            self._force_rooms[key] = force_room(panels, self.grid.cells[0], forces)
        return self._force_rooms[key]

    def cost(self, panels: int) -> float:
        if not self._summed:
            return super().cost(panels)
        cells = self.grid.cells[0]
        return 3.5 + (0.02 + 6e-5 * cells) * panels * panels * cells  # measured up to 512 cells and four panels
