"""How far rounding errors may have grown: no tolerance governs them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mfpde.contracts import Accuracy
from mfpde.typing import AnyArray

__all__ = ["Amplification"]

#: of the largest residual so far, below which residuals are rounding errors themselves
_ROUNDING = 1e-12


class Amplification:
    """`max r(t) / r(s)` over s < t, r the residual.

    Where coefficients do not depend on time, the speed of a solution solves the linearised equation along it: so much
    a perturbation in its direction has grown. Leaving an unstable state multiplies what rounding errors have changed
    there. Elsewhere nothing is known, and nothing said.
    """

    def __init__(self, autonomous: bool) -> None:
        self._autonomous = autonomous
        self._least, self._greatest, self._growth = np.inf, 0.0, 1.0

    def see(self, residual: float) -> None:
        """Called at output times, in order."""
        if self._autonomous and 0 < residual < np.inf:
            self._greatest = max(self._greatest, residual)
            self._least = max(min(self._least, residual), _ROUNDING * self._greatest)
            self._growth = max(self._growth, residual / self._least)

    def judged(self, accuracy: Accuracy) -> Accuracy:
        """The same where rounding errors cannot have grown beyond what is promised, otherwise that nobody knows."""
        grown = float(np.finfo(float).eps) * self._growth
        if accuracy.kept is not True or accuracy.promised is None or grown <= accuracy.promised:
            return accuracy
        return Accuracy(accuracy.promised, grown, None, "amplification")

    def arrays(self) -> dict[str, AnyArray]:
        """What `restore` needs."""
        return {"amplification": np.array([self._least, self._greatest, self._growth])}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self._least, self._greatest, self._growth = (float(number) for number in arrays["amplification"])
