"""The equation on cells of the line where it is known to compiled code: exponential kernels, noise, frames that move or
rest. Rates and steps are those of `CellSystem`, which specifies them, in one compiled call each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from mfpde.solvers.finite_volume.control import Plan
from mfpde.solvers.finite_volume.frames import Frame
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.stepping import SHARE_OF_CELLS, Attempt, Start
from mfpde.solvers.finite_volume.system import STAGGERED, CellSystem, Fluxes, Rates, Scheme
from mfpde.solvers.kernels import line_slope as slope
from mfpde.solvers.kernels import line_steps as steps
from mfpde.solvers.kernels.finite_volume_update import outflow
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["LineSystem"]

_KERNELS = frozenset({"softmax", "l2", "unnormalized"})  # of the form e^{<Ax, y> - <y, F y>}
_CELLS_MAX = 4096  # of a panel: beyond it sums over panels of Chebyshev points are faster than all pairs
_FACTORS = np.array([STAGGERED.get(order, np.zeros(4)) for order in range(10)])


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

    def _slope(self, time: float, state: Solution, cells: slope.LineCells) -> slope.LineRates:
        panels, count = len(state.mean), cells.axis.size
        rates = slope.LineRates(
            np.empty((panels, 1, count + 1)),
            np.empty((panels, 1, 1, count)),
            np.empty_like(state.mean),
            np.empty_like(state.matrix),
            np.empty_like(state.matrix),
        )
        slope.line_slope(*state, self._heads_at([time]), 0, cells, self._room(panels), rates)
        return rates

    def rhs(self, time: float, state: Solution, nearby: Rates | None = None) -> Rates:
        rates = self._slope(time, state, self._line_cells())
        if not np.isfinite(rates.speeds).all():
            super().rhs(time, state)  # says why, where something is to be said
        fluxes = Fluxes(np.zeros((len(state.mean), 2, self.grid.cells[0])), rates.flux)
        share = max(outflow(speeds, self.grid.widths, 0, 1) for speeds in rates.speeds)
        emptying = float(share), self.spreading(rates.conductivity)
        return Rates(fluxes, None, rates.mean, rates.matrix, rates.speeds, rates.conductivity, *emptying)

    def step(self, start: Start, plan: Plan, tolerance: float) -> Attempt:
        tableau, length, state = plan.stepper.tableau, plan.length, steps.LineState(*start.solution)
        rough = max(tolerance, SHARE_OF_CELLS * length * start.roughness)
        task = steps.StepTask(*tableau, length, start.rates.emptying, rough, tolerance)
        nodes = tableau.nodes[:1] if self._constant else tableau.nodes
        times = [min(start.time + float(node) * length, plan.latest) for node in nodes]
        new = steps.LineState(*(np.empty_like(part) for part in state))
        line, room = self._room(len(state.mean)), self._step_room(tableau.nodes.size, len(state.mean))
        first, heads, cells = _arrays(start.rates), self._heads_at(times, tableau.nodes.size), self._line_cells()
        error, moved_by = steps.line_step(state, first, task, heads, cells, line, room, new)
        found = Solution(*new) if error < np.inf else None
        return Attempt(found, error, limited=moved_by > 0)

    def fluxes(self, order: int, density: Float, speeds: Float, conductivities: Float) -> Fluxes:
        panels, _, count = density.shape
        along, nowhere = np.empty((panels, 1, count + 1)), np.empty((panels, 1))
        rates = slope.LineRates(along, speeds, nowhere, conductivities, conductivities)
        slope.line_fluxes(order, density, rates, self._line_cells(), self._room(panels), along)
        return Fluxes(np.zeros((panels, 2, count)), along)

    def roughness(self, solution: Solution, rates: Rates) -> float:
        density, order = solution.density, self.other_order
        other = self.fluxes(order, density, rates.speeds, rates.conductivities).along
        change = np.abs(np.diff(rates.fluxes.along - other, axis=2)).max(axis=(1, 2))
        return float((change / density.max(axis=(1, 2))).max())

    def cost(self, panels: int) -> float:
        return 5.0 + 0.02 * panels * panels * self.grid.cells[0]

    def doubt(self, time: float, solution: Solution) -> float:
        if not self.scheme.closed:
            return 0.0
        at_rest = self._line_cells()._replace(moves=False)
        light, heavy = (self._slope(time, solution, at_rest._replace(heaviest=each)).speeds for each in (False, True))
        largest = 0.0
        for density, apart in zip(solution.density[:, 0], np.abs(heavy - light)[:, 0, 0], strict=True):
            mass, _, variance = slope.line_moments(density, at_rest.axis)
            largest = max(largest, float(apart @ density) / mass / math.sqrt(variance))
        return largest

    def restored(self, before: Solution, after: Solution, start: float, end: float) -> Solution:
        if not self.frame.gaussian or self.noisy_within(start, end):
            return after
        mean, matrix = after.mean.copy(), after.matrix.copy()
        for panel, frame in enumerate(after.matrix[:, 0, 0]):
            (_, m0, c0), (_, m1, c1) = (slope.line_moments(each.density[panel, 0], self.grid.axes[0])
                                        for each in (before, after))  # fmt: skip
            matrix[panel] = frame * math.sqrt(c0 / c1)
            mean[panel] += frame * m0 - matrix[panel, 0] * m1
        return Solution(after.density, mean, matrix)

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
                weights=grid.weights[1],
                face_weights=grid.face_weights[1],
                factors=_FACTORS,
                rows=grid.weights[0],
                order=scheme.order,
                walls=scheme.walls,
                closed=scheme.closed,
                moves=self.frame.gaussian,
                gaussian=self.frame.gaussian,
                heaviest=False,
                positions=positions,
            )
            self._cells = grid, table
        return self._cells[1]

    def _heads_at(self, times: Sequence[float], rows: int = 1) -> slope.LineHeads:
        """Coefficients at some times, a row each; constant ones in so many rows."""
        if self._constant and rows in self._heads:
            return self._heads[rows]
        laws = [self._velocity.at(time).law for time in times]
        terms = [[] if law is None else law.terms(1) for law in laws]
        forms = [[term.head.key_form(1) for term in row] for row in terms]
        repeats = rows if self._constant else 1
        heads = slope.LineHeads(
            normalised=np.array([term.head.normalised for term in terms[0]], dtype=bool),
            masked=np.array([term.masked for term in terms[0]], dtype=bool),
            query=np.array([[term.head.query_matrix(1)[0, 0] for term in row] for row in terms] * repeats),
            value=np.array([[term.value[0, 0] for term in row] for row in terms] * repeats),
            form=np.array([[0.0 if form is None else form[0, 0] for form in row] for row in forms] * repeats),
            noise=np.array([self._diffusion_at(time) for time in times] * repeats),
        )
        self._heads[rows] = heads
        return heads


def _arrays(rates: Rates) -> slope.LineRates:
    return slope.LineRates(rates.fluxes.along, rates.speeds, rates.mean, rates.matrix, rates.conductivities)
