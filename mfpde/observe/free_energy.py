"""Free energy of gradient flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from mfpde.geometry import Geometry
from mfpde.observe.base import Instant, Observable, Series
from mfpde.observe.energy import not_a_gradient_flow, potential_of, zonal_energy
from mfpde.observe.entropy import relative_entropy
from mfpde.observe.trapezoid import CircleGrid, as_density
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.problem import Equation

__all__ = ["FreeEnergy"]


@register("observable", "free-energy")
class FreeEnergy(Observable):
    """`F = (1/kappa) int mu log mu - E`, minus its value at the uniform state (physics section 3). It never
    increases.

    On the circle `F = (1/kappa) int mu log(2 pi mu) - sum_{k>=1} W_k |c_k|^2` with the modes of the potential.
    Without noise the first term is absent, and point masses will do. Fails: softmax attention, which has no free
    energy.

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
    spaces: ClassVar[tuple[str, ...]] = ("circle",)

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {
            "free-energy": Series(
                "free energy, minus that of the uniform state",
                label="free energy (uniform state: 0)",
                scale="balance",
                leads=True,
                falls=True,
            )
        }

    def unfit(self, equation: Equation) -> str | None:
        return super().unfit(equation) or not_a_gradient_flow(equation)

    def looked_at(self, equation: Equation) -> tuple[str, ...]:
        return ("density",) if equation.noise.diffusion > 0 else ()

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        potential = potential_of(instant.equation, "free-energy")
        energy = zonal_energy(potential, instant.measure.fourier(potential.size))
        diffusion = instant.equation.noise.diffusion
        if diffusion == 0:
            return {"free-energy": -energy}
        density = as_density(instant.measure, "free-energy with noise")
        return {"free-energy": diffusion * relative_entropy(CircleGrid(density)) - energy}
