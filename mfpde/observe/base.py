"""What can be measured of a solution, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from mfpde.measure import Measure
from mfpde.specification import Specification
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.problem import Equation

__all__ = ["Instant", "Observable", "Series"]


@dataclass(frozen=True)
class Series:
    """A real quantity over time: what a file says of it.

    `extent` names and sizes its own dimensions, `(("mode", 16),)` for instance.
    """

    long_name: str
    units: str = "1"
    extent: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Instant:
    """All an observable may look at: the time, the measure, the equation, how fast the density moves, and what only the
    integration knows."""

    time: float
    measure: Measure
    equation: Equation
    residual: Callable[[], float]
    facts: Mapping[str, float] = field(default_factory=dict)


class Observable(Specification, ABC):
    """A quantity of `observe:`. One observable may give several series (an order parameter and its phase)."""

    citations: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def series(self) -> dict[str, Series]:
        """The series it writes, by name."""

    @abstractmethod
    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        """Their values at one instant."""

    def unfit(self, equation: Equation) -> str | None:
        """Why it has no meaning for that equation, or None."""
        return None
