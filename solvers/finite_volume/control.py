"""How long the next step is. Everything depends on the solution and on where steps have to end, on nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mfpde.solvers.steppers import gif853, ssprk3, ssprk54
from mfpde.solvers.steppers.explicit import Tableau
from mfpde.solvers.steppers.rkc2 import rkc2, stages_for
from mfpde.typing import AnyArray

__all__ = ["Plan", "StepControl"]

_CAUTION, _MOST_GROWTH, _LEAST = 0.9, 5.0, 0.2
_SHORTEST = 2.0**-48  # of the time
_STIFF = 5.0  # times faster than transport has diffusion to empty cells, for schemes that are made for it
_MOST_STAGES = 100
_TRY_AGAIN = 1.1

#: of a cell that may leave it in a step; what goes beyond would be unstable where cells are full
CFL = {"dop853": 2.5, "ssprk54": 1.4, "ssprk3": 0.9}


def tableau_of(stepper: str) -> Tableau:
    """The scheme of that name."""
    if stepper == "dop853":  # gif853 without a linear part
        errors = np.array([gif853.ERROR_FIVE[: gif853.STAGES], gif853.ERROR_THREE[: gif853.STAGES]])
        return Tableau(gif853.ORDER, gif853.NODES, gif853.STAGE_WEIGHTS, gif853.WEIGHTS, errors, gif853.ORDER)
    return {"ssprk54": ssprk54.TABLEAU, "ssprk3": ssprk3.TABLEAU}[stepper]


@dataclass(frozen=True)
class Plan:
    """A step to try."""

    tableau: Tableau
    length: float
    stiff: bool


class StepControl:
    """Steps of the named scheme, no longer than what empties `cfl` cells and than what `tolerance` allows; or, where
    diffusion would make them many, of `rkc2`, whichever gets further for its evaluations."""

    def __init__(self, stepper: str, cfl: float | None, tolerance: float) -> None:
        self.tableau, self._cfl, self.tolerance = tableau_of(stepper), cfl or CFL[stepper], tolerance
        self.proposed = 0.0
        self._stiff_proposed = 0.0
        self._rejected = False
        self._last = (0.0, 1.0)  # length and error of the step before
        self.counts = {"steps": 0, "rejected": 0, "limited": 0, "stiff": 0}

    def plan(self, time: float, end: float, outflow: float, spreading: float) -> Plan:
        """The next step, which does not pass `end` and does not leave a tiny rest before it."""
        emptying = outflow + spreading
        longest = self._cfl / emptying if emptying > 0 else np.inf
        length, tableau, stiff = min(self.proposed, longest), self.tableau, False
        if self.proposed > longest and spreading > _STIFF * outflow:
            reached = self._stiff_proposed or 4 * longest
            reached = min(reached, 0.3 * _MOST_STAGES**2 / emptying, end - time)
            stages = stages_for(2 * reached * emptying)
            if (stages + 1) / reached < len(tableau.weights) / length:
                length, tableau, stiff = reached, rkc2(stages), True
        left = end - time
        if length >= left * (1 - 1e-9):
            length = left
        elif 2 * length > left:
            length = 0.5 * left
        return Plan(tableau, length, stiff)

    def vanished(self, time: float, end: float) -> bool:
        """Whether steps have become too short to go on."""
        return self.proposed < _SHORTEST * max(abs(time), min(end - time, 1.0))

    def judge(self, plan: Plan, error: float, limited: bool) -> bool:
        """Whether a step of that error (in units of what is allowed) is taken; plans the next one."""
        factor = _LEAST
        if np.isfinite(error):
            factor = _MOST_GROWTH if error == 0 else _CAUTION * error ** (-1 / plan.tableau.error_order)
        factor = min(max(factor, _LEAST), _MOST_GROWTH)
        accepted = bool(error <= 1)
        self.counts["limited"] += int(limited)
        self.counts["steps" if accepted else "rejected"] += 1
        self.counts["stiff"] += int(plan.stiff)
        if not accepted:
            factor = min(factor, 0.9)
        elif not plan.stiff:
            factor = self._foreseen(plan, max(error, 1e-2), min(factor, 1.0) if self._rejected else factor)
        before = self._stiff_proposed if plan.stiff else self.proposed
        # a step cut short by an end or by the cells says nothing against longer ones
        after = max(plan.length * factor, before) if accepted and plan.length < before else plan.length * factor
        if plan.stiff:
            self._stiff_proposed = after
        else:
            self.proposed, self._stiff_proposed = after, _TRY_AGAIN * self._stiff_proposed
        self._rejected = not accepted
        return accepted

    def _foreseen(self, plan: Plan, error: float, factor: float) -> float:
        """That factor, or less where errors grow from step to step, as they do near a pole [gustafsson1994]."""
        length, before = self._last
        self._last = (plan.length, error)
        if length == 0.0:
            return factor
        trend = plan.length / length * (before / error) ** (1 / plan.tableau.error_order)
        return max(min(factor, _CAUTION * error ** (-1 / plan.tableau.error_order) * trend), _LEAST)

    def arrays(self) -> dict[str, AnyArray]:
        """What `restore` needs."""
        return {
            "control_proposed": np.array([self.proposed, self._stiff_proposed, *self._last]),
            "control_counts": np.array([*self.counts.values(), int(self._rejected)], dtype=np.int64),
        }

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self.proposed, self._stiff_proposed, *last = (float(number) for number in arrays["control_proposed"])
        self._last = (last[0], last[1])
        *counts, rejected = (int(count) for count in arrays["control_counts"])
        self.counts, self._rejected = dict(zip(self.counts, counts, strict=True)), bool(rejected)
