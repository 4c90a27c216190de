"""What every solver answers: can it do this problem, and a running integration of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from mfpde.geometry import Layout
from mfpde.measure import Measure
from mfpde.specification import Specification
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.problem import Equation, Problem

__all__ = ["Integration", "Progress", "Solver", "State"]


class State(Enum):
    """How an integration stands after a call of `advance`."""

    UNDER_WAY = "under way"
    REACHED = "reached"
    RESOLUTION_LOST = "resolution lost"
    NOT_FINITE = "not finite"


@dataclass(frozen=True)
class Progress:
    """What `advance` came to; the advice says what would help when it cannot go on."""

    state: State
    message: str = ""
    advice: str = ""


class Integration(ABC):
    """A solution on its way: everything that changes while a run goes on, and nothing else."""

    @property
    @abstractmethod
    def time(self) -> float:
        """Where the solution stands, a step end."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """Axes that show the present state exactly. May become finer, never coarser."""

    @abstractmethod
    def advance(self, target: float, budget: int) -> Progress:
        """Step towards `target`, which is hit exactly, for about `budget` microseconds of work counted in operations,
        not in clock time. The sequence of steps does not depend on how the way is cut into calls."""

    @abstractmethod
    def measure(self) -> Measure:
        """The present law of tokens."""

    @abstractmethod
    def fields(self) -> dict[str, Float]:
        """What a snapshot stores: {"density": array on the layout}."""

    @abstractmethod
    def residual(self) -> float:
        """`int |d_t mu|`: how fast the density moves, per unit time."""

    @abstractmethod
    def state(self) -> dict[str, AnyArray]:
        """Everything needed to continue bit for bit, as named arrays."""

    @abstractmethod
    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Continue from such a state."""

    @abstractmethod
    def statistics(self) -> dict[str, float]:
        """Numbers for the log: steps, rejected steps, evaluations, modes, ..."""


class Solver(Specification, ABC):
    """Settings of one solver. Light: compiled code is imported by `start`, not before."""

    citations: ClassVar[tuple[str, ...]] = ()
    #: `auto` takes the fitting solver with the greatest preference
    preference: ClassVar[int] = 0

    @abstractmethod
    def unfit(self, equation: Equation) -> str | None:
        """Why this solver cannot do that equation, or None if it can. No computing."""

    @abstractmethod
    def start(self, problem: Problem) -> Integration:
        """The integration at t = 0. Whatever is wrong is raised here, before the first step."""
