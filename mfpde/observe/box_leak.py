"""Mass that has come to the walls of the box."""

from __future__ import annotations

from typing import ClassVar, Literal

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["BoxLeak"]


@register("observable", "box-leak")
class BoxLeak(Observable):
    """Mass that wanted to leave the box since t = 0 and was held back by its walls. Asked of the solver, which knows.

    Good values: below the tolerance; more says that the box is too small.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Line())
    >>> gaussian = mfpde.Gaussian(mean=0, covariance=1)
    >>> BoxLeak().evaluate(Instant(0.0, gaussian, equation, lambda: 0.0, {"leak": 1e-15}))
    {'box-leak': 1e-15}
    """

    kind: Literal["box-leak"] = "box-leak"
    of_run: ClassVar[bool] = True
    fact: ClassVar[str | None] = "leak"

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {
            "box-leak": Series(
                "mass that has reached the walls of the box", label="mass at the walls of the box", scale="magnitude"
            )
        }

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        if "leak" not in instant.facts:
            raise ProblemError.at("observe", "box-leak is told by solvers that have a box")
        return {"box-leak": float(instant.facts["leak"])}
