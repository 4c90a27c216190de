"""How long the next step is. Everything depends on the solution and on where steps have to end, on nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mfpde.solvers.steppers import gif853, ssprk3, ssprk54
from mfpde.solvers.steppers.explicit import Tableau
from mfpde.typing import AnyArray

__all__ = ["CFL", "StepControl", "tableau_of"]

_CAUTION, _MOST_GROWTH, _LEAST = 0.9, 5.0, 0.2
_SHORTEST = 2.0**-48  # of the time

#: of a cell that may leave it in a step; what goes beyond would be unstable where cells are full
CFL = {"dop853": 2.5, "ssprk54": 1.4, "ssprk3": 0.9}


def tableau_of(stepper: str) -> Tableau:
    """The scheme of that name."""
    if stepper == "dop853":  # gif853 without a linear part
        errors = np.array([gif853.ERROR_FIVE[: gif853.STAGES], gif853.ERROR_THREE[: gif853.STAGES]])
        return Tableau(gif853.ORDER, gif853.NODES, gif853.STAGE_WEIGHTS, gif853.WEIGHTS, errors, gif853.ORDER)
    return {"ssprk54": ssprk54.TABLEAU, "ssprk3": ssprk3.TABLEAU}[stepper]


class StepControl:
    """`cfl` bounds what leaves a cell, `tolerance` the estimated error of a step, whose power of h is `error_order`."""

    def __init__(self, cfl: float, tolerance: float, error_order: int) -> None:
        self._cfl, self.tolerance, self._error_order = cfl, tolerance, error_order
        self.proposed = 0.0
        self._rejected = False
        self.counts = {"steps": 0, "rejected": 0, "limited": 0}

    def step(self, time: float, end: float, outflow: float) -> float:
        """Length of the next step, which must not pass `end` and does not leave a tiny rest before it."""
        length = min(self.proposed, self._cfl / outflow if outflow > 0 else np.inf)
        left = end - time
        if length >= left * (1 - 1e-9):
            return left
        return min(length, 0.5 * left) if 2 * length > left else length

    def vanished(self, time: float, end: float) -> bool:
        """Whether steps have become too short to go on."""
        return self.proposed < _SHORTEST * max(abs(time), min(end - time, 1.0))

    def judge(self, length: float, error: float, limited: bool) -> bool:
        """Whether a step of that length and error (in units of what is allowed) is taken; plans the next one."""
        factor = _LEAST
        if np.isfinite(error):
            factor = _MOST_GROWTH if error == 0 else _CAUTION * error ** (-1 / self._error_order)
        factor = min(max(factor, _LEAST), _MOST_GROWTH)
        self.counts["limited"] += int(limited)
        if not error <= 1:
            self.counts["rejected"] += 1
            self.proposed, self._rejected = length * min(factor, 0.9), True
            return False
        self.counts["steps"] += 1
        proposed = length * (min(factor, 1.0) if self._rejected else factor)
        # a step cut short by an end or by the cells says nothing against longer ones
        self.proposed = max(proposed, self.proposed) if length < self.proposed else proposed
        self._rejected = False
        return True

    def arrays(self) -> dict[str, AnyArray]:
        """What `restore` needs."""
        return {
            "control_proposed": np.array([self.proposed]),
            "control_counts": np.array([*self.counts.values(), int(self._rejected)], dtype=np.int64),
        }

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self.proposed = float(arrays["control_proposed"][0])
        *counts, rejected = (int(count) for count in arrays["control_counts"])
        self.counts, self._rejected = dict(zip(self.counts, counts, strict=True)), bool(rejected)
