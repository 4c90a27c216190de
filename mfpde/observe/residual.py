"""How fast the density moves."""

from __future__ import annotations

from typing import ClassVar, Literal

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Residual"]


@register("observable", "residual")
class Residual(Observable):
    """`int |d_t mu|`, per unit time: 0 in a stationary state. Asked of the solver, which knows its own right-hand side.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle())
    >>> Residual().evaluate(Instant(0.0, mfpde.Uniform(), equation, lambda: 0.0))
    {'residual': 0.0}
    """

    kind: Literal["residual"] = "residual"
    of_run: ClassVar[bool] = True

    def series(self, geometry: Geometry) -> dict[str, Series]:
        said = "rate of change of the density, integral of its modulus"
        return {"residual": Series(said, units="1/time", scale="magnitude")}

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        return {"residual": float(instant.residual())}
