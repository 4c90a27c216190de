"""Entropy of the density."""

from __future__ import annotations

from typing import ClassVar, Literal

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Entropy"]


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
        return {"entropy": instant.measure.entropy()}
