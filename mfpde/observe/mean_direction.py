"""Direction of the mean token."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.observe.order_parameter import phase
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["MeanDirection"]


@register("observable", "mean-direction")
class MeanDirection(Observable):
    """Angle in [0, 2 pi) of `int x dmu`; NaN when the mean is at roundoff, as for the uniform state.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle())
    >>> two = mfpde.Particles([3.0, 4.0], geometry=mfpde.Circle())
    >>> values = MeanDirection().evaluate(Instant(0.0, two, equation, lambda: 0.0))
    >>> round(values["mean-direction"], 12)
    3.5
    """

    kind: Literal["mean-direction"] = "mean-direction"
    spaces: ClassVar[tuple[str, ...]] = ("circle",)

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {"mean-direction": Series("direction of the mean", units="radian", scale="angle")}

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        angle = phase(complex(instant.measure.harmonics(1).coefficients[1])) % (2 * np.pi)
        # The remainder of a tiny negative angle rounds to 2 pi itself.
        return {"mean-direction": 0.0 if angle >= 2 * np.pi else angle}
