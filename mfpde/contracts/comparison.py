"""What every comparison answers: a companion that follows the run, and how far apart they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Protocol

from mfpde.contracts.agreement import Agreement
from mfpde.contracts.observable import Series
from mfpde.contracts.solver import Solver
from mfpde.specification import Part
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.measure import Measure

__all__ = ["Companion", "Comparison"]


class Companion(Protocol):
    """A second solution of the same problem, taken along."""

    #: when and why it ended before the run did; empty while it goes on
    end: str

    def follow(self, time: float) -> None:
        """Go to that time; nothing happens beyond the end of a solution that has one."""

    def distance(self, measure: Measure) -> dict[str, float | Float]:
        """How far the measure is from it, by the names of the series; infinite where it has ended."""


class Comparison(Part, ABC):
    """Something else that knows the solution, to hold the run against."""

    citations: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def unfit(self, equation: Equation, solver: Solver) -> str | None:
        """Why a run of that solver cannot be compared, or None."""

    @abstractmethod
    def series(self) -> dict[str, Series]:
        """What it writes."""

    @abstractmethod
    def start(self, task: InitialValueProblem) -> Companion:
        """The companion at t = 0."""

    @abstractmethod
    def agreement(self, times: Float, distances: Float) -> Agreement:
        """What a run's series came to."""
