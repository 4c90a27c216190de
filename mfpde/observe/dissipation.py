"""How fast a gradient flow loses free energy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.measure.density_grid import dissipation
from mfpde.measure.lattice_slopes import log_slopes
from mfpde.observe.free_energy import convolution_of, no_potential
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Dissipation"]


@register("observable", "dissipation")
class Dissipation(Observable):
    """`int mu |grad(log mu / kappa - W*mu - U)|^2 = int |grad mu / kappa - mu G|^2 / mu`: `dF/dt = -dissipation`
    (physics section 3).

    Without noise it is `int mu G^2`. Infinite for a density with jumps under noise. Fails: softmax attention, which
    has no free energy.

    Accuracy: 1e-13 of `int mu'^2 / (kappa^2 mu) + int mu G^2` near a stationary state in the sense of its square
    root; where the density is below roundoff of its maximum, `mu'^2 / mu` is replaced by `2 mu''`, its limit at a
    double zero. On the line and the plane slopes of log mu are differences of order twelve between the cells.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle(), noise={"kappa": 2})
    >>> touching = mfpde.Density(expression="1 + cos(theta)")
    >>> values = Dissipation().evaluate(Instant(0.0, touching, equation, lambda: 0.0))
    >>> round(values["dissipation"], 10)          # int sin^2 / (1 + cos) / (2 pi) = 1, divided by kappa^2
    0.25
    """

    kind: Literal["dissipation"] = "dissipation"
    citations: ClassVar[tuple[str, ...]] = ("carrillo2020",)
    spaces: ClassVar[tuple[str, ...]] = ("circle", "sphere", "line", "plane")
    looks_at: ClassVar[tuple[str, ...]] = ("density",)

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {"dissipation": Series("loss of free energy per unit time", units="1/time", scale="magnitude")}

    def unfit(self, equation: Equation) -> str | None:
        return super().unfit(equation) or no_potential(equation)

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        if instant.measure.space.flat:
            return {"dissipation": _on_cells(instant)}
        found = convolution_of(instant.equation, "dissipation")
        grids, diffusion = instant.measure.density_grids("dissipation"), instant.equation.noise.diffusion
        return {"dissipation": dissipation(grids, found.potential, diffusion, found.external)}


def _on_cells(instant: Instant) -> float:
    """`int |grad log mu / kappa - G|^2 dmu` over the cells of a density on the line or the plane."""
    measure, law, diffusion = instant.measure, instant.equation.law, instant.equation.noise.diffusion
    weights, density = measure.density_nodes()
    force = np.zeros((measure.ambient_dimension, weights.size))
    if law is not None:
        force -= np.concatenate(
            [law.drift(measure, queries).reshape(len(force), -1) for queries in measure.node_queries()], axis=1
        )
    if diffusion > 0:
        ends = np.cumsum([math.prod(lattice.shape) for lattice in measure.lattices])[:-1]
        slopes = [
            log_slopes(values.reshape(lattice.shape), lattice).reshape(len(force), -1)
            for values, lattice in zip(np.split(density, ends), measure.lattices, strict=True)
        ]
        force += diffusion * np.concatenate(slopes, axis=1)
    return float(np.einsum("n,cn,cn->", weights, force, force))
