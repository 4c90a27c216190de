"""Entropy of the density."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.measure import Measure, Normal
from mfpde.observe.flat import carries_density, concrete, density_at_nodes, is_circle
from mfpde.observe.trapezoid import CircleGrid, as_density, refined
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Entropy", "relative_entropy"]

#: where `(1+h) log(1+h) - h` is summed as a series in h: the formula would lose digits
_SERIES_BELOW = 0.05
_SERIES = [(-1.0) ** n / (n * (n - 1)) for n in range(2, 15)]


@register("observable", "entropy")
class Entropy(Observable):
    """`-int rho log rho`: on the circle log(2 pi) for the uniform state, its largest value; negative for narrow
    clusters. A Gaussian of R^d has `log det(2 pi e S) / 2`; `-inf` where it has no density.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle())
    >>> values = Entropy().evaluate(Instant(0.0, mfpde.Uniform(), equation, lambda: 0.0))
    >>> round(values["entropy"], 6)          # log(2 pi)
    1.837877
    """

    kind: Literal["entropy"] = "entropy"
    looks_at: ClassVar[tuple[str, ...]] = ("density", "gaussian", "characteristics")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {"entropy": Series("entropy")}

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        measure = concrete(instant.measure)
        if not is_circle(measure.geometry) or carries_density(measure):
            return {"entropy": _in_space(measure)}
        density = as_density(measure, "entropy")
        return {"entropy": float(np.log(2 * np.pi)) - relative_entropy(CircleGrid(density))}


def _in_space(measure: Measure) -> float:
    if isinstance(measure, Normal):
        if measure.rank < measure.ambient_dimension:
            return -np.inf
        return 0.5 * float(np.log(2 * np.pi * np.e * measure.variances).sum())
    weights, density = density_at_nodes(measure)
    there = weights > 0
    return -float(weights[there] @ np.log(density[there]))


def relative_entropy(grid: CircleGrid) -> float:
    """`int mu log(2 pi mu)`, relative to the uniform state; good to 1e-14 of itself for smooth densities, however
    near to uniform."""

    def mean(count: int) -> float:
        return float(_convex(grid.excess(count)).mean())

    return refined(mean, grid.start)


def _convex(excess: Float) -> Float:
    """`(1+h) log(1+h) - h`: the same mean as without `- h`, since the excess h has mean 0, but small where h is."""
    ratio = 1 + excess
    known = CircleGrid.known(ratio)
    safe = np.where(known, ratio, 1.0)
    direct = np.where(known, safe * np.log(safe) - excess, 1.0)  # 1 is the limit at density 0
    small = np.abs(excess) < _SERIES_BELOW
    if not small.any():
        return direct
    h = np.where(small, excess, 0.0)
    return np.where(small, h * h * np.polynomial.polynomial.polyval(h, _SERIES), direct)
