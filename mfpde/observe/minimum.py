"""Smallest value of the density."""

from __future__ import annotations

from typing import ClassVar, Literal

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Minimum"]


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
        return {"minimum": Series("smallest density", units="1/radian" if geometry.angular else "1")}

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        return {"minimum": instant.measure.minimum()}
