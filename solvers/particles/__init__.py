"""Particles: the tokens themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from mfpde.contracts.solver import Integration, Solver
from mfpde.errors import ProblemError
from mfpde.registry import register
from mfpde.specification import Real, Truth, Whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.typing import AnyArray

__all__ = ["ParticleSystem"]


@register("solver", "particles")
class ParticleSystem(Solver):
    """`dx_i = G_{mu^n}(x_i) dt + sqrt(2/kappa) dW_i`, `mu^n = sum_i w_i delta_{x_i}`: the tokens whose mean field the
    equation is.

    `count` tokens are drawn from the initial measure by `seed` (`sampling: stratified` spreads them evenly); `points`
    are the tokens themselves. Without noise steps are of order eight, `tolerance` (default 1e-8) is a tenth of the
    relative error of positions at output times, and tokens nearer than `merge` that approach each other become one,
    however many there are (default: on circle and spheres the tolerance, but at most a thousandth of the mean spacing
    of n tokens; never in R^d; 0 never). Fewer tokens than dimensions cost what that many dimensions do where A and V
    are multiples of the identity. With noise steps have the length `step` (default: a twentieth of the time in which
    anything changes), strong order 1 on flat spaces and the circle and weak order 2 everywhere. `copies` independent
    systems run side by side. `layers` are a Transformer's own: so many residual steps of length until/layers instead
    of continuous time, with `sublayers` attention and drift one after the other. Random numbers are keyed on seed,
    copy, token and step: neither threads nor an interruption change a bit.

    >>> import mfpde
    >>> run = mfpde.solve(mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "attention": {"kind": "softmax", "beta": 4},
    ...     "initial": {"kind": "points", "values": [0.0, 0.5, 3.0]},
    ...     "solver": {"kind": "particles"},
    ...     "time": {"until": 10, "save_every": 5},
    ... }))
    >>> run.positions.shape, bool(abs(run.positions[-1, 0, 0] - run.positions[-1, 1, 0]) < 1e-4)
    ((3, 3, 1), True)
    """

    kind: Literal["particles"] = "particles"
    citations: ClassVar[tuple[str, ...]] = ("geshkovski2025", "hairer1993")
    preference: ClassVar[int] = -2
    shows: ClassVar[str] = "particles"
    normalizations: ClassVar[frozenset[str]] = frozenset({"post", "pre", "peri", "mix", "ngpt", "sqrt"})
    noises: ClassVar[frozenset[str]] = frozenset({"matrix", "common"})
    clocks: ClassVar[tuple[str, ...]] = ("physical", "gradient")

    count: Whole | None = Field(default=None, ge=1, description="how many tokens to draw from the initial measure")
    seed: Whole = Field(default=0, ge=0, description="of all random numbers")
    sampling: Literal["plain", "stratified"] = Field(
        default="plain", description="plain: independent draws; stratified: spread evenly"
    )
    tolerance: Real = Field(default=1e-8, ge=1e-12, le=1e-2, description="a tenth of the error of positions, no noise")
    step: Real | None = Field(default=None, gt=0, description="length of a step with noise")
    increments: Whole = Field(
        default=1, ge=1, description="with noise: finer steps whose noise each step has the sum of, to see strong order"
    )
    merge: Real | None = Field(default=None, ge=0, description="distance at which tokens become one; 0 never")
    layers: Whole | None = Field(default=None, ge=1, description="residual layers instead of continuous time")
    sublayers: Truth = Field(default=False, description="layers: attention and drift one after the other")
    copies: Whole | None = Field(default=None, ge=1, description="independent systems in one run")

    @model_validator(mode="after")
    def _consistent(self) -> ParticleSystem:
        if self.sublayers and self.layers is None:
            raise ProblemError.at("sublayers", "belongs to layers: how many are there?")
        return self

    @property
    def copy_count(self) -> int | None:
        return self.copies

    def told(self) -> ParticleSystem:
        return self if self.count is not None else self.model_copy(update={"count": 1})

    def unfit(self, equation: Equation) -> str | None:
        initial = equation.initial
        if initial is not None and not initial.pointlike and self.count is None:
            return "it needs to know how many tokens to draw: solver.count"
        law = equation.law
        together = None if law is None else law.token_unfit(equation.geometry, is_noisy(equation))
        return together or self._unfit_noise(equation) or self._unfit_normalization(equation)

    def ranks_unfit(self, equation: Equation) -> str | None:
        if self.copies is not None:
            return "copies are not spread over ranks: leave copies out, or start one process"
        merges = not equation.geometry.flat or equation.normalization is not None
        if self.layers is None and not is_noisy(equation) and (self.merge or (self.merge is None and merges)):
            return "tokens of different ranks do not merge: give merge: 0, or start one process"
        return None

    def _unfit_noise(self, equation: Equation) -> str | None:
        """Why these settings do not go together with the noise, or without any."""
        if equation.noise.matrix is not None and not equation.geometry.flat:
            return "a noise.matrix means nothing on circle and spheres; give noise.kappa"
        if is_noisy(equation):
            return "layers have no noise: leave layers out, or noise" if self.layers is not None else None
        key = "step" if self.step is not None else "increments" if self.increments > 1 else None
        if key is None:
            return None
        return f"{key} is of steps with noise, and there is none: leave {key} out, or give noise.kappa"

    def _unfit_normalization(self, equation: Equation) -> str | None:
        scheme = equation.normalization
        if scheme is None:
            return None
        if is_noisy(equation):
            return "tokens with a normalization have no noise here: leave normalization out (post on spheres), or noise"
        if self.layers is not None and scheme.ellipsoid:
            return "the flow on the ellipsoid has no layers: leave layers out, or ellipsoid"
        return scheme.flow_unfit if self.layers is None else None

    def start(self, task: InitialValueProblem) -> Integration:
        from mfpde.solvers.particles.beginning import integration_of

        return integration_of(self, task)

    def resume(self, task: InitialValueProblem, state: Mapping[str, AnyArray]) -> Integration:
        from mfpde.solvers.particles.beginning import earlier_integration

        return earlier_integration(self, task, state)


def is_noisy(equation: Equation) -> bool:
    """Whether there is noise of any kind at any time."""
    return bool(equation.noise.peculiar) or equation.noise.diffuses
