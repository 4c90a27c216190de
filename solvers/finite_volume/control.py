"""Which scheme takes the next step, and how far. Everything depends on the solution and on where steps have to end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mfpde.solvers.kernels import line_march as rule
from mfpde.solvers.steppers.dop853 import Dop853
from mfpde.solvers.steppers.explicit import ExplicitStepper
from mfpde.solvers.steppers.rkc2 import Rkc2
from mfpde.solvers.stepping.controller import SHORTEST_STEP, Controller
from mfpde.solvers.stepping.step_ends import next_end
from mfpde.typing import AnyArray

__all__ = ["ERROR_FLOOR", "ExactLimits", "Plan", "StepControl"]

ERROR_FLOOR = 1e-2  # of the controllers: errors below it are those of limited fluxes, which know no order
_FIRST_STEP = 0.8  # standard deviations that the first step may carry a frame, for a tolerance of 1
_STIFF_SHARE = 0.1  # of the tolerance, for a step of rkc2: there are ten times as many, and they add up
#: of the tolerance, that steps of rkc2 add up to while the solution moves or changes by its width, or time grows e-fold
_STIFF_SUM = 5.0
_DOP853 = Dop853()


@dataclass(frozen=True)
class ExactLimits:
    """Of a step that integrates noise exactly."""

    price: float  # of one of its stages, in evaluations of the explicit schemes
    stages: int
    outflow: float  # largest share of a cell that transport takes out per unit time, beside what the modes integrate
    wall_error: float  # of what modes make of slopes at walls, relative to the peak
    longest: float = np.inf  # that all modes can follow, where they have to


@dataclass(frozen=True)
class Plan:
    """A step to try."""

    stepper: ExplicitStepper
    length: float
    end: float
    jump: bool  # whether coefficients jump at the end: they are then asked for times before it only
    stiff: bool  # whether rkc2 takes it
    exact: ExactLimits | None = None  # where noise is integrated exactly, along the stages of dop853
    price: float = np.inf  # of a unit of time, in evaluations of the explicit schemes

    @property
    def latest(self) -> float:
        """The latest time whose coefficients belong to the step."""
        return float(np.nextafter(self.end, -np.inf)) if self.jump else self.end

    @property
    def evaluations(self) -> int:
        """Of the rates, besides those at the start."""
        return (len(self.stepper.tableau.weights) if self.exact is None else self.exact.stages) - 1


class StepControl:
    """Steps of a stepper, no longer than what empties `cfl` cells and than what `tolerance` allows; or, where diffusion
    would make them many, of `rkc2` or of `gif853` in cosines, whichever gets furthest for its cost."""

    def __init__(
        self,
        stepper: ExplicitStepper,
        cfl: float,
        tolerance: float,
        breaks: Sequence[float] = (),
        until: float = np.inf,
    ) -> None:
        self.stepper, self.cfl, self.tolerance, self.until = stepper, cfl, tolerance, until
        self.breaks = tuple(float(time) for time in breaks if time > 0)
        self._usual, self._stiff, self._exact = (Controller(0.0, ERROR_FLOOR) for _ in range(3))
        self.counts = {"steps": 0, "rejected": 0, "limited": 0, "stiff": 0, "exact": 0}

    @property
    def step(self) -> float:
        """What the next step of the usual scheme is meant to be."""
        return self._usual.length

    @property
    def longest(self) -> float:
        """What the next step of any scheme is at most meant to be."""
        return max(each.length for each in self._controllers)

    def first_step(self, fastest: float) -> float:
        """In which no frame moves far; the fastest one moves so many deviations per unit time."""
        share = _FIRST_STEP * self.tolerance ** (1 / self.stepper.error_order)
        return share / fastest if fastest > 0 else np.inf

    def begin(self, length: float) -> None:
        """With a first step of that length."""
        self._usual.length = length

    def plan(
        self,
        time: float,
        target: float,
        outflow: float,
        spreading: float,
        exact: ExactLimits | None = None,
        longest: float = np.inf,
    ) -> Plan:
        """The next step on the way to a target, no longer than that."""
        emptying = outflow + spreading
        stable = self.cfl / emptying if emptying > 0 else np.inf
        ends = [target, *self.breaks]

        def planned(stepper: ExplicitStepper, length: float, stiff: bool = False) -> Plan:
            end = next_end(time, min(length, longest), ends)
            plan = Plan(stepper, end - time, end, end in self.breaks, stiff)
            return replace(plan, price=_price(len(stepper.tableau.weights), plan.length))

        plans = [planned(self.stepper, min(self.step, stable))]
        if self.step <= stable:
            return plans[0]
        if spreading > rule.STIFF_RATIO * outflow:
            reached = self._stiff.length or rule.STIFF_FIRST * stable
            reached = next_end(time, min(reached, rule.REACH_SHARE * rule.STAGES_MAX**2 / emptying), ends) - time
            stiff = planned(Rkc2.reaching(2 * reached * emptying), reached, stiff=True)
            gain = rule.UNKNOWN_GAIN if exact is not None and self._stiff.growing else 1.0
            plans.append(replace(stiff, price=stiff.price / gain))
        if exact is not None:
            allowed = min(exact.longest, rule.EXACT_CFL / exact.outflow if exact.outflow > 0 else np.inf)
            other = planned(_DOP853, min(self._exact.length or rule.EXACT_FIRST * self.step, allowed))
            plans.append(replace(other, exact=exact, price=_price(exact.price * exact.stages, other.length)))
        return min(plans, key=lambda each: each.price)

    def allowed(self, plan: Plan, pace: Callable[[], float]) -> float:
        """Relative error of a step as planned, from a solution that moves by so many of its widths per unit time."""
        if not plan.stiff:
            return self.tolerance
        changed = plan.length * max(pace(), 1.0 / plan.end)
        return min(_STIFF_SHARE, _STIFF_SUM * changed) * self.tolerance

    def vanished(self, time: float, target: float) -> bool:
        """Whether steps have become too short to go on."""
        return self.step < SHORTEST_STEP * max(abs(time), min(target - time, 1.0))

    def judge(self, plan: Plan, error: float, limited: bool) -> bool:
        """Whether a step of that error (in units of what is allowed) is taken; plans the next one."""
        controller = self._stiff if plan.stiff else self._exact if plan.exact is not None else self._usual
        accepted = controller.judge(plan.length, error, plan.stepper.error_order)
        self.counts["limited"] += int(limited)
        self.counts["steps" if accepted else "rejected"] += 1
        self.counts["stiff"] += int(plan.stiff)
        self.counts["exact"] += int(plan.exact is not None)
        for other in (self._stiff, self._exact):
            if other is not controller:
                growth = rule.REGROWTH_REJECTED if other.rejected else rule.REGROWTH
                other.length = min(growth * other.length, other.length + rule.REGROWTH_SHARE * plan.length)
        if accepted and plan.jump:
            self._usual.forget()
            self._stiff.forget()
            self._exact.forget()
        return accepted

    @property
    def _controllers(self) -> tuple[Controller, ...]:
        return self._usual, self._stiff, self._exact

    def arrays(self) -> dict[str, AnyArray]:
        """What `restore` needs."""
        return {
            "controller": np.array([each.numbers for each in self._controllers]),
            "control_counts": np.array(list(self.counts.values()), dtype=np.int64),
        }

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        for controller, numbers in zip(self._controllers, arrays["controller"].tolist(), strict=True):
            controller.restore(numbers)
        self.counts = dict(zip(self.counts, arrays["control_counts"].tolist(), strict=True))


def _price(work: float, length: float) -> float:
    """Of a unit of time; infinite where a step is too short to go anywhere."""
    return work / length if length > 0.0 else np.inf
