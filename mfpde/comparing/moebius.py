"""The closed form of Kuramoto's model without noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from mfpde.comparing.base import ComparedSolution, Going
from mfpde.contracts import Progress, State
from mfpde.measure.circle_density import CircleDensity
from mfpde.registry import register
from mfpde.typing import AnyArray, Complex, Float

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.measure import Measure

__all__ = ["Moebius", "moebius_image"]

_NODES = 4096  # equispaced tokens, at which the image is right to rounding
_TOLERANCE = 1e-13  # of the steps of the map's three numbers
_PREFERENCE = 100  # before all solvers: it has no error to speak of


@register("comparison", "moebius")
class Moebius(ComparedSolution):
    """On the circle `theta' = 2 lambda |Z| sin(arg Z - theta)`, Z the mean, moves tokens by Moebius maps of the unit
    disk: `unnormalized` attention with `beta: 0`, or `interaction: {coefficients: [w]}`, without noise.

    Good values: a tolerance ten times that of the run. Fails: noise, other harmonics, point masses.
    """

    citations: ClassVar[tuple[str, ...]] = ("rigollet2025",)
    kind: Literal["moebius"] = "moebius"
    words: ClassVar[str] = "Moebius maps"

    def refusal(self, equation: Equation) -> str | None:
        if not _is_kuramoto(equation):
            return "Moebius maps move tokens of Kuramoto's model alone: on the circle, beta: 0, no noise"
        if equation.initial_measure().pointlike:
            return "the initial measure has no density"
        return None

    @property
    def preference(self) -> float:
        return _PREFERENCE

    def promise(self, tolerance: float) -> float:
        return 100 * _TOLERANCE

    def begun(self, task: InitialValueProblem, tolerance: float | None = None) -> Going:
        law = task.equation.law
        convolution = None if law is None else law.convolution(task.equation.geometry)
        assert convolution is not None  # noqa: S101 - otherwise it refuses
        return _Image(task.initial, 2 * float(convolution.growth_rates()[1]))


@dataclass
class _Image:
    """The initial measure carried to a time."""

    initial: Measure
    speed: float
    time: float = 0.0

    def advance(self, target: float, budget: int) -> Progress:
        """At once."""
        self.time = target
        return Progress(State.REACHED)

    def measure(self) -> Measure:
        """By its values, which are exact where it is evaluated as well."""

        def density(theta: Float) -> Float:
            return moebius_image(theta, self.time * self.speed, self.initial)

        values = density(2 * np.pi / _NODES * np.arange(_NODES, dtype=float))
        modes = np.fft.rfft(values) * (2 * np.pi / _NODES)
        known = CircleDensity.of(modes[: _NODES // 2])
        return CircleDensity(known.coefficients, _NODES // 2, density)


def _is_kuramoto(equation: Equation) -> bool:
    law, plain = equation.law, equation.drift is None and equation.normalization is None
    if not (plain and equation.geometry.angular and law is not None and equation.autonomous):
        return False
    convolution = None if equation.noise.strongest else law.convolution(equation.geometry)
    if convolution is None or not convolution.gradient_flow or convolution.external is not None:
        return False
    rates = convolution.growth_rates()
    return bool(rates.size > 1 and np.abs(rates[2:]).max(initial=0.0) == 0)


def moebius_image(theta: AnyArray, time: float, initial: Measure) -> Float:
    """The density at angles that `theta' = |Z| sin(arg Z - theta)`, `Z = int e^{i theta} dmu`, makes of any smooth one.

    A token that starts at `w = e^{i theta_0}` is at `z = (c w + a) / (1 + conj(a) c w)`, with `a' = (Z - conj(Z) a^2)
    / 2`, `c' = -i Im(conj(Z) a) c` and a(0) = 0, c(0) = 1. Z is the trapezoid sum over the images of equispaced
    tokens.
    """
    from scipy.integrate import solve_ivp

    angles = 2 * np.pi / _NODES * np.arange(_NODES)
    unit, share = np.exp(1j * angles), initial.evaluate(angles) * (2 * np.pi / _NODES)

    def slope(_time: float, state: Complex) -> Complex:
        a, c = state
        mean = share @ ((c * unit + a) / (1 + np.conj(a) * c * unit))
        return np.array([(mean - np.conj(mean) * a**2) / 2, -1j * (np.conj(mean) * a).imag * c])

    start = np.array([0, 1], dtype=complex)
    a, c = solve_ivp(slope, (0.0, time), start, "DOP853", rtol=_TOLERANCE, atol=0.1 * _TOLERANCE).y[:, -1]
    z = np.exp(1j * np.asarray(theta))
    token = np.conj(c) * (z - a) / (1 - np.conj(a) * z)
    stretch = (1 - abs(a) ** 2) / np.abs(1 - np.conj(a) * z) ** 2  # derivative of the inverse map
    density: Float = initial.evaluate(np.angle(token)) * stretch
    return density
