"""The parsed problem file: an equation, and what to do with it. Frozen, no numerics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from mfpde.attention import Attention, Interaction, Law, PointwiseDrift, Velocity
from mfpde.errors import ProblemError, nearest, shown
from mfpde.geometry import Geometry
from mfpde.measure import Initial, Measure
from mfpde.registry import lookup
from mfpde.schedule import NumberInTime, NumberSchedule, at_time, breaks_of
from mfpde.specification import OfFamily, Real, Specification, Truth, Vector

__all__ = ["Equation", "Noise", "Problem", "Time"]

#: snapshots of a run whose file does not say when to save
DEFAULT_SNAPSHOTS = 100
_MOST_SNAPSHOTS = 1_000_000


class Noise(Specification):
    """`sqrt(2 / kappa) dW` on every token: diffusion constant 1/kappa; kappa = inf (the default) is no noise."""

    kappa: NumberInTime = Field(
        default=math.inf, description="inverse noise strength, greater than 0; infinity is no noise"
    )

    @field_validator("kappa")
    @classmethod
    def _not_beyond_doubles(cls, kappa: float | NumberSchedule) -> float | NumberSchedule:
        for index, value in enumerate(kappa.values if isinstance(kappa, NumberSchedule) else (kappa,)):
            key = f"values.{index}" if isinstance(kappa, NumberSchedule) else ""
            if value <= 0:
                raise ProblemError.at(key, f"must be greater than 0, not {value:g}")
            if value < 1e-300:
                raise ProblemError.at(key, f"must be at least 1e-300, not {value:g}: 1/kappa is beyond a double")
        return kappa

    @property
    def diffusion(self) -> float:
        """D = 1 / kappa, where it does not depend on time."""
        if isinstance(self.kappa, NumberSchedule):
            raise ProblemError.at("noise.kappa", "depends on time; ask noise.diffusion_at(time)")
        return 1.0 / self.kappa

    def diffusion_at(self, time: float) -> float:
        """D = 1 / kappa at that time."""
        return at_time(self, time).diffusion

    def breaks(self) -> tuple[float, ...]:
        """Times at which kappa jumps or has a kink, ascending."""
        return breaks_of(self)


class Time(Specification):
    """How long to run, when to save snapshots, when to observe, and whether to stop early.

    `save_every` or `save_at`, not both; without either, a hundred snapshots. t = 0 and the end are always saved.
    `save: false` keeps only these two. `observe_every` records the observables on times of their own.
    `stop_when_steady`: true, or the distance (integral of |change|) that the density may still move over one more run
    length.
    """

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


class Equation(Specification):
    """`d_t mu + div(mu G_mu) = (1/kappa) Lap mu` on a geometry, from an initial measure.

    >>> import mfpde
    >>> equation = Equation(geometry=mfpde.Circle(), attention=mfpde.Softmax(beta=2), noise={"kappa": 4})
    >>> equation.noise.diffusion, equation.law == mfpde.Softmax(beta=2)
    (0.25, True)
    """

    geometry: Annotated[Geometry, OfFamily("geometry")] = Field(description="where tokens live")
    attention: Annotated[Attention, OfFamily("attention")] | None = Field(
        default=None, description="how tokens move each other"
    )
    interaction: Interaction | None = Field(default=None, description="an even potential in place of attention")
    drift: Annotated[PointwiseDrift, OfFamily("drift")] | None = Field(
        default=None, description="what moves each token on its own, beside the attention"
    )
    noise: Noise = Field(default=Noise(), description="how much noise; none without this block")
    initial: Annotated[Initial, OfFamily("initial")] | None = Field(default=None, description="the law at t = 0")

    @model_validator(mode="after")
    def _one_law(self) -> Equation:
        if self.attention is not None and self.interaction is not None:
            raise ProblemError.at("interaction", "attention and interaction cannot both be given")
        if self.initial is not None and self.initial.weight is not None:
            raise ProblemError.at(
                "initial.weight", "is the share of a component of a mixture; it means nothing on its own"
            )
        return self

    def initial_measure(self) -> Measure:
        """The initial measure on its space, over positions where attention is masked."""
        if self.initial is None:
            raise ProblemError.at("initial", "is missing")
        positions = None if self.attention is None else self.attention.slices()
        if positions is not None:
            return self.initial.over_positions(self.geometry, positions)
        return self.initial.on(self.geometry)

    @property
    def law(self) -> Law | None:
        """What gives a measure its drift: the attention or the interaction; None is pure diffusion."""
        return self.attention or self.interaction

    @property
    def velocity(self) -> Velocity:
        """All that moves a token besides noise."""
        return Velocity(self.law, self.drift)


class Problem(Equation):
    """The equation (geometry, attention or interaction, drift, noise, initial) and what to do with it (solver, time,
    observe, compare).

    >>> problem = Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "attention": {"kind": "unnormalized", "beta": 0},
    ...     "noise": {"kappa": 4},
    ...     "initial": {"kind": "density", "expression": "1 + 0.1*cos(theta)"},
    ...     "time": {"until": 40},
    ... })
    >>> problem.noise.diffusion
    0.25
    """

    title: str | None = Field(default=None, max_length=500, description="what figures and files call it")
    solver: Annotated[Specification, OfFamily("solver")] | None = Field(
        default=None, description="how it is solved; without it, the best that fits"
    )
    time: Time | None = Field(default=None, description="until when, and when to save and observe")
    observe: tuple[Annotated[Specification, OfFamily("observable")], ...] = Field(
        default=(), description="what to measure on the way"
    )
    compare: Annotated[Specification, OfFamily("comparison")] | None = Field(
        default=None, description="something else that knows the solution, to hold the run against"
    )

    @model_validator(mode="before")
    @classmethod
    def _short_observables(cls, data: Any) -> Any:
        """`observe: [mass]` is short for `observe: [{kind: mass}]`."""
        if isinstance(data, Mapping) and isinstance(data.get("observe"), list | tuple):
            observe = [{"kind": item} if isinstance(item, str) else item for item in data["observe"]]
            return {**data, "observe": observe}
        return data

    @field_validator("title")
    @classmethod
    def _one_line(cls, title: str | None) -> str | None:
        if title is not None and not title.isprintable():
            raise ValueError("must be one line of printable characters")
        return title

    @property
    def equation(self) -> Equation:
        """The equation alone."""
        return Equation(
            geometry=self.geometry,
            attention=self.attention,
            interaction=self.interaction,
            drift=self.drift,
            noise=self.noise,
            initial=self.initial,
        )

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
            if str(block) not in type(self).model_fields:
                near = nearest(str(block), type(self).model_fields)
                raise ProblemError.at("", f"no block is called {shown(block)}{near}")
        missing = [block for block in blocks if getattr(self, block) is None]
        if missing:
            raise ProblemError.at("", f"this needs the block{'s' if len(missing) > 1 else ''} {', '.join(missing)}")
