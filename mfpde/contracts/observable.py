"""What can be measured of a solution, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from mfpde.contracts.solver import Solver
from mfpde.geometry import Geometry
from mfpde.measure import Measure
from mfpde.specification import Part
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Instant", "Observable", "Series"]


@dataclass(frozen=True)
class Series:
    """A real quantity over time: what a file says of it.

    `extent` names and sizes its own dimensions, `(("mode", 16),)` for instance; None is as many as the run's snapshots
    have of them.
    """

    long_name: str
    units: str = "1"
    extent: tuple[tuple[str, int | None], ...] = ()


@dataclass(frozen=True)
class Instant:
    """All an observable may look at: the time, the measure, the equation (with the coefficients of that time), how
    fast the density moves, and what only the integration knows."""

    time: float
    measure: Measure
    equation: Equation
    residual: Callable[[], float]
    facts: Mapping[str, float] = field(default_factory=dict)


class Observable(Part, ABC):
    """A quantity of `observe:`. One observable may give several series (an order parameter and its phase)."""

    citations: ClassVar[tuple[str, ...]] = ()
    #: kinds of geometry it is made for; none named are all
    spaces: ClassVar[tuple[str, ...]] = ()
    #: what it can look at, of what solvers show (`Solver.shows`); none named is all
    looks_at: ClassVar[tuple[str, ...]] = ()
    #: something that only some integrations know (`Solver.facts`)
    fact: ClassVar[str | None] = None
    #: a field that only some snapshots have (`Layout.fields`)
    needs: ClassVar[str | None] = None

    @abstractmethod
    def series(self, geometry: Geometry) -> dict[str, Series]:
        """The series it writes on that space, by name. The names are the same on all."""

    @abstractmethod
    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        """Their values at one instant."""

    def unfit(self, equation: Equation) -> str | None:
        """Why it has no meaning for that equation, or None."""
        kind = equation.geometry.kind
        if self.spaces and kind not in self.spaces:
            return f"it is made for the {' and the '.join(self.spaces)}, not for the {kind}"
        return None

    def unfit_solver(self, solver: Solver, equation: Equation) -> str | None:
        """Why that solver cannot give it for that equation, or None."""
        looks_at = self.looked_at(equation)
        if looks_at and solver.shows not in looks_at:
            wanted = " or ".join(_WORDS[one] for one in looks_at)
            return f"it looks at {wanted}, and the {solver.kind} solver shows {_WORDS[solver.shows]}"
        if self.fact is not None and self.fact not in solver.facts:
            return f"the {solver.kind} solver cannot tell it"
        return None

    def looked_at(self, equation: Equation) -> tuple[str, ...]:
        """What it can look at (`Solver.shows`) for that equation; none named is all."""
        return self.looks_at


_WORDS = {
    "density": "a density on a grid",
    "gaussian": "a Gaussian",
    "particles": "particles",
    "characteristics": "tokens that carry a density",
}
