"""The mean token."""

from __future__ import annotations

from typing import Literal

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Mean"]


@register("observable", "mean")
class Mean(Observable):
    """`m = int x dmu`, `(d,)`; on circle and sphere in the space around them.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Plane())
    >>> two = mfpde.Particles([[0.0, 1.0], [2.0, 1.0]], geometry=mfpde.Plane())
    >>> Mean().evaluate(Instant(0.0, two, equation, lambda: 0.0))
    {'mean': array([1., 1.])}
    """

    kind: Literal["mean"] = "mean"

    def series(self, geometry: Geometry) -> dict[str, Series]:
        dimension = geometry.ambient_dimension
        curves = tuple("xyz"[:dimension]) if dimension <= 3 else ()
        return {"mean": Series("mean", extent=(("component", dimension),), curves=curves)}

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        return {"mean": instant.measure.mean}
