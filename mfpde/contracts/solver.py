"""What every solver answers: can it do this equation, and a running integration of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from mfpde.geometry import Layout
from mfpde.measure import Measure
from mfpde.specification import Part
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem

__all__ = ["PROMISED", "SHOWN", "Accuracy", "Integration", "Progress", "Solver", "State"]


#: tolerances that the error stays below: what every solver promises
PROMISED = 10.0

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


@dataclass(frozen=True)
class Accuracy:
    """Whether a solver kept its promise, as data.

    `promised` is what the error of the density (of moments, for Gaussians) was to stay below, relative to its peak;
    `estimate` what the solver knows of the error that was made; `kept` is None where it cannot tell. `cause` says what
    made the error large or unknown, in one word: edges, kinks, tails, cells, earlier (cells at an output time that has
    passed), modes, poles or amplification.

    >>> import mfpde
    >>> run = mfpde.solve(mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "noise": {"kappa": 1},
    ...     "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta)"},
    ...     "time": {"until": 1},
    ... }))
    >>> run.outcome.accuracy.promised, run.outcome.accuracy.kept
    (1e-07, True)
    """

    promised: float | None = None
    estimate: float | None = None
    kept: bool | None = None
    cause: str = ""

    def __str__(self) -> str:
        """A sentence where there is something to say: about a promise that was not kept, or perhaps not."""
        if self.kept or self.cause not in _SENTENCES:
            return ""
        more = " or more" if self.cause == "kinks" else ""
        size = "" if self.estimate is None else f"{self.estimate:.1g} of the peak{more}"
        return _SENTENCES[self.cause].format(size=size)


_OF_CELLS = "the cells leave an error of about {size}; raise solver.cells"
_SENTENCES = {
    "edges": "the initial data have edges inside cells, near which the density is off by {size} or more (moments by "
    "far less)",
    "tails": "attention looks far into tails beyond the cells, which are only estimated; hold the run against "
    "solver.kind: characteristics",
    "cells": _OF_CELLS,
    "earlier": "at an earlier output time the cells left an error of about {size}, less at the end; raise solver.cells",
    "kinks": _OF_CELLS,
    "kernel": "the kernel is not smooth, or changes with the density or in time: sums over the grid see its kinks to "
    "second order only",
    "poles": "in so many dimensions densities at the poles, where there is hardly any mass, are known to {size} only; "
    "integrals are as promised",
    "amplification": "an unstable state was left, or a pole approached: rounding errors may have grown to {size}",
}


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

    def copies(self) -> list[Measure]:
        """The present laws of independent copies, of which `measure` is the mean."""
        return [self.measure()]

    @abstractmethod
    def fields(self) -> dict[str, Float]:
        """What a snapshot stores: the arrays that the layout names."""

    @abstractmethod
    def residual(self) -> float:
        """`int |d_t mu|`: how fast the density moves, per unit time."""

    @abstractmethod
    def state(self) -> dict[str, AnyArray]:
        """Everything needed to continue bit for bit, as named arrays.

        They may be the integration's own, which change with its next step: whoever keeps them copies them. An array
        with the bytes of one of the `fields` costs nothing in a file, which refers to the snapshot.
        """

    @abstractmethod
    def statistics(self) -> dict[str, float]:
        """Numbers for the log: steps, rejected steps, evaluations, modes, ..."""

    def counts(self) -> dict[str, float]:
        """Those of them that are known at once: whoever watches a run asks for them ten times a second."""
        return self.statistics()

    def accuracy(self) -> Accuracy:
        """Whether the promise of the solver's tolerance has been kept so far."""
        return Accuracy()

    def facts(self) -> dict[str, float]:
        """What it alone knows of the solution and observables ask for, under the names in its solver's `facts`."""
        return {}

    def trail(self, since: int) -> dict[str, Float]:
        """New rows, from number `since` on, of the arrays in `layout.trail`. `Solver.resume` gets them all back."""
        return {}


