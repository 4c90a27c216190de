"""The equation: where tokens live, what moves them, how much noise there is, and where they start. No numerics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from mfpde.attention import Attention, Interaction, Law, PointwiseDrift, Velocity
from mfpde.coefficients import NumberInTime, NumberSchedule, at_time, breaks_of
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.measure import Initial, Measure
from mfpde.specification import OfFamily, Specification

__all__ = ["Equation", "InitialValueProblem", "Noise"]


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

    @property
    def strongest(self) -> float:
        """The largest D at any time."""
        return max(self.diffusion_at(time) for time in (0.0, *self.breaks()))

    def breaks(self) -> tuple[float, ...]:
        """Times at which kappa jumps or has a kink, ascending."""
        return breaks_of(self)


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
    def autonomous(self) -> bool:
        """Whether no coefficient depends on time."""
        return self.velocity.constant and not self.noise.breaks()

    @property
    def velocity(self) -> Velocity:
        """All that moves a token besides noise."""
        return Velocity(self.law, self.drift)


@dataclass(frozen=True)
class InitialValueProblem:
    """What a solver solves: an equation, from its initial measure to the time `until`."""

    equation: Equation
    until: float

    @cached_property
    def initial(self) -> Measure:
        """The initial measure, made when it is first looked at."""
        return self.equation.initial_measure()
