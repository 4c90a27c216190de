"""Values of a density given as an expression, and the errors of one that is no density."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.measure.expression import Expression
from mfpde.typing import Float

__all__ = ["WrittenDensity"]


class WrittenDensity:
    """An expression at native points of a space, refused where it is no density.

    >>> from mfpde import Line
    >>> WrittenDensity("exp(-x**2)", Line())(np.array([[0.0]]))
    array([1.])
    """

    def __init__(self, text: str, geometry: Geometry) -> None:
        self.expression = Expression(text)
        self.geometry = geometry
        if "s" in self.expression.names:
            raise ProblemError.at(
                "initial.expression", "uses s, the position of a token: only masked attention has them"
            )

    def __call__(self, points: Float) -> Float:
        values = self.unchecked(points)
        finite = np.isfinite(values)
        if not finite.all():
            raise self._error("is not finite", points[np.argmin(finite)])
        if values.size and values.min() < 0:
            worst = int(values.argmin())
            raise self._error(f"is negative ({values[worst]:.6g})", points[worst], "; a density is not")
        return values

    def unchecked(self, points: Float) -> Float:
        """Values as they come, infinite and NaN as well."""
        return self.expression(self.geometry.coordinates(points))

    @property
    def kinks(self) -> list[Callable[[Float], Float]]:
        """Functions of native points that vanish where there may be an edge or a kink."""

        def values(kink: Expression) -> Callable[[Float], Float]:
            return lambda points: np.nan_to_num(kink(self.geometry.coordinates(points)))

        return [values(kink) for kink in self.expression.kinks]

    def without_mass(self) -> ProblemError:
        return ProblemError.at(
            "initial.expression", f"{self.expression.text!r} has mass 0; a density needs positive mass"
        )

    def _error(self, what: str, point: Float, more: str = "") -> ProblemError:
        coordinates = self.geometry.coordinates(np.reshape(point, (1, -1)))
        names = ["theta"] if "theta" in coordinates else list("xyz")
        where = ", ".join(f"{name} = {value[0]:.6g}" for name, value in coordinates.items() if name in names)
        return ProblemError.at("initial.expression", f"{what} at {where}{more}")
