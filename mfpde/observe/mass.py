"""Total mass."""

from __future__ import annotations

from typing import Literal

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Mass"]


@register("observable", "mass")
class Mass(Observable):
    """`int dmu`, 1 up to roundoff.

    Of a density it is that of its cells; particles and Gaussians have mass 1.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle())
    >>> Mass().evaluate(Instant(0.0, mfpde.Uniform(), equation, lambda: 0.0))
    {'mass': 1.0}
    """

    kind: Literal["mass"] = "mass"

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {"mass": Series("total mass")}

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        return {"mass": instant.measure.mass}
