"""Entropy of the density."""

from __future__ import annotations

from typing import Literal

import numpy as np

from mfpde.observe.base import Instant, Observable, Series
from mfpde.observe.trapezoid import CircleGrid, as_density, refined
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Entropy", "relative_entropy"]

#: where `(1+h) log(1+h) - h` is summed as a series in h: the formula would lose digits
_SERIES_BELOW = 0.05
_SERIES = [(-1.0) ** n / (n * (n - 1)) for n in range(2, 15)]


@register("observable", "entropy")
class Entropy(Observable):
    """`-int rho log rho`: log(2 pi) for the uniform state, its largest value; negative for narrow clusters.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle())
    >>> values = Entropy().evaluate(Instant(0.0, mfpde.Uniform(), equation, lambda: 0.0))
    >>> round(values["entropy"], 6)          # log(2 pi)
    1.837877
    """

    kind: Literal["entropy"] = "entropy"

    def series(self) -> dict[str, Series]:
        return {"entropy": Series("entropy")}

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        density = as_density(instant.measure, "entropy")
        return {"entropy": float(np.log(2 * np.pi)) - relative_entropy(CircleGrid(density))}


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
