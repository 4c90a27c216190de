"""The equation on cells of the line where it is known to compiled code: exponential kernels, noise, frames that move or
rest. Rates and steps are those of `CellSystem`, which specifies them, in one compiled call each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from mfpde.solvers.finite_volume.control import Plan
from mfpde.solvers.finite_volume.diagnostics import unsmoothed
from mfpde.solvers.finite_volume.frames import Frame
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.stepping import SHARE_OF_CELLS, Attempt, Start
from mfpde.solvers.finite_volume.system import STAGGERED, CellSystem, Fluxes, Rates, Scheme
from mfpde.solvers.kernels import line_slope as slope
from mfpde.solvers.kernels import line_steps as steps
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["LineSystem"]

_KERNELS = frozenset({"softmax", "l2", "unnormalized"})  # of the form e^{<Ax, y> - <y, F y>}
_CELLS_MAX = 4096  # of a panel: beyond it sums over panels of Chebyshev points are faster than all pairs
_NO_KERNELS, _NO_NUMBERS = np.zeros(0, dtype=bool), np.zeros((0, 0))  # shapes as those of heads
_NO_HEADS = slope.LineHeads(_NO_KERNELS, _NO_KERNELS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, np.zeros(0))
_NO_TABLEAU = np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0))  # nodes, stages, weights, errors
_NO_STEP = steps.StepTask(*_NO_TABLEAU, 0.0, 0.0, 0.0, 0.0, restores=False)
_FACTORS = np.array([STAGGERED.get(order, np.zeros(4)) for order in range(10)])


@dataclass(frozen=True)
class _LineRates(Rates):
    told: slope.LineTold


class LineSystem(CellSystem):
    """Rates and steps in compiled code."""

    def __init__(self, equation: Equation, grid: Grid, frame: Frame, scheme: Scheme) -> None:
        super().__init__(equation, grid, frame, scheme)
        self._constant = equation.velocity.constant and not equation.noise.breaks()
        self._cells: tuple[Grid, slope.LineCells] | None = None
        self._heads: dict[int, slope.LineHeads] = {}
        self._line_rooms: dict[tuple[int, int], slope.LineRoom] = {}
        self._step_rooms: dict[tuple[int, int, int], steps.StepRoom] = {}

    @classmethod
    def fits(cls, equation: Equation, grid: Grid, frame: Frame) -> bool:
        """Whether compiled code knows all that moves the tokens."""
        velocity = equation.velocity
        if grid.dimension != 1 or grid.cells[0] > _CELLS_MAX or not (frame.rests or frame.gaussian):
            return False
        parts = [part.name for part in fields(velocity) if getattr(velocity, part.name) is not None]
        if equation.interaction is not None or parts not in ([], ["law"]):
            return False
        terms = [] if velocity.law is None else velocity.law.at(0.0).terms(1)
        return (velocity.law is None or bool(terms)) and all(term.head.pair_kernel in _KERNELS for term in terms)

    def _find(self, state: Solution, heads: slope.LineHeads, cells: slope.LineCells, rates: slope.LineRates) -> None:
        """rates = those of a solution; without heads, of the velocity that they have."""
        still, room = steps.LineState(*state), self._step_room(0, len(state.mean))
        steps.line_step(still, rates, _NO_STEP, heads, cells, self._room(len(state.mean)), room, still, rates)

    def _slope(self, time: float, state: Solution, cells: slope.LineCells, spreads: bool = True) -> slope.LineRates:
        rates, heads = self._blank(state), self._heads_at([time])
        self._find(state, heads if spreads else heads._replace(noise=np.zeros_like(heads.noise)), cells, rates)
        return rates

    def _blank(self, state: Solution) -> slope.LineRates:
        panels, count = len(state.mean), self.grid.cells[0]
        return slope.LineRates(
            np.empty((panels, 1, count + 1)),
            np.empty((panels, 1, 1, count)),
            np.empty_like(state.mean),
            np.empty_like(state.matrix),
            np.empty_like(state.matrix),
            np.empty(len(slope.LineTold._fields)),
        )

    def rhs(self, time: float, state: Solution, nearby: Rates | None = None, spreads: bool = True) -> Rates:
        rates = self._slope(time, state, self._line_cells(), spreads)
        if not np.isfinite(rates.speeds).all():
            super().rhs(time, state)  # says why, where something is to be said
        return self._rates(rates)

    def _rates(self, rates: slope.LineRates) -> _LineRates:
        told, still = slope.LineTold(*rates.told.tolist()), np.zeros((len(rates.mean), 2, self.grid.cells[0]))
        fluxes, spreading = Fluxes(still, rates.flux), self.spreading(rates.conductivity)
        moving = rates.mean, rates.matrix, rates.speeds, rates.conductivity
        return _LineRates(fluxes, None, *moving, told.outflow, spreading, told)

    def step(self, start: Start, plan: Plan, tolerance: float) -> Attempt:
        tableau, length, state = plan.stepper.tableau, plan.length, steps.LineState(*start.solution)
        rough = max(tolerance, SHARE_OF_CELLS * length * start.roughness)
        restores = self.frame.gaussian and not self.noisy_within(start.time, plan.end)
        task = steps.StepTask(*tableau, length, start.rates.emptying, rough, tolerance, restores)
        times = [min(start.time + float(node) * length, plan.latest) for node in tableau.nodes]
        new, following = steps.LineState(*(np.empty_like(part) for part in state)), self._blank(start.solution)
        line, room = self._room(len(state.mean)), self._step_room(tableau.nodes.size, len(state.mean))
        first, heads, cells = self._arrays(start.rates), self._heads_at([*times, plan.end]), self._line_cells()
        error, moved_by = steps.line_step(state, first, task, heads, cells, line, room, new, following)
        if not error < np.inf:
            return Attempt(None, error, limited=moved_by > 0)
        known = error <= 1.0 and bool(np.isfinite(following.speeds).all())
        rates = self._rates(following) if known else None
        return Attempt(Solution(*new), error, limited=moved_by > 0, rates=rates)

    def _arrays(self, rates: Rates) -> slope.LineRates:
        flux, told = rates.fluxes.along, np.empty(len(slope.LineTold._fields))
        return slope.LineRates(flux, rates.speeds, rates.mean, rates.matrix, rates.conductivities, told)

    def fluxes(self, order: int, density: Float, speeds: Float, conductivities: Float) -> Fluxes:
        panels, _, count = density.shape
        state = Solution(density, np.empty((panels, 1)), np.empty((panels, 1, 1)))
        rates = self._blank(state)._replace(speeds=speeds, conductivity=conductivities)
        self._find(state, _NO_HEADS, self._line_cells()._replace(order=order), rates)
        return Fluxes(np.zeros((panels, 2, count)), rates.flux)

    def roughness(self, solution: Solution, rates: Rates) -> float:
        assert isinstance(rates, _LineRates)  # noqa: S101 - for the type checker
        return rates.told.roughness

    def narrowest(self, solution: Solution, rates: Rates) -> float:
        assert isinstance(rates, _LineRates)  # noqa: S101 - for the type checker
        return unsmoothed(rates.told.narrowest)

    def cost(self, panels: int) -> float:
        return 5.0 + 0.02 * panels * panels * self.grid.cells[0]

    def doubt(self, time: float, solution: Solution) -> float:
        if not self.scheme.closed:
            return 0.0
        at_rest = self._line_cells()._replace(moves=False)
        light, heavy = (self._slope(time, solution, at_rest._replace(heaviest=each)).speeds for each in (False, True))
        return self._speeds_apart(solution, light, heavy)

    def solutions_apart(self, time: float, solution: Solution, one: Solution, other: Solution) -> float:
        at_rest = self._line_cells()._replace(moves=False)
        return self._speeds_apart(solution, *(self._slope(time, each, at_rest).speeds for each in (one, other)))

    def _speeds_apart(self, solution: Solution, one: Float, other: Float) -> float:
        """By how much speeds `(panels, 1, 1, n)` of the same frames differ, in widths of the solution."""
        largest = 0.0
        for density, apart in zip(solution.density[:, 0], np.abs(other - one)[:, 0, 0], strict=True):
            variance = float(self.grid.moments(density)[1][0, 0])
            largest = max(largest, float(apart @ density) / float(density.sum()) / math.sqrt(variance))
        return largest

    def restored(self, before: Solution, after: Solution, start: float, end: float) -> Solution:
        """Steps have done so."""
        return after

    def _room(self, panels: int) -> slope.LineRoom:
        """For so many panels of the present cells; nothing in it outlives a call."""
        key = panels, self.grid.cells[0]
        if key not in self._line_rooms:
            self._line_rooms[key] = slope.line_room(*key)
        return self._line_rooms[key]

    def _step_room(self, stages: int, panels: int) -> steps.StepRoom:
        """The same for the stages of a step."""
        key = stages, panels, self.grid.cells[0]
        if key not in self._step_rooms:
            self._step_rooms[key] = steps.step_room(*key)
        return self._step_rooms[key]

    def _line_cells(self) -> slope.LineCells:
        """Tables of the present grid."""
        grid, scheme = self.grid, self.scheme
        if self._cells is None or self._cells[0] is not grid:
            positions = np.zeros(0) if scheme.positions is None else scheme.positions
            table = slope.LineCells(
                axis=grid.axes[0],
                width=float(grid.widths[0]),
                widths=grid.widths,
                weights=grid.weights[1],
                face_weights=grid.face_weights[1],
                excess=grid.excess[0, 0],
                factors=_FACTORS,
                rows=grid.weights[0],
                order=scheme.order,
                other_order=self.other_order,
                walls=scheme.walls,
                closed=scheme.closed,
                moves=self.frame.gaussian,
                gaussian=self.frame.gaussian,
                heaviest=False,
                positions=positions,
            )
            self._cells = grid, table
        return self._cells[1]

    def _heads_at(self, times: Sequence[float]) -> slope.LineHeads:
        """Coefficients at some times, a row each."""
        rows = len(times)
        if self._constant and rows in self._heads:
            return self._heads[rows]
        needed, repeats = (times[:1], rows) if self._constant else (times, 1)
        laws = [self._velocity.at(time).law for time in needed]
        terms = [[] if law is None else law.terms(1) for law in laws]
        forms = [[term.head.key_form(1) for term in row] for row in terms]
        heads = slope.LineHeads(
            normalised=np.array([term.head.normalised for term in terms[0]], dtype=bool),
            masked=np.array([term.masked for term in terms[0]], dtype=bool),
            query=np.array([[term.head.query_matrix(1)[0, 0] for term in row] for row in terms] * repeats),
            value=np.array([[term.value[0, 0] for term in row] for row in terms] * repeats),
            form=np.array([[0.0 if form is None else form[0, 0] for form in row] for row in forms] * repeats),
            noise=np.array([self._diffusion_at(time) for time in needed] * repeats),
        )
        self._heads[rows] = heads
        return heads
