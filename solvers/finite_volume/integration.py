"""A solution by finite volumes on its way."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy, deepcopy
from dataclasses import replace

import numpy as np

from mfpde.contracts import Progress, State
from mfpde.errors import ProblemError
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.finite_volume.between_steps import StepEnd
from mfpde.solvers.finite_volume.control import ExactLimits, Plan
from mfpde.solvers.finite_volume.diagnostics import (
    Faults,
    endless,
    mass_at_walls,
    narrow,
)
from mfpde.solvers.finite_volume.first_instants import FirstInstants
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.initial import stacked
from mfpde.solvers.finite_volume.looks import between_looks, due, to_look
from mfpde.solvers.finite_volume.marching import LEFT_OF_POLE, Ahead
from mfpde.solvers.finite_volume.open_ends import LEAK_MAX
from mfpde.solvers.finite_volume.present import PresentSolution, StandAt
from mfpde.solvers.finite_volume.rates import Rates
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.stepping import Attempt, Start
from mfpde.solvers.stepping.steady_state import PUSH
from mfpde.typing import AnyArray

__all__ = ["FiniteVolumeIntegration"]

_TRIED_MAX = 128  # steps in one call
_WITHIN_STEPS_SHARE = 0.01  # of the error of the cells so far, that solutions within steps may have
_TAILS_SHARE_MIN = 1e-3  # share of the error that is allowed, above which tails are estimated at every early step
_STEP_OVERHEAD = 300.0  # microseconds of a step, besides what evaluations cost in compiled code


class FiniteVolumeIntegration(PresentSolution):
    """Densities on panels, moved in steps that `StepControl` chooses, watched for what could go wrong."""

    # -- stepping
    # ---------------------------------------------------------------------------------------------------------

    def advance(self, target: float, budget: int) -> Progress:
        self._go_on()
        if self._first is not None and self._time < min(self._first.until, target):
            self._pass(self._first, min(self._first.until, target))
        stopped = self._step_to(target, budget)
        if stopped is not None:
            return stopped
        if self._time > target:
            return self._show(target)
        self._amplification.see(self.residual())
        if not self._rest.found:
            self._missed.see_output(self._between())
        return self._trouble() or Progress(State.REACHED)

    def _step_to(self, target: float, budget: float) -> Progress | None:
        """Step there, or past it; what stops the steps before."""
        work = 0.0
        while self._time < target:
            trouble = self._trouble()
            if trouble is not None:
                return trouble
            if work >= budget:
                return Progress(State.UNDER_WAY)
            steps = self._control.counts["steps"]
            if steps % between_looks(steps) == 0 and self._rest.due(self._time):
                if not self._rest.look(self, max(1, int(budget - work))):
                    return Progress(State.UNDER_WAY)
                work += self._system.cost(len(self._solution.mean))
            if self._rest.found:
                self._time = target
                self._between_steps.forget()
                break
            evaluations, price = self._evaluations, self._system.cost(len(self._solution.mean))
            if not self._attempt(target, budget - work):
                return Progress(
                    State.NOT_FINITE,
                    "the step size has shrunk to nothing",
                    "check the size of the coefficients against time.until, or try a smaller order",
                )
            work += (self._evaluations - evaluations) * price + _STEP_OVERHEAD
        return None

    def _pass(self, first: FirstInstants, time: float) -> None:
        """To a time in the first instants, from the initial data."""
        pieces = first.pieces(time, self.grid)
        self._solution = stacked(pieces)
        self._missed.initial = first.error + max(piece.error for piece in pieces)
        self._missed.layer, self._missed.at_edges = first.layer(time), first.at_edges(time)
        self._time = self._missed.looked = time
        self._rates = self._faults = None

    def _show(self, time: float) -> Progress:
        """The solution at a time within the last step."""
        shown, error = self._between_steps.at(time, self._step_end(), self._error_within_steps)
        self._missed.see_output(self._between() + error)
        self._ahead = StandAt(self._time, self._solution, self._rates, self._faults)
        self._time, self._solution, self._rates, self._faults = time, shown, None, None
        return Progress(State.REACHED)

    def _go_on(self) -> None:
        """From where steps have come to."""
        if self._ahead is not None:
            self._time, self._solution, self._rates, self._faults = self._ahead
            self._ahead = None

    def _step_end(self) -> StepEnd:
        return StepEnd.of(self._time, self._solution, self._present_rates())

    @property
    def _error_within_steps(self) -> float:
        """What solutions there may be wrong: as much as after a step, or a share of what cells make wrong."""
        return max(self._control.tolerance, _WITHIN_STEPS_SHARE * self._missed.so_far)

    def _attempt(self, target: float, budget: float) -> bool:
        """Try one step, or a march of about that many microseconds; False when steps have become too short."""
        rates = self._present_rates()
        number, promised = self._control.counts["steps"], self._missed.allowed
        exact = self._noise_steps.limits(self._time, self._solution, rates, number, promised)
        plan = self._plan(target, rates, exact)
        if self._control.vanished(self._time, target) or not plan.length > 0.0:  # cells may empty at once
            return False
        start = Start(self._time, self._solution, rates, (faults := self._present_faults()).fluxes)
        if plan.exact is None and not plan.stiff and self._march(start, target, exact, budget):
            return True
        # a long step leaves next to nothing of what cells make wrong at a sharp edge, and may not err by a share of it
        start = replace(start, roughness=faults.fluxes * self._missed.left(plan.length, faults.widening))
        if target < self._control.until:
            self._between_steps.begin(self._step_end())
        self._evaluations += plan.evaluations
        taken = self._system.step if plan.exact is None else self._noise_steps.step
        try:
            with np.errstate(all="ignore"):
                tried = taken(start, plan, self._control.allowed(plan, lambda: self.pace))
        except (ProblemError, ArithmeticError, np.linalg.LinAlgError):  # a trial stage where the drift means nothing
            tried = Attempt(None, np.inf)
        passed = tried.solution is not None and self._ends.passed(start.solution, tried.solution)
        if passed and self._make_room(np.ones((self.grid.dimension, 2), dtype=bool)):  # the step is tried again
            return True
        if self._control.judge(plan, tried.error, tried.limited) and tried.solution is not None:
            solution = self._system.restored(start.solution, tried.solution, start.time, plan.end)
            at_walls = 0.0
            if self._system.scheme.walls and not self._system.edges:
                at_walls = (0.0 if plan.exact is None else plan.exact.wall_error) + mass_at_walls(solution.density)
            self._arrive((plan.end, plan.latest), replace(tried, solution=solution), faults, at_walls)
            if plan.jump:
                self._between_steps.forget()
            elif target < self._control.until:
                self._between_steps.arrive(self._step_end(), self._error_within_steps)
        return True

    def _plan(self, target: float, rates: Rates, exact: ExactLimits | None) -> Plan:
        """The next step: past the target where that pays, and the solution there will be known, otherwise to it."""
        control, reach, where = self._control, self._between_steps.reach, (rates.outflow, rates.spreading, exact)
        plan = control.plan(self._time, target, *where)
        if reach == 0.0 or target >= control.until:
            return plan
        past = control.plan(self._time, control.until, *where, reach)
        return past if past.price <= plan.price and not (past.jump and past.end > target) else plan

    def _march(self, start: Start, target: float, exact: ExactLimits | None, budget: float) -> bool:
        """Take usual steps in one compiled call, until Python has to look; False where the first is for Python."""
        steps, stages = self._control.counts["steps"], self._control.stepper.tableau.weights.size
        each = stages * self._system.cost(len(start.solution.mean)) + _STEP_OVERHEAD
        ahead = Ahead(
            target=target,
            steps=min(to_look(steps, self._tails_matter), self._noise_steps.held(exact, start.rates, steps)),
            attempts=1 + int(min(budget / each, _TRIED_MAX)),
            exact_work=np.inf if exact is None else exact.price * exact.stages,
            wall_error=self._noise_steps.wall_error_max(self._missed.allowed),
            crowded=self._ends.bounds[0],
            grown=self._growth.last,
        )
        found = self._system.march(start, self._control, ahead)
        if found is None or found.tried == 0:
            return False
        self._evaluations += found.tried * (stages - 1) + max(0, len(found.taken) - 1)
        faults = self._present_faults()
        for taken, following in found.taken[:-1]:
            self._growth.add(taken.end, taken.inverse_growth)
            self._missed.see_walls(taken.at_walls)
            self._missed.add(taken.length, faults, following)
            self._time, faults = taken.end, following
        if found.taken:
            (last, _), there = found.taken[-1], Attempt(found.solution, 0.0, rates=found.rates)
            self._arrive((last.end, last.end), there, faults, last.at_walls, found.crowded)
        return True

    def _arrive(
        self, ends: tuple[float, float], there: Attempt, faults: Faults, at_walls: float, crowded: bool = True
    ) -> None:
        """At the end of a step from a solution with these faults, where an open box may be crowded; coefficients belong
        to the step until its latest time, the other one of its ends."""
        (end, latest), solution, rates = ends, there.solution or self._solution, there.rates
        length, self._time = end - self._time, end
        self._solution, self._rates, self._faults = solution, None, None
        self._missed.see_walls(at_walls)
        if not (crowded and self._make_room(self._ends.crowded(solution))) and rates is not None:
            self._see(rates)
        following = self._present_faults()
        if latest < end:
            following = following._replace(widening=self._system.widening(latest, self._solution))
        self._missed.add(length, faults, following)
        self._look_at_tails()

    def _look_at_tails(self) -> None:
        """Estimate the errors that tails, and sums over kinks, cause, in the first steps while one exceeds a thousandth
        of the error that is allowed."""
        if due(self._control.counts["steps"], self._tails_matter):
            self._missed = self._with_tails()

    @property
    def _tails_matter(self) -> bool:
        return max(self._missed.tails, self._missed.sums) > _TAILS_SHARE_MIN * self._missed.allowed

    # -- rest
    # ---------------------------------------------------------------------------------------------------------

    def pushed(self) -> FiniteVolumeIntegration:
        """A copy whose densities are changed by waves of all parities, along all axes, another one for each panel."""
        density = self._solution.density * (1.0 + PUSH * self.grid.waves(self._solution.density))
        density *= (self._solution.density.sum(axis=(1, 2)) / density.sum(axis=(1, 2)))[:, None, None]
        pushed = self._solution._replace(density=density)
        control = deepcopy(self._control)
        missed, unknown = replace(self._missed), Amplification(autonomous=False)
        copied = FiniteVolumeIntegration(copy(self._system), pushed, control, missed, unknown)
        copied.restore({**self.state(), "density": density})
        copied._between_steps.forget()
        copied._rest.never()
        return copied

    # -- watching
    # ---------------------------------------------------------------------------------------------------------

    def _trouble(self) -> Progress | None:
        rates = self._present_rates()
        pole = self._growth.pole(LEFT_OF_POLE, self._control.tolerance)
        if pole is not None:
            return pole.progress("the covariance")
        if self._ends.leak > LEAK_MAX:
            return Progress(
                State.RESOLUTION_LOST,
                f"the share {self._ends.leak:.2g} of the mass has come to the edge of the box",
                "use frame: static, or without noise solver.kind: characteristics"
                if self._system.grid.gaussian
                else "give a larger box, or use frame: moving",
            )
        work = self._evaluations * self._system.cost(len(self._solution.mean))
        lasting = endless(self._time, self._control.until, self._control.longest, work)
        return narrow(self._system.narrowest(self._solution, rates)) or self.race() or lasting

    def _make_room(self, crowded: AnyArray) -> bool:
        """Lengthen the box at those ends; False where nothing is to be done, or it is too long."""
        before, longer = self.grid, self._ends.lengthened(self._solution, crowded)
        if longer is None:
            return False
        self._solution = longer
        self._between_steps.lengthen(before, self.grid, self._system.goes_on)
        self._rates = self._faults = None
        return True

    # -- keeping
    # ---------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, AnyArray]:
        grid = self._system.grid
        time, solution = (self._time, self._solution) if self._ahead is None else self._ahead[:2]
        return {
            **solution._asdict(),
            "time": np.array([time, self._time]),
            "low": grid.low,
            "high": grid.high,
            "first_cells": np.array(self._ends.first_cells),
            "leak": np.array([self._ends.leak]),
            "missed": self._missed.array(),
            "growth": self._growth.array(),
            "evaluations": np.array([self._evaluations]),
            **self._control.arrays(),
            **self._noise_steps.arrays(),
            **self._rest.arrays(),
            **self._amplification.arrays(),
            **self._between_steps.arrays(),
        }

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        self._solution = Solution(state["density"].copy(), state["mean"].copy(), state["matrix"].copy())
        self._time, self._ends.leak = float(state["time"][0]), float(state["leak"][0])
        self._evaluations = int(state["evaluations"][0])
        cells = self._solution.density.shape[-self.grid.dimension :]
        self._system.grid = Grid(state["low"], state["high"], cells, self.grid.gaussian)
        self._ends.first_cells = tuple(int(count) for count in state["first_cells"])
        for part in (self._control, self._noise_steps, self._rest, self._amplification, self._between_steps):
            part.restore(state)
        self._rates, self._faults = self._system.rhs(self._time, self._solution), None
        self._missed.restore(state["missed"])
        self._growth.restore(state["growth"])
        if self._time > state["time"][1]:
            self._show(float(state["time"][1]))
