"""What every time stepper answers, and what it needs to know of an equation."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from mfpde.typing import AnyArray

__all__ = ["OrdinarySystem", "Size", "Step", "Stepper", "System", "combined_error"]

#: relative size of an error of a state
Size: TypeAlias = Callable[[AnyArray], float]
State = TypeVar("State")
Rates = TypeVar("Rates")

_ORDER_THREE_WEIGHT = 0.1  # of the error estimate of order three beside that of order five, as in Hairer's program


class System(ABC, Generic[State, Rates]):
    """An equation `u' = f(t, u)`, discretised by a scheme."""

    #: times at which f jumps or has a kink: steps end there
    breaks: Sequence[float] = ()

    @abstractmethod
    def rhs(self, time: float, state: State) -> Rates:
        """`f(t, u)`."""


class OrdinarySystem(System[AnyArray, AnyArray]):
    """One whose states are arrays."""

    #: where it starts at t = 0
    start: AnyArray
    #: a diagonal part L of `f = L u + N`, which exponential steppers integrate exactly
    linear: AnyArray | None = None

    @classmethod
    def of(cls, slope: Callable[[float, AnyArray], AnyArray], linear: AnyArray | None = None) -> OrdinarySystem:
        """For a function f."""
        return _Given(slope, linear)

    def nonlinear(self, time: float, state: AnyArray) -> AnyArray:
        """`N(t, u)`."""
        return self.rhs(time, state) if self.linear is None else self.rhs(time, state) - self.linear * state

    def sizes(self, state: AnyArray) -> Size:
        """How errors of that state are measured: by the largest entry, unless it knows better."""
        return lambda error: float(np.abs(error).max(initial=0.0))

    def rate(self) -> float:
        """How fast anything moves at first, in the size of errors per unit time."""
        rate = self.sizes(self.start)(self.rhs(0.0, self.start))
        self.forget()
        return rate

    def growth_rate(self, time: float, state: AnyArray) -> float:
        """`d/dt log` of what grows fastest, where the system knows: it tells poles."""
        return 0.0

    def forget(self) -> None:
        """Drop what was kept from earlier calls of `rhs` to make later ones faster."""


class _Given(OrdinarySystem):
    def __init__(self, slope: Callable[[float, AnyArray], AnyArray], linear: AnyArray | None) -> None:
        self._slope, self.linear = slope, linear

    def rhs(self, time: float, state: AnyArray) -> AnyArray:
        return self._slope(time, state)


@dataclass(frozen=True, eq=False)
class Step:
    """One step that was tried; `end` is not finite when its equations could not be solved."""

    time: float
    step: float
    start: AnyArray
    end: AnyArray
    #: what is between `end` and the embedded solutions, the most exact one first
    differences: tuple[AnyArray, ...]

    def error(self, size: Size) -> float:
        """The size of the error."""
        return combined_error([size(each) for each in self.differences])


def combined_error(sizes: Sequence[float]) -> float:
    """Of one embedded solution, or of two, of order five and three, which together shrink like order eight:
    `e_5^2 / (e_5^2 + (e_3 / 10)^2)^{1/2}` [hairer1993]."""
    if len(sizes) == 1:
        return sizes[0]
    five, three = sizes
    together = math.hypot(five, _ORDER_THREE_WEIGHT * three)
    return five * (five / together) if together > 0 else together


class Stepper(ABC):
    """One time scheme. Registered under its name; its class holds what solvers, messages and tests ask."""

    #: the error at a fixed time is O(h^order)
    order: ClassVar[int]
    #: the error estimate of one step is O(h^error_order)
    error_order: ClassVar[int]
    citations: ClassVar[tuple[str, ...]]
    #: of those that march, in tolerances: the largest estimated error of one step for which errors of runs stay below
    #: the promise (`benchmarks/tolerances.py`)
    step_share: ClassVar[float]
    #: `u' = -z u` does not grow in a step for 0 <= h z <= reach
    reach: float
    #: why finite volumes cannot take it, None when they can
    flux_unfit: ClassVar[str | None] = "it has no tableau of an explicit Runge-Kutta scheme"

    @abstractmethod
    def step(self, system: OrdinarySystem, time: float, state: AnyArray, step: float) -> Step:
        """One step from `state`."""
