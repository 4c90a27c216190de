"""The equation: where tokens live, what moves them, how much noise there is, and where they start. No numerics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import Field, field_validator, model_validator

from mfpde.attention import Attention, Interaction, Law, PointwiseDrift, Velocity
from mfpde.coefficients import NumberInTime, NumberSchedule, at_time, breaks_of
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.geometry.gauss import gauss_legendre
from mfpde.measure import Initial, Measure
from mfpde.normalization import Normalization
from mfpde.specification import Matrix, OfFamily, Real, Specification
from mfpde.typing import Float

__all__ = ["Equation", "InitialValueProblem", "Noise"]


#: of the largest entry of a noise matrix: asymmetry, or an eigenvalue below 0, that is rounding of a product X X^T
_MATRIX_ROUNDING = 1e-14
#: between two breaks of kappa(t), for the variance that noise makes
_NODES_IN_TIME = 10


class Noise(Specification):
    """`sqrt(2 / kappa) dW` on every token: diffusion constant 1/kappa; kappa = inf (the default) is no noise.

    On flat spaces a `matrix` D instead of kappa is `sqrt(2 D) dW`, diffusion `div(D grad mu)`. `common` noise of
    strength c is `sqrt(2 c) dB` with one B for all tokens: a translation in R^d, a rotation of the circle, `P_x o dB`
    on spheres.
    """

    kappa: NumberInTime = Field(
        default=math.inf, description="inverse noise strength, greater than 0; infinity is no noise"
    )
    matrix: Matrix | None = Field(default=None, description="D on flat spaces, symmetric, instead of kappa")
    common: Real | None = Field(
        default=None, gt=0, lt=math.inf, description="strength of noise that all particles share"
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

    @model_validator(mode="after")
    def _one_strength(self) -> Noise:
        if self.matrix is None:
            return self
        if self.kappa != math.inf:
            raise ProblemError.at("matrix", "kappa and matrix cannot both be given")
        matrix = np.atleast_2d(np.array(self.matrix))
        if matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
            raise ProblemError.at("matrix", "must be a symmetric matrix of finite numbers")
        rounding = _MATRIX_ROUNDING * float(np.abs(matrix).max(initial=0.0))
        if np.abs(matrix - matrix.T).max(initial=0.0) > rounding:
            raise ProblemError.at("matrix", "must be a symmetric matrix of finite numbers")
        if np.linalg.eigvalsh(matrix)[0] < -rounding * len(matrix):
            raise ProblemError.at("matrix", "must not have a negative eigenvalue: noise has no negative strength")
        return self

    @property
    def peculiar(self) -> frozenset[str]:
        """What it has that not every solver knows: `matrix`, `common`."""
        return frozenset(name for name in ("matrix", "common") if getattr(self, name) is not None)

    def root(self, dimension: int) -> Float | None:
        """L with `L L^T = 2 D`, `(d, d)`; None without a matrix."""
        if self.matrix is None:
            return None
        given: Float = np.asarray(self.matrix, dtype=float)
        matrix: Float = given if given.ndim == 2 else float(given) * np.eye(dimension)
        if matrix.shape != (dimension, dimension):
            raise ProblemError.at(
                "noise.matrix", f"has shape {matrix.shape}; tokens in R^{dimension} need a square one"
            )
        values, vectors = np.linalg.eigh(2 * matrix)
        return vectors * np.sqrt(np.maximum(values, 0.0))

    @property
    def diffusion(self) -> float:
        """D = 1 / kappa, where it does not depend on time."""
        if isinstance(self.kappa, NumberSchedule):
            raise ProblemError.at("noise.kappa", "depends on time; ask noise.diffusion_at(time)")
        return 1.0 / self.kappa

    def diffusion_at(self, time: float) -> float:
        """D = 1 / kappa at that time."""
        return at_time(self, time).diffusion if isinstance(self.kappa, NumberSchedule) else self.diffusion

    def variance(self, time: float) -> float:
        """`2 int_0^t D`: what noise alone makes along each axis."""
        ends = [0.0, *(end for end in self.breaks() if 0.0 < end < time), time]
        nodes, weights = gauss_legendre(_NODES_IN_TIME if len(self.breaks()) > 0 else 1)
        return 2.0 * sum(
            length * float(weights @ [self.diffusion_at(start + 0.5 * length * (node + 1.0)) for node in nodes])
            for start, length in zip(ends, np.diff(ends).tolist(), strict=False)
        )

    @property
    def strongest(self) -> float:
        """The largest D at any time."""
        return max(self.diffusion_at(time) for time in (0.0, *self.breaks()))

    def breaks(self) -> tuple[float, ...]:
        """Times at which kappa jumps or has a kink, ascending."""
        return self._breaks

    @cached_property
    def _breaks(self) -> tuple[float, ...]:
        """Found once: whoever prepares a run asks."""
        return breaks_of(self)

    @property
    def diffuses(self) -> bool:
        """Whether kappa is finite at any time."""
        return any(self.diffusion_at(time) > 0 for time in (0.0, *self.breaks()))


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
    interaction: Interaction | None = Field(default=None, description="potentials of tokens in place of attention")
    drift: Annotated[PointwiseDrift, OfFamily("drift")] | None = Field(
        default=None, description="what moves each token on its own, beside the attention"
    )
    normalization: Normalization | None = Field(
        default=None,
        description="where layers normalise their tokens; on spheres after each of them without this block",
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
        if self.geometry.flat:
            self.noise.root(self.geometry.ambient_dimension)  # of the right shape
        if self.normalization is not None:
            self.normalization.check(self.geometry)
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
    #: what `until` and all times mean: time, `gradient` time (the way of the tokens in the space of measures), or
    #: `pairing` time (of the limit of infinite beta)
    clock: str = "physical"
    #: when the solution is looked at first; at the end where nobody says
    first_look: float = np.inf

    @cached_property
    def initial(self) -> Measure:
        """The initial measure, made when it is first looked at."""
        return self.equation.initial_measure()
