"""Interaction energy, and what energies need of the equation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from mfpde.attention import Law, Softmax, Unnormalized, Zonal
from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.measure import GridDensity, Measure, Normal
from mfpde.observe.flat import concrete
from mfpde.registry import register
from mfpde.typing import Complex, Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Energy", "not_a_gradient_flow", "potential_of", "zonal_energy"]


@register("observable", "energy")
class Energy(Observable):
    """`E = iint (e^{beta <x,y>} - 1) / (2 beta) dmu dmu`, at beta = 0 `|int x dmu|^2 / 2` (physics section 3).

    Without noise it never decreases under unnormalized attention. For A = a I, V = v I: `v iint (e^{a <x,y>} - 1) /
    (2 a) dmu dmu`; for an interaction `iint W(theta - phi) dmu dmu / 2`. Fails: matrices A, V that are no multiples
    of the identity; softmax beyond beta = 700 on the circle. On R^d it is infinite where the tails of mu are too heavy
    for `e^{a <x,y>}`: a Gaussian with a |S| >= 1.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle(), attention=mfpde.Unnormalized(beta=1))
    >>> dirac = mfpde.Particles([2.0], geometry=mfpde.Circle())
    >>> values = Energy().evaluate(Instant(0.0, dirac, equation, lambda: 0.0))
    >>> round(values["energy"], 9)          # (e - 1) / 2, the maximum
    0.859140914
    """

    kind: Literal["energy"] = "energy"
    citations: ClassVar[tuple[str, ...]] = ("rigollet2025",)
    spaces: ClassVar[tuple[str, ...]] = ("circle", "line", "plane", "space")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {"energy": Series("interaction energy")}

    def unfit(self, equation: Equation) -> str | None:
        if equation.law is None:
            return "without attention or interaction there is no energy"
        if equation.geometry.flat:
            return (
                None if _scales(equation) else "the energy is known for exponential attention, A and V multiples of 1"
            )
        return super().unfit(equation) or _unknown_on_circle(equation, equation.law)

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        reason = self.unfit(instant.equation)
        scales = _scales(instant.equation) if instant.equation.geometry.flat else None
        if scales is not None:
            with np.errstate(over="ignore"):
                return {"energy": _flat_energy(concrete(instant.measure), *scales)}
        zonal = None if instant.equation.law is None else instant.equation.law.zonal(instant.equation.geometry)
        if reason is not None or zonal is None:
            raise ProblemError.at("observe", f"energy: {reason}")
        modes = instant.measure.fourier(zonal.potential.size)
        excess = zonal.energy_scale * zonal_energy(zonal.potential, modes)
        return {"energy": float(zonal.energy_offset + excess)}


def _unknown_on_circle(equation: Equation, law: Law) -> str | None:
    try:
        zonal = law.zonal(equation.geometry)
    except ProblemError as error:
        return error.faults[0].message
    if zonal is None:
        return "the energy is known when A and V are multiples of the identity (or beta)"
    if not np.isfinite(zonal.energy_scale):
        return "the energy overflows for |A| > 700"
    return None


def _scales(equation: Equation) -> tuple[float, float] | None:
    """a and v of A = a I, V = v I, for attention through `e^{<Ax, y>}`."""
    law, dimension = equation.law, equation.geometry.ambient_dimension
    if not isinstance(law, Softmax | Unnormalized):
        return None
    scales = [_multiple(matrix) for matrix in (law.query_matrix(dimension), law.value_matrix(dimension))]
    return None if None in scales else (scales[0] or 0.0, scales[1] or 0.0)


def _multiple(matrix: Float) -> float | None:
    first = float(matrix[0, 0])
    return first if np.array_equal(matrix, first * np.eye(matrix.shape[0])) else None


def _flat_energy(measure: Measure, a: float, v: float) -> float:
    """`v int (M(a x) - 1) / (2 a) dmu(x)`."""
    if a == 0:
        return 0.5 * v * float(measure.mean @ measure.mean)
    if isinstance(measure, Normal):
        return v * _normal_excess(measure, a) / (2 * a)
    if isinstance(measure, GridDensity):
        matrix = a * np.eye(measure.ambient_dimension)
        logs = [measure.log_laplace(panel.lattice.mapped(matrix)).ravel() for panel in measure.panels]
        weights = [(panel.at_points * panel.volume).ravel() for panel in measure.panels]
        log_mass, weight = np.concatenate(logs), np.concatenate(weights)
    else:
        points, weight = measure.nodes()
        log_mass = measure.log_laplace(a * points)
    there = weight > 0
    return v * float(weight[there] @ np.expm1(log_mass[there])) / (2 * a)


def _normal_excess(measure: Normal, a: float) -> float:
    """`iint e^{a <x,y>} dmu dmu - 1` of a Gaussian: along an eigenvector of S with eigenvalue s and mean m it is a
    factor `e^{a m^2 / (1 - a s)} / sqrt(1 - a^2 s^2)`."""
    spread, vectors = np.linalg.eigh(measure.covariance)
    if abs(a) * spread[-1] >= 1:
        return np.inf
    along = vectors.T @ measure.mean
    return float(np.expm1((a * along**2 / (1 - a * spread) - 0.5 * np.log1p(-((a * spread) ** 2))).sum()))


def zonal_energy(potential: Float, modes: Complex) -> float:
    """`sum_{k>=1} W_k |c_k|^2`: the energy minus that of the uniform state."""
    return float(potential[1:] @ (modes.real**2 + modes.imag**2)[1:])


def not_a_gradient_flow(equation: Equation) -> str | None:
    """Why the equation does not descend a free energy, or None (physics section 3)."""
    if equation.law is None:
        return None
    try:
        zonal = equation.law.zonal(equation.geometry)
    except ProblemError as error:
        return error.faults[0].message
    if zonal is None:
        return "a free energy is known when A and V are multiples of the identity (or beta)"
    if not zonal.gradient_flow:
        return "softmax attention descends no free energy; unnormalized attention and interactions do"
    return None


def potential_of(equation: Equation, quantity: str) -> Float:
    """Modes W_k of the potential whose gradient the drift is; zeros for pure diffusion."""
    reason = not_a_gradient_flow(equation)
    if reason is not None:
        raise ProblemError.at("observe", f"{quantity}: {reason}")
    zonal: Zonal | None = None if equation.law is None else equation.law.zonal(equation.geometry)
    return np.zeros(2) if zonal is None else zonal.potential
