"""How far tokens spread, and in which directions."""

from __future__ import annotations

from typing import Literal

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["AXES", "Covariance"]

#: the largest eigenvalue first
AXES = tuple(f"{which} axis" for which in ("first", "second", "third", "fourth", "fifth", "sixth"))


@register("observable", "covariance")
class Covariance(Observable):
    """`S = int (x - m)(x - m)^T dmu`, `(d, d)`, and its eigenvalues `covariance-eigenvalues`, the largest first.

    On circle and sphere in the space around them. Fails: eigenvalues below 1e-16 of the largest are rounding errors,
    unless solver `gaussian` has them.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Plane())
    >>> gaussian = mfpde.Gaussian(mean=[0, 0], covariance=[[2, 1], [1, 2]])
    >>> Covariance().evaluate(Instant(0.0, gaussian, equation, lambda: 0.0))["covariance-eigenvalues"].round(12)
    array([3., 1.])
    """

    kind: Literal["covariance"] = "covariance"

    def series(self, geometry: Geometry) -> dict[str, Series]:
        dimension = geometry.ambient_dimension
        both = (("component", dimension), ("column", dimension))
        return {
            "covariance": Series("covariance", extent=both, label="variance"),
            "covariance-eigenvalues": Series(
                "eigenvalues of the covariance",
                extent=(("eigenvalue", dimension),),
                label="eigenvalues of the covariance",
                curves=AXES[:dimension],
                repeats="covariance",
            ),
        }

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        covariance, descending = instant.measure.covariance, instant.measure.variances
        return {"covariance": covariance, "covariance-eigenvalues": descending}
