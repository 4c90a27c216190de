"""Free energy of gradient flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from mfpde.attention import Convolution
from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["FreeEnergy", "convolution_of", "no_potential"]


@register("observable", "free-energy")
class FreeEnergy(Observable):
    """`F = (1/kappa) int mu log mu - E`, minus its value at the uniform state (physics section 3). It never
    increases.

    On circle and spheres, of area |X|, `F = (1/kappa) int mu log(|X| mu) - sum_{k>=1} W_k |mu_k|^2 / 2` with the
    harmonics of the potential, on the circle `|mu_k|^2 = 2 |c_k|^2`; an external potential U adds `-int U dmu`.
    Without noise the first term is absent, and point masses will do. On the line and the plane, of interactions, it is
    `(1/kappa) int mu log mu - iint W dmu dmu / 2 - int U dmu` itself: there is no uniform state. Fails: softmax
    attention, which has no free energy.

    Accuracy: 1e-13 of its two terms for smooth densities; a density is taken as 0 where it is below roundoff of its
    maximum.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle(), noise={"kappa": 4})
    >>> broad = mfpde.VonMises(direction=0, concentration=1)
    >>> values = FreeEnergy().evaluate(Instant(0.0, broad, equation, lambda: 0.0))
    >>> round(values["free-energy"], 12)          # (I_1(1) / I_0(1) - log I_0(1)) / 4
    0.052618901847
    """

    kind: Literal["free-energy"] = "free-energy"
    citations: ClassVar[tuple[str, ...]] = ("rigollet2025", "carrillo2020")
    spaces: ClassVar[tuple[str, ...]] = ("circle", "sphere", "line", "plane")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        relative = not geometry.flat
        return {
            "free-energy": Series(
                "free energy, minus that of the uniform state" if relative else "free energy",
                label="free energy (uniform state: 0)" if relative else "free energy",
                scale="balance",
                leads=True,
                falls=True,
            )
        }

    def unfit(self, equation: Equation) -> str | None:
        return super().unfit(equation) or no_potential(equation)

    def looked_at(self, equation: Equation) -> tuple[str, ...]:
        return ("density",) if equation.noise.diffusion > 0 else ()

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        law, measure, reason = instant.equation.law, instant.measure, no_potential(instant.equation)
        if reason is not None:
            raise ProblemError.at("observe", f"free-energy: {reason}")
        diffusion, flat = instant.equation.noise.diffusion, measure.space.flat
        energy = 0.0 if law is None else law.energy(measure) if flat else law.excess_energy(measure)
        if diffusion == 0:
            return {"free-energy": -energy}
        return {"free-energy": diffusion * (-measure.entropy() if flat else measure.relative_entropy()) - energy}


def no_potential(equation: Equation) -> str | None:
    """Why the equation does not descend a free energy, or None."""
    if equation.drift is not None:
        return "with a drift besides the attention no free energy is known"
    return None if equation.law is None else equation.law.gradient_unfit(equation.geometry)


def convolution_of(equation: Equation, quantity: str) -> Convolution:
    """The convolution whose gradient flow the equation is; zeros for pure diffusion."""
    reason = no_potential(equation)
    if reason is not None:
        raise ProblemError.at("observe", f"{quantity}: {reason}")
    found, harmonics = None, equation.geometry.harmonics
    if equation.law is not None:
        found = equation.law.convolution(equation.geometry)
    if found is None and harmonics is not None:
        found = Convolution.none(harmonics)
    if found is None:
        raise ProblemError.at("observe", f"{quantity}: it is made for circle and spheres")
    return found
