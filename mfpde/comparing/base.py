"""Comparison of a run with a companion, a reference solution computed along with it."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from mfpde.contracts import Agreement, Comparison, Integration, Series, Solver, State
from mfpde.distance import Distance
from mfpde.errors import ProblemError
from mfpde.registry import lookup
from mfpde.specification import NameOf, Real
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.measure import Measure

__all__ = ["ComparedSolution", "SecondSolution"]

_SLICE_MICROSECONDS = 10_000_000  # work in one call: nothing is reported in between


class ComparedSolution(Comparison, ABC):
    """Something else that knows the solution: the series `distance` says how far the run is from it, and a run that
    goes beyond `tolerance` has failed a check."""

    distance: Annotated[str, NameOf("distance")] = Field(
        default="l1",
        description="l1: integral of |difference|; max: relative to the largest density; mean, covariance: relative",
    )
    tolerance: Real = Field(default=1e-6, gt=0, description="largest distance that passes")

    #: kind of the solver that the companion is computed by
    by: ClassVar[str]

    def solver(self) -> Solver:
        """What the companion is computed by."""
        found: Solver = lookup("solver", self.by)()
        return found

    def unfit(self, equation: Equation, solver: Solver) -> str | None:
        if self.measured.of_densities and solver.shows != "density":
            return f"the {self.distance} distance needs a density on a grid, and the {solver.kind} solver shows none"
        return self.solver().unfit(equation)

    @property
    def measured(self) -> Distance:
        """The distance itself."""
        distance: Distance = lookup("distance", self.distance)()
        return distance

    def series(self) -> dict[str, Series]:
        said = f"{self.distance} distance from {self.kind}"
        return {"distance": Series(said, label="distance from the comparison", scale="magnitude", leads=True)}

    def start(self, task: InitialValueProblem) -> SecondSolution:
        return SecondSolution(self, self.solver().start(task))

    def agreement(self, times: Float, distances: Float) -> Agreement:
        place = int(np.argmax(np.where(np.isnan(distances), np.inf, distances)))
        worst = np.inf if np.isnan(distances[place]) else float(distances[place])
        return Agreement(self.kind, self.distance, worst, float(times[place]), self.tolerance)


class SecondSolution:
    """A second solution of the same problem, taken along."""

    def __init__(self, comparison: ComparedSolution, integration: Integration) -> None:
        self._comparison = comparison
        self._integration = integration
        #: that it ended before the run did, when and why; empty while it goes on
        self.end = ""

    def follow(self, time: float) -> None:
        """Go to that time; nothing happens beyond the end of a solution that has one."""
        while not self.end and self._integration.time < time:
            try:
                progress = self._integration.advance(time, _SLICE_MICROSECONDS)
            except ProblemError as error:
                self._stop("; ".join(fault.message for fault in error.faults))
            else:
                if progress.state not in (State.UNDER_WAY, State.REACHED):
                    self._stop(": ".join(filter(None, [progress.state.value, progress.message])))

    def _stop(self, reason: str) -> None:
        end = f"{self._comparison.kind} ends at t = {self._integration.time:.6g}"
        self.end = f"{end}, nothing to compare with after that: {reason}"

    def distance(self, measure: Measure) -> dict[str, float | Float]:
        """How far the measure is from it; infinite where it has ended."""
        if self.end:
            return {"distance": np.inf}
        return {"distance": self._comparison.measured.between(measure, self._integration.measure())}
