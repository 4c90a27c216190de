"""How fast a gradient flow loses free energy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.measure.circle_grid import CircleGrid, refined
from mfpde.observe.free_energy import convolution_of, no_potential
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Dissipation"]


@register("observable", "dissipation")
class Dissipation(Observable):
    """`int mu |d_theta(log mu / kappa - W*mu)|^2 = int (mu' / kappa - mu G)^2 / mu`, so that `dF/dt = -dissipation`
    (physics section 3).

    Without noise it is `int mu G^2`. Infinite for a density with jumps under noise. Fails: softmax attention, which
    has no free energy.

    Accuracy: 1e-13 of `int mu'^2 / (kappa^2 mu) + int mu G^2` near a stationary state in the sense of its square
    root; where the density is below roundoff of its maximum, `mu'^2 / mu` is replaced by `2 mu''`, its limit at a
    double zero.

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
    spaces: ClassVar[tuple[str, ...]] = ("circle",)
    looks_at: ClassVar[tuple[str, ...]] = ("density",)

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {"dissipation": Series("loss of free energy per unit time", units="1/time", scale="magnitude")}

    def unfit(self, equation: Equation) -> str | None:
        return super().unfit(equation) or no_potential(equation)

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        potential = convolution_of(instant.equation, "dissipation").potential
        grid = instant.measure.series("dissipation").grid
        diffusion = instant.equation.noise.diffusion
        if diffusion > 0 and not grid.smooth:
            return {"dissipation": math.inf}
        force = _Force(grid, potential, diffusion)
        scale = np.hypot(force.norm(grid.start, attraction=0.0), force.norm(grid.start, diffusion=0.0))
        return {"dissipation": refined(force.norm, grid.start, float(scale)) ** 2}


class _Force:
    """`d_theta(log mu / kappa - W*mu)` in the norm of L^2(mu)."""

    def __init__(self, grid: CircleGrid, potential: Float, diffusion: float) -> None:
        self.grid, self.diffusion = grid, diffusion
        order = np.arange(grid.modes.size)
        self.slope = 1j * order * grid.modes
        self.curvature = -(order**2) * grid.modes
        attracting = np.arange(potential.size)
        self.drift = 1j * attracting * potential * grid.density.harmonics(potential.size - 1).coefficients

    def norm(self, count: int, diffusion: float | None = None, attraction: float = 1.0) -> float:
        """Square root of the dissipation on a grid; the two forces can be weighed."""
        weight = self.diffusion if diffusion is None else diffusion
        ratio = 1 + self.grid.excess(count)
        drift = attraction * self.grid.sum(self.drift, count)
        if weight == 0:
            return math.sqrt(max(float((ratio * drift**2).mean()), 0.0))
        known = CircleGrid.known(ratio)
        flux = weight * self.grid.sum(self.slope, count) - ratio * drift
        local = flux**2 / np.where(known, ratio, 1.0)
        if not known.all():
            local = np.where(known, local, 2 * weight**2 * self.grid.sum(self.curvature, count))
        return math.sqrt(max(float(local.mean()), 0.0))
