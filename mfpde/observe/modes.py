"""The first Fourier modes."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Modes"]


@register("observable", "modes")
class Modes(Observable):
    """`int cos k theta dmu` (series `modes-cosine`) and `int sin k theta dmu` (`modes-sine`), k = 1 .. `count`.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle())
    >>> wave = mfpde.Density(expression="1 + 0.5*cos(theta) + 0.25*sin(2*theta)")
    >>> Modes(count=2).evaluate(Instant(0.0, wave, equation, lambda: 0.0))
    {'modes-cosine': array([0.25, 0.  ]), 'modes-sine': array([0.   , 0.125])}
    """

    kind: Literal["modes"] = "modes"
    spaces: ClassVar[tuple[str, ...]] = ("circle",)
    count: int = Field(default=8, ge=1, le=10_000, description="how many modes")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        extent = (("mode", self.count),)
        return {
            "modes-cosine": Series("cosine moments, mode 1 first", extent=extent, listed=True),
            "modes-sine": Series("sine moments, mode 1 first", extent=extent, listed=True),
        }

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        modes = instant.measure.harmonics(self.count).coefficients[1:]
        # adding 0.0 turns -0.0 into 0.0
        return {"modes-cosine": modes.real.copy(), "modes-sine": -modes.imag + 0.0}
