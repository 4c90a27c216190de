"""Direction of the mean token."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.observe.order_parameter import ROUNDOFF, phase
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["MeanDirection"]

_NAMED = 3  # dimension up to which coordinates have names


@register("observable", "mean-direction")
class MeanDirection(Observable):
    """Angle in [0, 2 pi) of `int x dmu`, on spheres the unit vector; NaN when the mean is at roundoff, as for the
    uniform state.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle())
    >>> two = mfpde.Particles([3.0, 4.0], geometry=mfpde.Circle())
    >>> values = MeanDirection().evaluate(Instant(0.0, two, equation, lambda: 0.0))
    >>> round(values["mean-direction"], 12)
    3.5
    """

    kind: Literal["mean-direction"] = "mean-direction"
    spaces: ClassVar[tuple[str, ...]] = ("circle", "sphere")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        if not geometry.angular:
            dimension = geometry.ambient_dimension
            curves = tuple("xyz"[:dimension]) if dimension <= _NAMED else ()
            return {
                "mean-direction": Series(
                    "direction of the mean", label="mean direction", extent=(("component", dimension),), curves=curves
                )
            }
        angle = Series("direction of the mean", units="radian", label="mean direction", scale="angle")
        return {"mean-direction": angle}

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        if not instant.measure.space.angular:
            mean = instant.measure.mean
            length = float(np.linalg.norm(mean))
            return {"mean-direction": mean / length if length > ROUNDOFF else np.full(mean.size, np.nan)}
        angle = phase(complex(instant.measure.harmonics(1).coefficients[1])) % (2 * np.pi)
        # The remainder of a tiny negative angle rounds to 2 pi itself.
        return {"mean-direction": 0.0 if angle >= 2 * np.pi else angle}
