"""What can be measured of a solution, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from mfpde.contracts.solver import SHOWN, Solver
from mfpde.geometry import Geometry, Layout
from mfpde.measure import Measure
from mfpde.specification import Part
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Instant", "Observable", "Series"]

#: what an axis has to show: any number; one whose order of magnitude counts; a gain or a loss, about zero; an angle; a
#: whole number; a number between 0 and 1, which may share its axes with others of the same label
Scale: TypeAlias = Literal["value", "magnitude", "balance", "angle", "count", "share"]


@dataclass(frozen=True)
class Series:
    """A real quantity over time: what a file says of it, and how a figure shows it.

    `extent` names and sizes its own dimensions, `(("mode", 16),)` for instance; None is as many as the run's snapshots
    have of them. `curves` are what a legend calls the entries of a vector; without them only a single entry is drawn,
    and not even that when the series is `listed`: when it has as many entries as the user asked for.
    """

    long_name: str
    units: str = "1"
    extent: tuple[tuple[str, int | None], ...] = ()
    #: title of its axes, where that is not the name
    label: str = ""
    scale: Scale = "value"
    curves: tuple[str, ...] = ()
    listed: bool = False
    #: of a histogram, what its entries count: values in equal intervals between these two
    bins: tuple[float, float] | None = None
    #: drawn before others
    leads: bool = False
    #: never increases
    falls: bool = False
    #: the series that says the same
    repeats: str = ""
    #: the series whose direction it is; nobody asked for it by name, and it is drawn when it turns
    direction_of: str = ""


@dataclass(frozen=True)
class Instant:
    """All an observable may look at: the time, the measure, the equation (with the coefficients of that time), how
    fast the density moves, what only the integration knows, and the measures of all independent copies, of which
    `measure` is one or, for what is `of_run`, the mean."""

    time: float
    measure: Measure
    equation: Equation
    residual: Callable[[], float]
    facts: Mapping[str, float] = field(default_factory=dict)
    copies: tuple[Measure, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "measure", self.measure.concrete)
        object.__setattr__(self, "copies", self.copies or (self.measure,))


class Observable(Part, ABC):
    """A quantity of `observe:`. One observable may give several series (an order parameter and its phase)."""

    citations: ClassVar[tuple[str, ...]] = ()
    #: kinds of geometry it is made for; none named are all
    spaces: ClassVar[tuple[str, ...]] = ()
    #: what it can look at, of what solvers show (`Solver.shows`); none named is all
    looks_at: ClassVar[tuple[str, ...]] = ()
    #: something that only some integrations know (`Solver.facts`)
    fact: ClassVar[str | None] = None
    #: whether it tells of a run as a whole; all others are had of every independent copy
    of_run: ClassVar[bool] = False
    #: a field that only some snapshots have (`Layout.fields`)
    needs: ClassVar[str | None] = None

    @abstractmethod
    def series(self, geometry: Geometry) -> dict[str, Series]:
        """The series it writes on that space, by name. The names are the same on all."""

    def series_of(self, geometry: Geometry, copies: int | None) -> dict[str, Series]:
        """Those of a run of so many independent copies: a number each, unless it tells of the run as a whole."""
        found = self.series(geometry)
        if copies is None or self.of_run:
            return found
        return {name: replace(one, extent=(("copy", copies), *one.extent)) for name, one in found.items()}

    @abstractmethod
    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        """Their values at one instant."""

    def unfit(self, equation: Equation) -> str | None:
        """Why it has no meaning for that equation, or None."""
        if self.spaces and not equation.geometry.counts_as(*self.spaces):
            return f"it is made for the {' and the '.join(self.spaces)}, not for the {equation.geometry.name}"
        return None

    def unfit_solver(self, solver: Solver, equation: Equation) -> str | None:
        """Why that solver cannot give it for that equation, or None."""
        looks_at = self.looked_at(equation)
        if looks_at and solver.shows not in looks_at:
            wanted = " or ".join(SHOWN[one] for one in looks_at)
            return f"it looks at {wanted}, and the {solver.kind} solver shows {SHOWN[solver.shows]}"
        if self.fact is not None and self.fact not in solver.facts:
            return f"the {solver.kind} solver cannot tell it"
        return None

    def most_tokens(self, equation: Equation) -> int | None:
        """So many tokens it can be had of, where it takes every pair of them; None is any number."""
        return None

    def unfit_layout(self, layout: Layout, equation: Equation) -> str | None:
        """Why snapshots of that layout, of the run about to start, do not give it, or None."""
        if self.needs is not None and self.needs not in layout.fields:
            return f"snapshots have no {self.needs}"
        count, most = layout.extents.get("particle", 0), self.most_tokens(equation)
        if layout.form == "particles" and most is not None and count > most:
            return f"it takes every pair of tokens, for up to {most:,} of them; here are {count:,}"
        return None

    def looked_at(self, equation: Equation) -> tuple[str, ...]:
        """What it can look at (`Solver.shows`) for that equation; none named is all."""
        return self.looks_at
