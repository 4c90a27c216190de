"""The equation on cells in compiled code, in frames that move or rest. Rates and steps are those of `CellSystem`, which
specifies them: in one compiled call each where compiled code knows the velocity, otherwise in one call between two
evaluations of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mfpde.measure import GridDensity
from mfpde.solvers.finite_volume.control import Plan
from mfpde.solvers.finite_volume.diagnostics import unsmoothed
from mfpde.solvers.finite_volume.frames import Frame
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.rates import Fluxes, Rates
from mfpde.solvers.finite_volume.scheme import STAGGERED, Scheme
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.stepping import SHARE_OF_CELLS, Attempt, Start
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.solvers.kernels.cell_steps import StepRoom, StepTask, step_room
from mfpde.solvers.kernels.cells import Cells, Heads, Slopes, State, Told
from mfpde.solvers.steppers.dop853 import Dop853
from mfpde.solvers.steppers.explicit import Tableau
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.attention import Interaction
    from mfpde.equation import Equation

__all__ = ["NO_STEP", "CompiledSystem", "ToldRates", "arrays_of", "interaction_of"]

_KERNELS = frozenset({"softmax", "l2", "unnormalized"})  # of the form e^{<Ax, y> - <y, F y>}
_NO_TABLEAU = np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0))  # nodes, stages, weights, errors
NO_STEP = StepTask(*_NO_TABLEAU, 0.0, 0.0, 0.0, 0.0, restores=False)
_USUAL_STAGES = Dop853.tableau.weights.size
_UNTOLD = np.array(Told(np.nan, np.nan, np.nan, np.inf))
_FACTORS = np.array([STAGGERED.get(order, np.zeros(4)) for order in range(10)])


@dataclass(frozen=True)
class ToldRates(Rates):
    """Those that compiled code has found."""

    told: Told


class CompiledSystem(CellSystem):
    """Rates and steps in compiled code, on a space of so many dimensions."""

    dimension: ClassVar[int]
    #: `line_part` or `plane_part`
    part_kernel: ClassVar[Any]
    #: cells of a panel, along an axis, up to which compiled sums are the fastest
    cells_max: ClassVar[int]

    def __init__(self, equation: Equation, grid: Grid, frame: Frame, scheme: Scheme) -> None:
        super().__init__(equation, grid, frame, scheme)
        self._known = self.knows(equation)
        self._constant = equation.velocity.constant and not equation.noise.breaks()
        self._cells: tuple[Grid, dict[tuple[tuple[str, Any], ...], Cells]] | None = None
        self._kept_speeds: tuple[float, Solution, Float] | None = None
        self._kept_widths: tuple[Solution, Float] | None = None
        self._heads: dict[int, Heads] = {}
        nothing, matrices = np.zeros(0, dtype=bool), np.zeros((0, 0, self.dimension, self.dimension))
        self._no_heads = Heads(nothing, nothing, matrices, matrices, matrices, np.zeros(0))
        self._step_rooms: dict[tuple[int, ...], StepRoom] = {}

    @abstractmethod
    def _call(
        self, start: State, first: Slopes, task: StepTask, heads: Heads, cells: Cells, new: State, following: Slopes
    ) -> tuple[float, float]:
        """A step whose velocities compiled code finds: its error, NaN where these are out of its range, and by how much
        it was limited."""

    @abstractmethod
    def _room(self, panels: int) -> tuple[Any, ...]:
        """Of the kernels, for so many panels of the present cells; nothing in it outlives a call."""

    def _part(
        self,
        start: State,
        first: Slopes,
        task: StepTask,
        noise: Float,
        at: tuple[int, float],
        cells: Cells,
        new: State,
        following: Slopes,
    ) -> tuple[float, float]:
        """A part of a step whose velocities are given (`line_part`), at a stage, limited by so much before."""
        rooms = self._room(len(start.mean)), self._step_room(task.nodes.size, start)
        error, moved_by = self.part_kernel(start, first, task, noise, at, cells, rooms, new, following)
        return float(error), float(moved_by)

    @classmethod
    def fits(cls, grid: Grid, frame: Frame) -> bool:
        """Whether compiled code knows the cells."""
        return grid.dimension == cls.dimension and (frame.rests or frame.gaussian)

    @classmethod
    def knows(cls, equation: Equation) -> bool:
        """Whether compiled code knows all that moves the tokens."""
        velocity, parts = equation.velocity, _moving_parts(equation)
        if equation.interaction is not None or parts not in ([], ["law"]):
            return False
        terms = () if velocity.law is None else velocity.law.at(0.0).terms(cls.dimension)
        return (velocity.law is None or bool(terms)) and all(term.head.pair_kernel in _KERNELS for term in terms)

    @property
    def _summed(self) -> bool:
        """Whether compiled code finds the velocities."""
        return self._known and max(self.grid.cells) <= self.cells_max

    # -- rates
    # ---------------------------------------------------------------------------------------------------------

    def _find(self, state: Solution, heads: Heads, cells: Cells, rates: Slopes) -> bool:
        """rates = those of a solution; without noise in the heads, of the velocity that they have. False where that is
        to be found, and is out of range."""
        still = arrays_of(state)
        return not np.isnan(self._call(still, rates, NO_STEP, heads, cells, still, rates)[0])

    def _slope(
        self, time: float, state: Solution, cells: Cells, nearby: Rates | None = None
    ) -> tuple[Slopes, GridDensity | None]:
        """The rates, and the law that they are of where compiled code does not find its velocity."""
        rates, heads = self._blank(state), self._heads_now(time)
        if self._summed and self._find(state, heads, cells, rates):
            return rates, None
        measure = self.drifts(time, state, nearby, rates.speeds)
        self._find_from_speeds(state, heads, cells, rates)
        return rates, measure

    def _find_from_speeds(self, state: Solution, heads: Heads, cells: Cells, rates: Slopes) -> None:
        """rates = those of a solution from the velocities that stand in place of its speeds."""
        still = arrays_of(state)
        self._part(still, rates, NO_STEP, heads.noise, (0, 0.0), cells, still, rates)

    def _blank(self, state: Solution) -> Slopes:
        panels, (rows, columns) = len(state.mean), self.grid.shape
        return Slopes(
            np.zeros((panels, rows + 1, columns)),
            np.zeros((panels, rows, columns + 1)),
            np.empty((panels, self.dimension, rows, columns)),
            np.empty_like(state.mean),
            np.empty_like(state.matrix),
            np.empty_like(state.matrix),
            _UNTOLD.copy(),
        )

    def rhs(self, time: float, state: Solution, nearby: Rates | None = None, spreads: bool = True) -> Rates:
        rates, measure = self._slope(time, state, self._tables(spreads=spreads), nearby)
        if measure is None and not np.isfinite(rates.speeds).all():
            super().rhs(time, state, spreads=spreads)  # says why, where something is to be said
        return self._rates(rates, measure)

    def _rates(self, rates: Slopes, measure: GridDensity | None = None) -> ToldRates:
        told, spreading = Told(*rates.told.tolist()), self.spreading(rates.conductivity)
        moving = rates.mean, rates.matrix, rates.speeds, rates.conductivity
        return ToldRates(Fluxes(rates.across, rates.along), measure, *moving, told.outflow, spreading, told)

    def _arrays(self, rates: Rates, copied: bool = False) -> Slopes:
        fluxes, told = rates.fluxes, np.array(rates.told if isinstance(rates, ToldRates) else _UNTOLD)
        moving = rates.speeds, rates.mean, rates.matrix, rates.conductivities
        slopes = Slopes(fluxes.across, fluxes.along, *moving, told)
        return Slopes(*(part.copy() for part in slopes)) if copied else slopes

    def fluxes(self, order: int, density: Float, speeds: Float, conductivities: Float) -> Fluxes:
        panels, size = len(density), self.dimension
        state = Solution(density, np.zeros((panels, size)), np.zeros((panels, size, size)))  # frames do not matter
        given = np.ascontiguousarray(speeds), np.ascontiguousarray(conductivities)
        rates = self._blank(state)._replace(speeds=given[0], conductivity=given[1])
        cells = self._tables(order=order)
        if not (self._summed and self._find(state, self._no_heads, cells, rates)):
            self._find_from_speeds(state, self._no_heads, cells, rates)
        return Fluxes(rates.across, rates.along)

    # -- steps
    # ---------------------------------------------------------------------------------------------------------

    def step(self, start: Start, plan: Plan, tolerance: float) -> Attempt:
        state, length = arrays_of(start.solution), plan.length
        rough = max(tolerance, SHARE_OF_CELLS * length * start.roughness)
        task = self._task(plan.stepper.tableau, tolerance, start.time, plan.end)
        task = task._replace(step=length, emptying=start.rates.emptying, rough=rough)
        new, following = State(*(np.empty_like(part) for part in state)), self._blank(start.solution)
        first, measure, error, same = self._arrays(start.rates), None, np.nan, not self._summed
        if self._summed:
            heads = self._heads_within(start.time, plan)
            error, moved_by = self._call(state, first, task, heads, self._tables(), new, following)
            same = error <= 1.0 and self._found_alike(start.solution, Solution(*new))
        if np.isnan(error):
            error, moved_by, measure = self._in_parts(start, first, task, plan, new, following)
        if not error < np.inf:
            return Attempt(None, error, limited=moved_by > 0)
        known = same and error <= 1.0 and bool(np.isfinite(following.speeds).all())
        rates = self._rates(following, measure) if known else None
        return Attempt(Solution(*new), error, limited=moved_by > 0, rates=rates)

    def _task(self, tableau: Tableau, tolerance: float, *times: float) -> StepTask:
        """Steps of a scheme between these times, of no length."""
        restores = self.frame.gaussian and not self.noisy_within(times[0], times[-1])
        return StepTask(*tableau, 0.0, 0.0, tolerance, tolerance, restores)

    def _found_alike(self, one: Solution, other: Solution) -> bool:
        """Whether compiled code finds the velocities of both by the same tables: rates at the end of a step are
        otherwise found again, as a resumed run finds them."""
        return True

    def _in_parts(
        self, start: Start, first: Slopes, task: StepTask, plan: Plan, new: State, following: Slopes
    ) -> tuple[float, float, GridDensity | None]:
        """The same with velocities between the parts; also the law at the end of a step that is accepted."""
        state, count, nearby = arrays_of(start.solution), task.weights.size, start.rates
        noise, cells = self._heads_within(start.time, plan).noise, self._tables()
        room = self._step_room(count, state)
        error, moved_by = self._part(state, first, task, noise, (0, 0.0), cells, new, following)
        for stage, time in enumerate(_times_within(start.time, plan)[1:], start=1):
            if not error <= 1.0:
                return error, moved_by, None
            last = stage == count
            there, speeds = (new, following.speeds) if last else (room.stage, room.speeds)
            solution = Solution(*(part.copy() for part in there))  # its law outlives the stage
            measure = self.drifts(time, solution, None if last else nearby, speeds)  # a resumed run knows none nearby
            nearby = nearby if measure is None else replace(nearby, measure=measure)
            reached, moved_by = self._part(state, first, task, noise, (stage, moved_by), cells, new, following)
            error = error if last else reached
        return error, moved_by, nearby.measure

    def roughness(self, solution: Solution, rates: Rates) -> float:
        assert isinstance(rates, ToldRates)  # noqa: S101 - for the type checker
        return rates.told.roughness

    def narrowest(self, solution: Solution, rates: Rates) -> float:
        assert isinstance(rates, ToldRates)  # noqa: S101 - for the type checker
        return unsmoothed(rates.told.narrowest)

    def doubt(self, time: float, solution: Solution) -> float:
        if not (self.scheme.closed and self._summed):
            return super().doubt(time, solution)
        heavy = self._tables(moves=False, heaviest=True)
        light = self._speeds_at_rest(time, solution)
        return self._speeds_apart(solution, light, self._slope(time, solution, heavy)[0].speeds)

    def solutions_apart(self, time: float, solution: Solution, one: Solution, other: Solution) -> float:
        moved = self._slope(time, other, self._tables(moves=False))[0].speeds
        return self._speeds_apart(solution, self._speeds_at_rest(time, one), moved)

    def _speeds_at_rest(self, time: float, solution: Solution) -> Float:
        """Of frames that do not move; the last ones are kept, since several comparisons begin with them."""
        kept = self._kept_speeds
        if kept is None or kept[0] != time or kept[1] is not solution:
            found = self._slope(time, solution, self._tables(moves=False))[0].speeds
            kept = self._kept_speeds = time, solution, found
        return kept[2]

    def _speeds_apart(self, solution: Solution, one: Float, other: Float) -> float:
        """By how much speeds `(panels, d, rows, columns)` of the same frames differ, in widths of the solution."""
        density = solution.density
        average = (np.abs(other - one) * density[:, None]).sum(axis=(2, 3)) / density.sum(axis=(1, 2))[:, None]
        return float((average / self._widths(solution)).max())

    def _widths(self, solution: Solution) -> Float:
        """Standard deviations of the panels along the axes of their frames, `(panels, d)`; the last ones are kept."""
        if self._kept_widths is None or self._kept_widths[0] is not solution:
            moments = [self.grid.moments(density)[1] for density in solution.density]
            self._kept_widths = solution, np.sqrt(np.diagonal(moments, axis1=1, axis2=2))
        return self._kept_widths[1]

    def restored(self, before: Solution, after: Solution, start: float, end: float) -> Solution:
        """Steps have done so."""
        return after

    # -- tables
    # ---------------------------------------------------------------------------------------------------------

    def _step_room(self, stages: int, state: State) -> StepRoom:
        """For the stages of a step, at least those of the usual scheme; nothing in it outlives a call."""
        key = (max(stages, _USUAL_STAGES), *state.density.shape)
        if key not in self._step_rooms:
            self._step_rooms[key] = step_room(key[0], state)
        return self._step_rooms[key]

    def _tables(self, **asked: Any) -> Cells:
        """Of the present grid, and what is asked of it otherwise than usually."""
        if self._cells is None or self._cells[0] is not self.grid:
            self._cells = self.grid, {(): self._usual_tables()}
        kept, key = self._cells[1], tuple(asked.items())
        if key not in kept:
            kept[key] = kept[()]._replace(**asked)
        return kept[key]

    def _usual_tables(self) -> Cells:
        grid, scheme = self.grid, self.scheme
        (row_weights, weights), (row_faces, faces) = grid.weights, grid.face_weights
        return Cells(
            rows=grid.axes[0] if grid.dimension == 2 else np.zeros(1),
            axis=grid.axes[-1],
            widths=grid.widths,
            row_weights=row_weights,
            weights=weights,
            row_faces=row_faces,
            faces=faces,
            row_excess=np.ascontiguousarray(grid.excess[0, :, 0]),
            excess=np.ascontiguousarray(grid.excess[-1, 0]),
            factors=_FACTORS,
            order=scheme.order,
            other_order=self.other_order,
            walls=scheme.walls,
            closed=scheme.closed,
            moves=self.frame.gaussian,
            spreads=True,
            gaussian=self.frame.gaussian,
            heaviest=False,
            bounded=not self.sees_tails,
            positions=np.zeros(0) if scheme.positions is None else np.ascontiguousarray(scheme.positions),
        )

    def _heads_within(self, start: float, plan: Plan) -> Heads:
        """Coefficients at the stages of a step and at its end."""
        return self._heads_along(_times_within(start, plan))

    def _heads_along(self, times: Sequence[float]) -> Heads:
        """Coefficients at these times."""
        return self._constant_heads(len(times)) if self._constant else self._heads_at(times)

    def _heads_now(self, time: float) -> Heads:
        """Coefficients at one time."""
        return self._heads_along([time])

    def _constant_heads(self, rows: int) -> Heads:
        """The same coefficients in each of so many rows."""
        if rows not in self._heads:
            one = self._heads_at([0.0]) if rows == 1 else self._constant_heads(1)
            self._heads[rows] = Heads(one.normalised, one.masked, *(part.repeat(rows, axis=0) for part in one[2:]))
        return self._heads[rows]

    def _heads_at(self, times: Sequence[float]) -> Heads:
        """Coefficients at some times, a row each."""
        rows, size = len(times), self.dimension
        laws = [self._velocity.at(time).law for time in times]
        terms = [law.terms(size) if law is not None and self._known else [] for law in laws]

        def stacked(matrix: Any) -> Float:
            found = [[matrix(term) for term in row] for row in terms]
            return np.array(found, dtype=float).reshape(rows, len(terms[0]), size, size)

        return Heads(
            normalised=np.array([term.head.normalised for term in terms[0]], dtype=bool),
            masked=np.array([term.masked for term in terms[0]], dtype=bool),
            query=stacked(lambda term: term.head.query_matrix(size)),
            value=stacked(lambda term: term.value),
            form=stacked(lambda term: np.zeros((size, size)) if (f := term.head.key_form(size)) is None else f),
            noise=np.array([self.diffusion_at(time) for time in times]),
        )


def interaction_of(equation: Equation) -> Interaction | None:
    """All that moves tokens, where that is an interaction that lets them meet."""
    law = equation.interaction
    if law is None or _moving_parts(equation) != ["law"]:
        return None
    pair = law.pair_potential
    return law if pair is None or pair.token_unfit is None else None


def _moving_parts(equation: Equation) -> list[str]:
    velocity = equation.velocity
    return [part.name for part in fields(velocity) if getattr(velocity, part.name) is not None]


def arrays_of(solution: Solution) -> State:
    """Contiguous ones."""
    return State(*map(np.ascontiguousarray, solution))


def _times_within(start: float, plan: Plan) -> list[float]:
    """Of the stages of a step and of its end."""
    return [*(min(start + float(node) * plan.length, plan.latest) for node in plan.stepper.tableau.nodes), plan.end]
