"""How strong each degree of the harmonics is."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Degrees"]


@register("observable", "degrees")
class Degrees(Observable):
    """`(|mu_k|^2 / N_k)^{1/2}`, k = 1 .. `count`, of the harmonics of degree k, N_k their number: `|int P_k dmu|` for a
    law about an axis, 1 for a point mass. On the circle the moduli of the Fourier modes.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Sphere())
    >>> tilted = mfpde.Density(expression="1 + 0.6*z")
    >>> Degrees(count=2).evaluate(Instant(0.0, tilted, equation, lambda: 0.0))["degrees"].round(12)          # <z> = 0.2
    array([0.2, 0. ])
    """

    kind: Literal["degrees"] = "degrees"
    spaces: ClassVar[tuple[str, ...]] = ("circle", "sphere")
    count: int = Field(default=8, ge=1, le=200, description="how many degrees")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {"degrees": Series("sizes of degrees, 1 first", extent=(("degree", self.count),), listed=True)}

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        harmonics = instant.measure.space.harmonics
        if harmonics is None:
            raise ProblemError.at("observe", "degrees: they belong to circle and spheres")
        powers = instant.measure.harmonics(self.count).powers()[1:]
        return {"degrees": np.sqrt(powers / harmonics.multiplicities(self.count)[1:])}
