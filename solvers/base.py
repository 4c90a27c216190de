"""What every solver answers: can it do this problem, and a running integration of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from mfpde.geometry import Layout
from mfpde.measure import Measure
from mfpde.specification import Specification
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.problem import Equation, Problem

__all__ = ["SHOWN", "Integration", "Progress", "Solver", "State"]


#: what a state can be, in words: what solvers show, forms store and observables look at
SHOWN = {
    "density": "a density on a grid",
    "gaussian": "a Gaussian",
    "particles": "particles",
    "characteristics": "tokens that carry a density",
}


class State(Enum):
    """How an integration stands after a call of `advance`."""

    UNDER_WAY = "under way"
    REACHED = "reached"
    BLOW_UP = "blow-up"
    RESOLUTION_LOST = "resolution lost"
    NOT_FINITE = "not finite"


@dataclass(frozen=True)
class Progress:
    """What `advance` came to; the advice says what would help when it cannot go on.

    Of a blow-up `time` is when it happens, extrapolated, and `uncertainty` how far that may be wrong.
    """

    state: State
    message: str = ""
    advice: str = ""
    time: float | None = None
    uncertainty: float | None = None


class Integration(ABC):
    """A solution on its way: everything that changes while a run goes on, and nothing else."""

    @property
    @abstractmethod
    def time(self) -> float:
        """Where the solution stands, a step end."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """What a snapshot of the present state looks like (made by `mfpde.solvers.forms`). During a run axes may
        become finer, or longer by whole cells; nothing else changes."""

    @abstractmethod
    def advance(self, target: float, budget: int) -> Progress:
        """Step towards `target`, which is hit exactly, for about `budget` microseconds of work counted in operations,
        not in clock time. The sequence of steps does not depend on how the way is cut into calls."""

    @abstractmethod
    def measure(self) -> Measure:
        """The present law of tokens."""

    @abstractmethod
    def fields(self) -> dict[str, Float]:
        """What a snapshot stores: the arrays that the layout names."""

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

    def facts(self) -> dict[str, float]:
        """What it alone knows of the solution and observables ask for, under the names in its solver's `facts`."""
        return {}

    def trail(self, since: int) -> dict[str, Float]:
        """New rows, from number `since` on, of the arrays in `layout.trail`. `restore` gets them all back."""
        return {}


class Solver(Specification, ABC):
    """Settings of one solver. Light: compiled code is imported by `start`, not before."""

    citations: ClassVar[tuple[str, ...]] = ()
    #: `auto` takes the fitting solver with the greatest preference
    preference: ClassVar[int] = 0
    #: what its measures are, one of `SHOWN`; a form (`mfpde.solvers.forms`) stores each
    shows: ClassVar[str] = "density"
    #: names of what `Integration.facts` tells
    facts: ClassVar[frozenset[str]] = frozenset()

    def sources(self, equation: Equation, statistics: Mapping[str, Any]) -> tuple[str, ...]:
        """Keys of the papers behind what it did for that equation, by a run's statistics; without them (an empty
        mapping) behind what it may do."""
        return self.citations

    @abstractmethod
    def unfit(self, equation: Equation) -> str | None:
        """Why this solver cannot do that equation, or None if it can. No computing."""

    @abstractmethod
    def start(self, problem: Problem) -> Integration:
        """The integration at t = 0. Whatever is wrong is raised here, before the first step."""
