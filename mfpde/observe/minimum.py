"""Smallest value of the density."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.measure import GridDensity
from mfpde.observe.flat import carries_density, concrete, density_at_nodes, is_circle
from mfpde.observe.trapezoid import CircleGrid, as_density
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Minimum", "turning_point"]


@register("observable", "minimum")
class Minimum(Observable):
    """`min rho`: the solution is positive, so anything below minus the tolerance says that resolution is lost.

    On line and plane the smallest cell average, which is never negative; of characteristics the smallest density that a
    node carries. Fails: a Gaussian, whose density comes down to
    0.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle())
    >>> wave = mfpde.Density(expression="1 + 0.5*cos(theta - 1)")
    >>> values = Minimum().evaluate(Instant(0.0, wave, equation, lambda: 0.0))
    >>> round(values["minimum"], 12)          # 0.5 / (2 pi)
    0.079577471546
    """

    kind: Literal["minimum"] = "minimum"
    looks_at: ClassVar[tuple[str, ...]] = ("density", "characteristics")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {"minimum": Series("smallest density", units="1/radian" if is_circle(geometry) else "1")}

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        measure = concrete(instant.measure)
        if isinstance(measure, GridDensity):
            return {"minimum": float(min(panel.values.min() for panel in measure.panels))}
        if not is_circle(measure.geometry) or carries_density(measure):
            return {"minimum": float(density_at_nodes(measure)[1].min())}
        grid = CircleGrid(as_density(measure, "minimum"))
        count = grid.start
        ratio = 1 + grid.excess(count)
        lowest = float(ratio.min())
        if grid.smooth:
            spacing = 2 * np.pi / count
            theta = turning_point(grid, spacing * int(ratio.argmin()), spacing)
            lowest = min(lowest, 1 + 2 * float((np.exp(1j * theta * np.arange(grid.modes.size)) @ grid.modes).real))
        return {"minimum": lowest / (2 * np.pi)}


def turning_point(grid: CircleGrid, theta: float, spacing: float) -> float:
    """The zero of rho' near a grid extremum by Newton's method; the grid angle itself where that leads away."""
    order = np.arange(grid.modes.size)
    found = theta
    for _ in range(4):
        terms = np.exp(1j * found * order) * grid.modes * order
        slope, curvature = -2 * float(terms.imag.sum()), -2 * float((terms * order).real.sum())
        if curvature == 0 or abs(slope) > spacing * abs(curvature):
            return theta
        found -= slope / curvature
        if abs(found - theta) > spacing:
            return theta
    return found
