"""Interaction energy, and what energies need of the equation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from mfpde.attention import Zonal
from mfpde.errors import ProblemError
from mfpde.observe.base import Instant, Observable, Series
from mfpde.registry import register
from mfpde.typing import Complex, Float

if TYPE_CHECKING:
    from mfpde.problem import Equation

__all__ = ["Energy", "not_a_gradient_flow", "potential_of", "zonal_energy"]


@register("observable", "energy")
class Energy(Observable):
    """`E = iint (e^{beta <x,y>} - 1) / (2 beta) dmu dmu`, at beta = 0 `|int x dmu|^2 / 2` (physics section 3).

    Without noise it never decreases under unnormalized attention. For A = a I, V = v I: `v iint (e^{a <x,y>} - 1) /
    (2 a) dmu dmu`; for an interaction `iint W(theta - phi) dmu dmu / 2`. Fails: matrices A, V that are no multiples
    of the identity; softmax beyond beta = 700, where it overflows.

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

    def series(self) -> dict[str, Series]:
        return {"energy": Series("interaction energy")}

    def unfit(self, equation: Equation) -> str | None:
        if equation.law is None:
            return "without attention or interaction there is no energy"
        try:
            zonal = equation.law.zonal(equation.geometry)
        except ProblemError as error:
            return error.faults[0].message
        if zonal is None:
            return "the energy is known when A and V are multiples of the identity (or beta)"
        if not np.isfinite(zonal.energy_scale):
            return "the energy overflows for |A| > 700"
        return None

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        reason = self.unfit(instant.equation)
        zonal = None if instant.equation.law is None else instant.equation.law.zonal(instant.equation.geometry)
        if reason is not None or zonal is None:
            raise ProblemError.at("observe", f"energy: {reason}")
        modes = instant.measure.fourier(zonal.potential.size)
        excess = zonal.energy_scale * zonal_energy(zonal.potential, modes)
        return {"energy": float(zonal.energy_offset + excess)}


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
