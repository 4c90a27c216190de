"""Interaction energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Energy"]


@register("observable", "energy")
class Energy(Observable):
    """`E = iint (e^{beta <x,y>} - 1) / (2 beta) dmu dmu`, at beta = 0 `|int x dmu|^2 / 2` (physics section 3).

    Without noise it never decreases under unnormalized attention. For A = a I, V = v I: `v iint (e^{a <x,y>} - 1) /
    (2 a) dmu dmu`; for an interaction `iint W(theta - phi) dmu dmu / 2`. Fails: matrices A, V that are no multiples
    of the identity; softmax beyond beta = 700 on the circle. On R^d it is infinite where the tails of mu are too heavy
    for `e^{a <x,y>}`: a Gaussian with a |S| >= 1.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle(), attention=mfpde.Unnormalized(beta=1))
    >>> dirac = mfpde.Particles([2.0], geometry=mfpde.Circle())
    >>> values = Energy().evaluate(Instant(0.0, dirac, equation, lambda: 0.0))
    >>> round(values["energy"], 9)          # (e - 1) / 2, the maximum
    0.859140914
    """

    kind: Literal["energy"] = "energy"
    citations: ClassVar[tuple[str, ...]] = ("rigollet2025",)

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {"energy": Series("interaction energy")}

    def unfit(self, equation: Equation) -> str | None:
        if equation.law is None:
            return "without attention or interaction there is no energy"
        return equation.law.energy_unfit(equation.geometry)

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        law, reason = instant.equation.law, self.unfit(instant.equation)
        if law is None or reason is not None:
            raise ProblemError.at("observe", f"energy: {reason}")
        return {"energy": law.energy(instant.measure)}
