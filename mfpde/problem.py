"""The parsed problem file: an equation, and what to do with it. Frozen, no numerics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator
from pydantic.fields import FieldInfo

from mfpde.attention import Attention, Interaction, PointwiseDrift
from mfpde.collect_block import Collected
from mfpde.contracts import Comparison, Observable, Series, Solver
from mfpde.equation import Equation, InitialValueProblem, Noise
from mfpde.errors import ProblemError, nearest, shown
from mfpde.geometry import Geometry
from mfpde.measure import Initial
from mfpde.normalization import Normalization
from mfpde.registry import lookup
from mfpde.specification import OfFamily, Real, Specification, Truth, Vector, Whole
from mfpde.sweep_block import SweepBlock

__all__ = ["Bifurcation", "Problem", "Time"]

#: snapshots of a run whose file does not say when to save
DEFAULT_SNAPSHOTS = 100
_MOST_SNAPSHOTS = 1_000_000  # of a run: more are a slip
#: blocks that say what to do with an equation
_TASKS = ("solver", "time", "observe", "compare", "bifurcation", "sweep", "collect")


class Time(Specification):
    """How long to run, when to save snapshots, when to observe, and whether to stop early.

    `save_every` or `save_at`, not both; without either, a hundred snapshots. t = 0 and the end are always saved.
    `save: false` keeps only these two. `observe_every` records the observables on times of their own.
    `stop_when_steady`: true, or the distance (integral of |change|) that the density may still move over one more run
    length.
    """

    clock: Literal["physical", "gradient", "pairing"] | None = Field(
        default=None,
        description="what time is: physical (default); gradient: the way of particles, of root mean square speed 1; "
        "pairing: that of the hardmax limit, its default",
    )
    until: Real = Field(gt=0, lt=math.inf, description="the end")
    save_every: Real | None = Field(default=None, gt=0, lt=math.inf, description="time between snapshots")
    save_at: Vector | None = Field(default=None, description="times of the snapshots")
    observe_every: Real | None = Field(default=None, gt=0, lt=math.inf, description="time between observations")
    save: Truth = Field(default=True, description="false: only the first and the last snapshot")
    stop_when_steady: Truth | Real = Field(default=False, description="end early when the density has come to rest")

    @model_validator(mode="after")
    def _consistent(self) -> Time:
        if self.save_every is not None and self.save_at is not None:
            raise ProblemError.at("save_every", "save_every and save_at cannot both be given")
        if not self.save and (self.save_every is not None or self.save_at is not None):
            raise ProblemError.at(
                "save", "save: false keeps first and last only; it does not go with save_every or save_at"
            )
        for name in ("save_every", "observe_every"):
            step = getattr(self, name)
            if step is not None and self.until / step > _MOST_SNAPSHOTS:
                raise ProblemError.at(
                    name, f"{step:g} makes more than {_MOST_SNAPSHOTS:,} records until {self.until:g}"
                )
        for time in self.save_at or ():
            if not 0 <= time <= self.until:
                raise ProblemError.at("save_at", f"{time:g} lies outside the run, 0 to {self.until:g}")
        if (
            self.stop_when_steady is not False
            and self.stop_when_steady is not True
            and not 0 < self.stop_when_steady < math.inf
        ):
            raise ProblemError.at(
                "stop_when_steady", f"must be true, false or a positive number, not {self.stop_when_steady:g}"
            )
        return self

    @property
    def default_spacing(self) -> bool:
        """Whether it is left to mfpde how far apart snapshots are."""
        return self.save and self.save_every is None and self.save_at is None

    @property
    def spacing(self) -> float:
        """Time between snapshots, where they are evenly spaced."""
        return self.save_every or self.until / DEFAULT_SNAPSHOTS

    @property
    def first_look(self) -> float:
        """The first time after the start that is saved or observed."""
        return min(time for time in (*self.save_times(), *(self.observe_times() or ())) if time > 0)

    def save_times(self) -> list[float]:
        """Times of the snapshots: 0 and the end included, sorted, none twice."""
        if not self.save:
            return [0.0, self.until]
        if self.save_at is not None:
            return sorted({0.0, *self.save_at, self.until})
        return _every(self.spacing, self.until)

    def observe_times(self) -> list[float] | None:
        """Times of the observations when they have times of their own."""
        return None if self.observe_every is None else _every(self.observe_every, self.until)


def _every(step: float, until: float) -> list[float]:
    """0, step, 2 step, ... and the end; each a product, so that no rounding piles up."""
    count = math.floor(until / step * (1 + 1e-12))
    times = [step * index for index in range(count + 1)]
    if until - times[-1] <= 1e-9 * step:
        times.pop()
    return [*times, until] if times else [0.0, until]


class Bifurcation(Specification):
    """Which number moves over which range, and which branches of stationary states are followed.

    Without `branches` all that are found: every mode that leaves the uniform state in the range, what leaves these
    branches, and states that are on none of them. A list names `uniform` and modes.
    """

    parameter: str = Field(
        default="kappa",
        description="`kappa`, `1/kappa`, `beta`, or a number of the file such as `interaction.coefficients.1`",
    )
    range: tuple[Real, Real] = Field(description="its smallest and its largest value")
    branches: tuple[Whole | Literal["uniform"], ...] = Field(
        default=(), description="`uniform` and the modes that leave it; without, all that are found"
    )
    certify: bool = Field(default=False, description="proofs of special points and states: not there yet, refused")

    @model_validator(mode="after")
    def _consistent(self) -> Bifurcation:
        low, high = self.range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ProblemError.at("range", f"must be two finite numbers in ascending order, not [{low:g}, {high:g}]")
        if self.parameter in ("kappa", "noise.kappa", "1/kappa") and low <= 0:
            raise ProblemError.at("range", f"{self.parameter} must be greater than 0, not {low:g}")
        if self.certify:
            raise ProblemError.at("certify", "there are no proofs yet; leave it out, or false")
        for place, mode in enumerate(self.branches):
            if mode != "uniform" and mode < 1:
                raise ProblemError.at(f"branches.{place}", f"a mode is a positive whole number, not {mode}")
        return self


class Problem(Specification):
    """The equation (geometry, attention or interaction, drift, noise, initial) and what to do with it (solver, time,
    observe, compare). In a file, and as arguments, the blocks of the equation stand beside the others.

    >>> problem = Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "attention": {"kind": "unnormalized", "beta": 0},
    ...     "noise": {"kappa": 4},
    ...     "initial": {"kind": "density", "expression": "1 + 0.1*cos(theta)"},
    ...     "time": {"until": 40},
    ... })
    >>> problem.equation.noise == problem.noise, problem.noise.diffusion
    (True, 0.25)
    """

    title: str | None = Field(default=None, max_length=500, description="what figures and files call it")
    equation: Equation = Field(description="where tokens live and how they move; its blocks stand beside the others")
    solver: Annotated[Solver, OfFamily("solver")] | None = Field(
        default=None, description="how it is solved; without it, the best that fits"
    )
    time: Time | None = Field(default=None, description="until when, and when to save and observe")
    observe: tuple[Annotated[Observable, OfFamily("observable")], ...] = Field(
        default=(), description="what to measure on the way"
    )
    compare: Annotated[Comparison, OfFamily("comparison")] | None = Field(
        default=None, description="something else that knows the solution, to hold the run against"
    )

    bifurcation: Bifurcation | None = Field(
        default=None, description="which branches of stationary states are followed, over which parameter"
    )
    sweep: SweepBlock | None = Field(default=None, description="which keys take which values, in every combination")
    collect: tuple[Collected, ...] = Field(default=(), description="what is kept of each point of a sweep")

    @model_validator(mode="before")
    @classmethod
    def _nested(cls, data: Any) -> Any:
        """The blocks of the equation in one, and `observe: [mass]` for what is short for `observe: [{kind: mass}]`."""
        if not isinstance(data, Mapping):
            return data
        given = dict(data)
        whole = given.pop("equation", None)
        if not isinstance(whole, Equation | None):
            raise ProblemError.at("equation", "unknown key: its blocks, such as geometry, stand beside the others")
        inside = {name: given.pop(name) for name in Equation.written_keys() if name in given}
        given["equation"] = {**({} if whole is None else whole.written(given=True)), **inside}
        if isinstance(given.get("observe"), list | tuple):
            given["observe"] = [{"kind": item} if isinstance(item, str) else item for item in given["observe"]]
        return given

    @field_validator("title")
    @classmethod
    def _one_line(cls, title: str | None) -> str | None:
        if title is not None and not title.isprintable():
            raise ValueError("must be one line of printable characters")
        return title

    @classmethod
    def written_keys(cls) -> dict[str, FieldInfo]:
        fields = super().written_keys()
        return {"title": fields["title"], **Equation.written_keys(), **{name: fields[name] for name in _TASKS}}

    def written(self, *, given: bool = False) -> dict[str, Any]:
        blocks = super().written(given=given)
        return {**blocks.pop("equation").written(given=given), **blocks}

    def canonical(self) -> dict[str, Any]:
        blocks = super().canonical()
        return {**blocks.pop("equation"), **blocks}

    @property
    def geometry(self) -> Geometry:
        """Where tokens live."""
        return self.equation.geometry

    @property
    def attention(self) -> Attention | None:
        """How tokens move each other."""
        return self.equation.attention

    @property
    def interaction(self) -> Interaction | None:
        """Potentials that tokens ascend, in place of attention."""
        return self.equation.interaction

    @property
    def drift(self) -> PointwiseDrift | None:
        """What moves each token on its own."""
        return self.equation.drift

    @property
    def normalization(self) -> Normalization | None:
        """Where layers normalise their tokens."""
        return self.equation.normalization

    @property
    def noise(self) -> Noise:
        """How much noise there is."""
        return self.equation.noise

    @property
    def initial(self) -> Initial | None:
        """The law at t = 0."""
        return self.equation.initial

    def posed(self) -> InitialValueProblem:
        """What a solver is given of it."""
        if self.time is None:
            return InitialValueProblem(self.equation, 0.0)
        return InitialValueProblem(self.equation, self.time.until, self.clock, self.time.first_look)

    @property
    def clock(self) -> str:
        """What times mean: as `time.clock` says, or what the solver takes them for."""
        told = None if self.time is None else self.time.clock
        return told or ("physical" if self.solver is None else self.solver.clocks[0])

    def series(self) -> dict[str, Series]:
        """Everything that `observe` and `compare` measure over time, by name."""
        found: dict[str, Series] = {}
        for observable in self.observe:
            found.update(self.series_of(observable))
        return found if self.compare is None else {**found, **self.compare.series()}

    @property
    def of_states(self) -> bool:
        """Whether it asks for stationary states: it has the block `bifurcation`, and no `time`."""
        return self.bifurcation is not None and self.time is None

    def series_of(self, observable: Observable) -> dict[str, Series]:
        """Those of one observable."""
        return observable.series_of(self.geometry, None if self.solver is None else self.solver.copy_count)

    @classmethod
    def from_yaml(cls, path: str | Path, settings: Mapping[str, Any] | None = None) -> Problem:
        """Read a problem file. `settings` change values of it, `{"noise.kappa": 2}`: a text is read as after `--set`,
        anything else is taken as it is. All faults at once, as a `ProblemError`."""
        problem: Problem = lookup("reader", "yaml")(path, settings)
        return problem

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Problem:
        """The same keys as a file, numpy values welcome."""
        problem: Problem = lookup("reader", "dict")(data)
        return problem

    def to_yaml(self) -> str:
        """The problem as a YAML text that reads back to an equal problem."""
        text: str = lookup("reader", "write")(self)
        return text

    def need(self, *blocks: str) -> None:
        """Fail when a block that a command needs is absent."""
        for block in blocks:
            if str(block) not in self.written_keys():
                near = nearest(str(block), self.written_keys())
                raise ProblemError.at("", f"no block is called {shown(block)}{near}")
        missing = [block for block in blocks if getattr(self, block) is None]
        if missing:
            raise ProblemError.at("", f"this needs the block{'s' if len(missing) > 1 else ''} {', '.join(missing)}")
