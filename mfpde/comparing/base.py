"""References: whatever else knows the solution. They follow a run (`compare`), and are what validation asks second."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

import numpy as np
from pydantic import BeforeValidator, Field

from mfpde.contracts import PROMISED, Agreement, Comparison, Progress, Series, Solver, State
from mfpde.distances import Distance
from mfpde.errors import ProblemError
from mfpde.registry import lookup
from mfpde.specification import NameOf, Real
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.measure import Measure

__all__ = ["ComparedSolution", "Going", "SecondSolution"]


def _today(distance: Any) -> Any:
    """What files of before say for `maximum`."""
    return "maximum" if distance == "max" else distance


_SLICE_MICROSECONDS = 10_000_000  # work in one call: nothing is reported in between


class Going(Protocol):
    """A solution under way: an integration, or a closed form that is everywhere at once."""

    @property
    def time(self) -> float:
        """How far it has come."""

    def advance(self, target: float, budget: int) -> Progress:
        """Go on to that time."""

    def measure(self) -> Measure:
        """The solution there."""


class ComparedSolution(Comparison, ABC):
    """Something else that knows the solution: the series `distance` says how far the run is from it, and a run that
    goes beyond `tolerance` has failed a check."""

    distance: Annotated[str, NameOf("distance"), BeforeValidator(_today)] = Field(
        default="l1", description="how the run's measure is held against the other one: a kind of distance"
    )
    tolerance: Real = Field(default=1e-6, gt=0, description="largest distance that passes")

    #: kind of the solver that the companion is computed by; empty where it is none
    by: ClassVar[str] = ""
    #: what reports call it
    words: ClassVar[str] = ""

    def solver(self, tolerance: float | None = None) -> Solver:
        """What the companion is computed by."""
        settings = {} if tolerance is None else {"tolerance": tolerance}
        found: Solver = lookup("solver", self.by)(**settings)
        return found

    @property
    def called(self) -> str:
        """In words, what it is computed by."""
        return self.words or f"solver: {self.by}"

    def refusal(self, equation: Equation) -> str | None:
        """Why it does not know the solution of this equation, or None."""
        return self.solver().refusal(equation)

    @property
    def preference(self) -> float:
        """The largest is asked first where nobody has chosen."""
        return self.solver().preference

    def promise(self, tolerance: float) -> float:
        """The error that it promises with that tolerance of its solver."""
        return PROMISED * tolerance

    def begun(self, task: InitialValueProblem, tolerance: float | None = None) -> Going:
        """The solution at t = 0, with that tolerance of its solver."""
        return self.solver(tolerance).start(task)

    def unfit(self, equation: Equation, solver: Solver) -> str | None:
        if self.measured.of_densities and solver.shows != "density":
            return f"the {self.distance} distance needs a density on a grid, and the {solver.kind} solver shows none"
        return self.measured.unfit(equation.geometry) or self.refusal(equation)

    @property
    def measured(self) -> Distance:
        """The distance itself."""
        distance: Distance = lookup("distance", self.distance)()
        return distance

    def series(self) -> dict[str, Series]:
        said = f"{self.distance} distance from {self.kind}"
        return {"distance": Series(said, label="distance from the comparison", scale="magnitude", leads=True)}

    def start(self, task: InitialValueProblem, tolerance: float | None = None) -> SecondSolution:
        return SecondSolution(self, self.begun(task, tolerance))

    def agreement(self, times: Float, distances: Float) -> Agreement:
        place = int(np.argmax(np.where(np.isnan(distances), np.inf, distances)))
        worst = np.inf if np.isnan(distances[place]) else float(distances[place])
        return Agreement(self.kind, self.distance, worst, float(times[place]), self.tolerance)


class SecondSolution:
    """A second solution of the same problem, taken along."""

    def __init__(self, comparison: ComparedSolution, integration: Going) -> None:
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

    def measure(self) -> Measure:
        """The solution where it is."""
        return self._integration.measure()

    def distance(self, measure: Measure) -> dict[str, float | Float]:
        """How far the measure is from it; infinite where it has ended."""
        if self.end:
            return {"distance": np.inf}
        return {"distance": self._comparison.measured.between(measure, self._integration.measure())}
