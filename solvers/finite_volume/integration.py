"""A solution by finite volumes on its way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from mfpde.contracts import Accuracy, Integration, Progress, State
from mfpde.errors import ProblemError
from mfpde.geometry import Axis, Layout
from mfpde.measure import GridDensity
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.finite_volume.control import Plan, StepControl
from mfpde.solvers.finite_volume.diagnostics import (
    LEAST_WIDTH,
    Faults,
    Missed,
    between_cells,
    inverse_growth,
    moments_apart,
    pace,
    pace_of_frames,
)
from mfpde.solvers.finite_volume.first_instants import FirstInstants
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.initial import stacked
from mfpde.solvers.finite_volume.noise_steps import NoiseSteps
from mfpde.solvers.finite_volume.solution import Solution, measure_of
from mfpde.solvers.finite_volume.stepping import Attempt, Start
from mfpde.solvers.finite_volume.system import CellSystem, Rates
from mfpde.solvers.forms import grid_layout, panels_fields, panels_layout
from mfpde.solvers.stepping.pole import PoleLine
from mfpde.solvers.stepping.steady_state import PUSH, Rest
from mfpde.typing import AnyArray, Float

__all__ = ["FiniteVolumeIntegration"]

_EDGE_MASS_MAX, _TAILS_MAX = 1e-14, 1e-12  # share of the mass near an end, at which boxes grow; if tails go on beyond
_EDGE_GAUSSIAN_RATIO = 4.0  # of the mass near an end to that of a Gaussian there, which is no reason to grow
_MASS_ROUNDING = 2e-15  # share of the mass that rounding may change in one step
_LEAK_MAX = 1e-9  # share of the mass near an end of a box that cannot grow, at which the run ends
_BOX_GROWTH_MAX = 4  # times the cells at the start
_STEPS_BETWEEN_LOOKS = 8  # accepted steps between two estimates of tails, and of whether anything moves still
_TAILS_SHARE_MIN = 1e-3  # share of the error that is allowed, above which tails are estimated at every early step
_STEP_OVERHEAD = 300.0  # microseconds of a step, besides what evaluations cost in compiled code
_LEFT_OF_POLE = 1e-4  # share of the time of a pole that need not be followed


class FiniteVolumeIntegration(Integration):
    """Densities on panels, moved in steps that `StepControl` chooses, watched for what could go wrong."""

    def __init__(
        self,
        system: CellSystem,
        solution: Solution,
        control: StepControl,
        missed: Missed,
        amplification: Amplification,
        first: FirstInstants | None = None,
    ) -> None:
        self._system, self._solution, self._control = system, solution, control
        self._noise_steps = NoiseSteps(system)
        self._amplification, self._first, self._time = amplification, first, 0.0
        self._growth, self._missed, self._leak = PoleLine(), missed, 0.0
        self._rest = Rest(control.tolerance, max(control.breaks, default=0.0))
        self._rates: Rates | None = system.rhs(0.0, solution)  # compiles before anybody measures a rate
        self._kept: dict[str, tuple[object, Any]] = {}
        self._faults: Faults | None = None
        self._first_cells, self._evaluations = system.grid.cells, 1
        control.begin(control.first_step(pace_of_frames(solution, self._rates)))

    @property
    def solution(self) -> Solution:
        return self._solution

    @property
    def outflow(self) -> float:
        """The largest share of a cell that leaves it per unit time."""
        return self._present_rates().outflow

    @property
    def missed(self) -> float:
        """The most that cells have left out so far, with what they leave out between them now, relative to the peak."""
        return replace(self._with_tails(), between=self._between()).at_most

    @property
    def grid(self) -> Grid:
        return self._system.grid

    @property
    def finite(self) -> bool:
        """Whether rates are numbers."""
        rates = self._present_rates()
        return all(np.isfinite(part).all() for part in (rates.speeds, rates.mean, rates.matrix))

    @property
    def pace(self) -> float:
        """How fast the whole moves or changes, per unit time, relative to how wide it is."""
        return pace(self.grid, self._solution, self._present_rates())

    # -- stepping
    # ---------------------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        return self._time

    def advance(self, target: float, budget: int) -> Progress:
        work = 0.0
        if self._first is not None and self._time < min(self._first.until, target):
            self._pass(self._first, min(self._first.until, target))
        while self._time < target:
            trouble = self._trouble()
            if trouble is not None:
                return trouble
            if work >= budget:
                return Progress(State.UNDER_WAY)
            if self._control.counts["steps"] % _STEPS_BETWEEN_LOOKS == 0 and self._rest.due(self._time):
                if not self._rest.look(self, max(1, int(budget - work))):
                    return Progress(State.UNDER_WAY)
                work += self._system.cost(len(self._solution.mean))
            if self._rest.found:
                self._time = target
                break
            evaluations = self._evaluations
            if not self._attempt(target):
                return Progress(
                    State.NOT_FINITE,
                    "the step size has shrunk to nothing",
                    "check the size of the coefficients against time.until, or try a smaller order",
                )
            work += (self._evaluations - evaluations) * self._system.cost(len(self._solution.mean)) + _STEP_OVERHEAD
        self._amplification.see(self.residual())
        if not self._rest.found:
            self._missed.see_output(self._between())
        return self._trouble() or Progress(State.REACHED)

    def _pass(self, first: FirstInstants, time: float) -> None:
        """To a time in the first instants, from the initial data."""
        pieces = first.pieces(time, self.grid)
        self._solution = stacked(pieces)
        self._missed.initial = first.error + max(piece.error for piece in pieces)
        self._missed.layer, self._missed.at_edges = first.layer(time), first.at_edges(time)
        self._time = self._missed.looked = time
        self._rates = self._faults = None

    def _attempt(self, target: float) -> bool:
        """Try one step; False when steps have become too short."""
        rates = self._present_rates()
        plan = self._plan(target, rates)
        if self._control.vanished(self._time, target) or not plan.length > 0.0:  # cells may empty at once
            return False
        self._evaluations += plan.evaluations
        start = Start(self._time, self._solution, rates, (faults := self._present_faults()).fluxes)
        taken = self._system.step if plan.exact is None else self._noise_steps.step
        try:
            with np.errstate(all="ignore"):
                tried = taken(start, plan, self._control.allowed(plan))
        except (ProblemError, ArithmeticError, np.linalg.LinAlgError):  # a trial stage where the drift means nothing
            tried = Attempt(None, np.inf)
        if tried.solution is not None and self._leaves_the_box(tried.solution):
            return True
        if self._control.judge(plan, tried.error, tried.limited) and tried.solution is not None:
            self._solution = self._system.restored(start.solution, tried.solution, start.time, plan.end)
            if self._system.scheme.walls and not self._system.edges:
                lifted = 0.0 if plan.exact is None else plan.exact.wall_error
                self._missed.see_walls(self._solution.density, lifted)
            self._time = plan.end
            self._rates = self._faults = None
            if not self._make_room(self._crowded()) and tried.rates is not None:
                self._see(tried.rates)
            widening = self._system.widening((start.time, start.solution), (plan.latest, self._solution))
            self._missed.add(plan.length, faults, self._present_faults(), widening)
            self._look_at_tails()
        return True

    def _plan(self, target: float, rates: Rates) -> Plan:
        """The next step."""
        exact = self._noise_steps.limits(
            self._time, self._solution, rates, self._control.counts["steps"], self._missed.allowed
        )
        return self._control.plan(self._time, target, rates.outflow, rates.spreading, exact)

    def _look_at_tails(self) -> None:
        """Estimate the errors that tails, and sums over kinks, cause: after step 2, after every step up to the 8th
        while one exceeds a thousandth of the error that is allowed, and after every 8th step."""
        steps = self._control.counts["steps"]
        matter = max(self._missed.tails, self._missed.sums) > _TAILS_SHARE_MIN * self._missed.allowed
        if steps == 2 or steps % _STEPS_BETWEEN_LOOKS == 0 or (steps < _STEPS_BETWEEN_LOOKS and matter):
            self._missed = self._with_tails()

    def _with_tails(self) -> Missed:
        """What has been missed, tails until now included: near a blow-up their last few steps are all that matters."""
        missed, length = self._missed, self._time - self._missed.looked
        if length <= 0.0 or self._rest.found:
            return replace(missed)
        before, solution, rates = float(np.nextafter(self._time, -np.inf)), self._solution, self._present_rates()
        doubts = self._once("doubts", solution, lambda: self._system.doubts(before, solution, rates, length))
        return missed.seen(self._time, *doubts)

    def _between(self) -> float:
        """Error of interpolation between the cells; not before the first instants, when cells hold edges."""
        if self._first is not None and self._time == 0.0:
            return 0.0
        return float(self._once("between", self._solution, lambda: between_cells(self.measure())))

    def _once(self, name: str, of: object, find: Callable[[], Any]) -> Any:
        """What is found of an object, once for each."""
        if name not in self._kept or self._kept[name][0] is not of:
            self._kept[name] = of, find()
        return self._kept[name][1]

    def _present_rates(self) -> Rates:
        return self._see(self._system.rhs(self._time, self._solution)) if self._rates is None else self._rates

    def _present_faults(self) -> Faults:
        solution, rates = self._solution, self._present_rates()
        if self._faults is None:
            misled = self._system.misled(self._time, solution, rates)
            self._faults = Faults(self._noise_steps.roughness(solution, rates), misled)
        return self._faults

    def _see(self, rates: Rates) -> Rates:
        """Those at the present time, found just now."""
        self._rates = rates
        self._evaluations += 1
        self._growth.add(self._time, inverse_growth(self._solution, rates))
        return rates

    # -- rest
    # ---------------------------------------------------------------------------------------------------------

    def fastest_rate(self) -> float:
        """The share of a cell that leaves it per unit time."""
        return self._present_rates().emptying

    def pushed(self) -> FiniteVolumeIntegration:
        """A copy whose densities are changed by waves of all parities, along all axes, another one for each panel."""
        density = self._solution.density * (1.0 + PUSH * self.grid.waves(self._solution.density))
        density *= (self._solution.density.sum(axis=(1, 2)) / density.sum(axis=(1, 2)))[:, None, None]
        pushed = self._solution._replace(density=density)
        control = deepcopy(self._control)
        missed, unknown = replace(self._missed), Amplification(autonomous=False)
        copied = FiniteVolumeIntegration(copy(self._system), pushed, control, missed, unknown)
        copied.restore({**self.state(), "density": density})
        copied._rest.never()
        return copied

    def distance(self, other: Integration) -> float:
        """Of mean and covariance, relative to the widths along the axes."""
        return moments_apart(self.measure(), other.measure())

    # -- watching
    # ---------------------------------------------------------------------------------------------------------

    def _trouble(self) -> Progress | None:
        rates = self._present_rates()
        pole = self._growth.pole(_LEFT_OF_POLE, self._control.tolerance)
        if pole is not None:
            return pole.progress("the covariance")
        width = self._system.narrowest(self._solution, rates)
        if width < LEAST_WIDTH:
            return Progress(
                State.RESOLUTION_LOST,
                f"a cluster has become narrower than {LEAST_WIDTH:g} cells",
                "raise solver.cells, add noise, stop earlier, or use frame: moving and one mixture component a cluster",
            )
        if self._leak > _LEAK_MAX:
            return Progress(
                State.RESOLUTION_LOST,
                f"the share {self._leak:.2g} of the mass has come to the edge of the box",
                "use frame: static, or without noise solver.kind: characteristics"
                if self._system.grid.gaussian
                else "give a larger box, or use frame: moving",
            )
        return None

    def _crowded(self) -> AnyArray:
        """Ends that mass comes near to, `(d, 2)`."""
        grid = self.grid
        if self._system.scheme.walls:
            return np.zeros((grid.dimension, 2), dtype=bool)
        usual = _EDGE_GAUSSIAN_RATIO * grid.gaussian_edge_mass if grid.gaussian else 0.0
        most = _TAILS_MAX if self._system.goes_on else _EDGE_MASS_MAX
        crowded: AnyArray = grid.edge_mass(self._solution.density) > np.maximum(most, usual)
        return crowded

    def _leaves_the_box(self, tried: Solution) -> bool:
        """Whether a step would take mass through open ends; the box then grows, and the step is tried again."""
        if self._system.scheme.walls:
            return False
        before, after = float(self._solution.density.sum()), float(tried.density.sum())
        lost, in_all = abs(after / before - 1.0), abs(after * self._system.grid.volume - 1.0)
        if not (lost > _MASS_ROUNDING and in_all > _EDGE_MASS_MAX):
            return False
        return self._make_room(np.ones((self._system.grid.dimension, 2), dtype=bool))

    def _make_room(self, crowded: AnyArray) -> bool:
        """Lengthen the box by whole cells at those ends; False where nothing is to be done, or it is too long."""
        if not crowded.any():
            return False
        grid = self._system.grid
        room = [_BOX_GROWTH_MAX * first - now for first, now in zip(self._first_cells, grid.cells, strict=True)]
        more = np.where(crowded, np.maximum(4, np.array(grid.cells) // 8)[:, None], 0)
        longer = grid.longer(more)
        if (more.sum(axis=1) > room).any() or (self._system.noisy and not longer.weighs_everywhere):
            self._leak = max(self._leak, float(grid.edge_mass(self._solution.density).max()))
            return False
        density = grid.lengthened(self._solution.density, more, self._system.goes_on)
        self._system.grid, self._solution = longer, self._solution._replace(density=density)
        self._rates = self._faults = None
        return True

    # -- what is seen
    # ---------------------------------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        layout: Layout = self._once("layout", self.grid, lambda: self._layout_of(self.grid))
        return layout

    def _layout_of(self, grid: Grid) -> Layout:
        axes = [Axis.of_cells(name, faces) for name, faces in zip("xy", grid.faces, strict=False)]
        if self._plain:
            return grid_layout(axes, averages=False)
        positions, edges = self._system.scheme.positions, self._system.edges
        return panels_layout(axes, len(self._solution.mean), averages=edges, positions=positions, edges=edges)

    @property
    def _plain(self) -> bool:
        return self._system.frame.rests and len(self._solution.mean) == 1 and self._system.scheme.positions is None

    def measure(self) -> GridDensity:
        system = self._system
        return measure_of(self._solution, system.grid, system.scheme.positions, closed=False, edges=system.edges)

    def fields(self) -> dict[str, Float]:
        grid, (density, mean, matrix) = self._system.grid, self._solution
        if self._plain:
            return {"density": density.reshape(grid.cells)}
        return panels_fields(self.layout, density.reshape(-1, *grid.cells), mean, matrix)

    def residual(self) -> float:
        rates, find = self._present_rates(), self._noise_steps.residual
        return float(self._once("residual", rates, lambda: find(self._time, self._solution, rates)))

    def accuracy(self) -> Accuracy:
        return self._amplification.judged(replace(self._with_tails(), between=self._between()).accuracy())

    def facts(self) -> dict[str, float]:
        at_ends = 0.0 if self._system.edges else float(self.grid.edge_mass(self._solution.density).max())
        return {"leak": max(self._leak, at_ends)}

    def statistics(self) -> dict[str, float]:
        return {
            "panels": float(len(self._solution.mean)),
            "cells": float(np.prod(self._system.grid.cells)),
            **{name: float(count) for name, count in self._control.counts.items()},
            "evaluations": float(self._evaluations),
            "step": self._control.step,
            "cell-error": self._with_tails().so_far,
        }

    # -- keeping
    # ---------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, AnyArray]:
        grid = self._system.grid
        return {
            **self._solution._asdict(),
            "time": np.array([self._time]),
            "low": grid.low,
            "high": grid.high,
            "first_cells": np.array(self._first_cells),
            "leak": np.array([self._leak]),
            "missed": self._missed.array(),
            "growth": self._growth.array(),
            "evaluations": np.array([self._evaluations]),
            **self._control.arrays(),
            **self._noise_steps.arrays(),
            **self._rest.arrays(),
            **self._amplification.arrays(),
        }

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        self._solution = Solution(state["density"].copy(), state["mean"].copy(), state["matrix"].copy())
        self._time, self._leak = float(state["time"][0]), float(state["leak"][0])
        cells = self._solution.density.shape[-self.grid.dimension :]
        self._system.grid = Grid(state["low"], state["high"], cells, self.grid.gaussian)
        self._first_cells = tuple(int(count) for count in state["first_cells"])
        for part in (self._control, self._noise_steps, self._rest, self._amplification):
            part.restore(state)
        self._rates, self._faults = self._system.rhs(self._time, self._solution), None
        self._missed.restore(state["missed"])
        self._growth.restore(state["growth"])
        self._evaluations = int(state["evaluations"][0])