class Solver(Part, ABC):
    """Settings of one solver. Light: compiled code is imported by `start`, not before."""

    citations: ClassVar[tuple[str, ...]] = ()
    #: of what `Integration.state` holds: raised when states of earlier releases can no longer be continued
    state_version: ClassVar[int] = 1
    #: statistics that people are told on the way and at the end, in this order
    counts: ClassVar[tuple[str, ...]] = ("steps",)
    #: `auto` takes the fitting solver with the greatest preference (`preference_for`)
    preference: ClassVar[int] = 0
    #: what its measures are, one of `SHOWN`; a form (`mfpde.solvers.forms`) stores each
    shows: ClassVar[str] = "density"
    #: kinds of normalization that it can solve besides none
    normalizations: ClassVar[frozenset[str]] = frozenset()
    #: kinds of noise that it can solve besides kappa: `matrix`, `common`
    noises: ClassVar[frozenset[str]] = frozenset()
    #: whether it solves a limit of the equation, and not the equation itself: `auto` takes none of these
    limit: ClassVar[bool] = False
    #: meanings of time that it knows, first the one that it has without `time.clock`
    clocks: ClassVar[tuple[str, ...]] = ("physical",)
    #: whether it goes on where clusters have become too narrow for a grid or for modes
    follows_clusters: ClassVar[bool] = False
    #: names of what `Integration.facts` tells
    facts: ClassVar[frozenset[str]] = frozenset()

    def sources(self, equation: Equation, statistics: Mapping[str, Any]) -> tuple[str, ...]:
        """Keys of the papers behind what it did for that equation, by a run's statistics; without them (an empty
        mapping) behind what it may do."""
        return self.citations

    def told(self) -> Solver:
        """With some value for each setting that has no default and that an equation may need."""
        return self

    def refusal(self, equation: Equation) -> str | None:
        """Why it does not take that equation, or None: a block that it has not said to know, or `unfit`."""
        scheme = equation.normalization
        if scheme is not None and scheme.kind not in self.normalizations:
            return f"it has no normalization: {scheme.kind}"
        unknown = sorted(equation.noise.peculiar - self.noises)
        if unknown:
            return f"it has no noise.{unknown[0]}"
        return self.unfit(equation)

    def preference_for(self, equation: Equation) -> int:
        """Its preference among those that fit that equation."""
        return self.preference

    def ranks_unfit(self, equation: Equation) -> str | None:
        """Why it cannot spread a run of that equation over ranks, or None if it can."""
        return "it has no ranks"

    @property
    def shown_cells(self) -> int | None:
        """Cells along each axis of the grid on which `run.density` and pictures show measures that have none of their
        own (`CarriedMeasure.on_cells`); None where they show these as they are."""
        return None

    def check_scales(self, task: InitialValueProblem) -> None:
        """Refuse, with a `ProblemError`, initial data or a first motion so large that numbers overflow."""

    def falls_short(self, task: InitialValueProblem) -> str | None:
        """Why it will not keep the promise of its tolerance, as far as is known without computing."""
        return None

    def early_end(self, task: InitialValueProblem) -> Progress | None:
        """How, and when, its run would end before `task.until`, as far as a pilot run of a few seconds tells."""
        return None

    def remarks(self, task: InitialValueProblem) -> tuple[str, ...]:
        """What there is to know of that problem before the first step, a sentence each, for the price of a pilot run; a
        `ProblemError` where settings do not fit the initial measure."""
        return ()

    @abstractmethod
    def unfit(self, equation: Equation) -> str | None:
        """Why this solver cannot do that equation, made of blocks that it knows, or None if it can. No computing."""

    @property
    def copy_count(self) -> int | None:
        """How many independent copies a run has; None where its snapshots have no axis of them."""
        return None

    @abstractmethod
    def start(self, task: InitialValueProblem) -> Integration:
        """The integration at t = 0. Whatever is wrong is raised here, before the first step."""

    @abstractmethod
    def resume(self, task: InitialValueProblem, state: Mapping[str, AnyArray]) -> Integration:
        """The integration that had this `state`, which goes on with the same bits. Nothing that the start took time
        to find is looked for again."""
