"""Values of a density that was written as an expression, and the words for what is wrong with it."""

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
        coordinates = self.geometry.coordinates(points)
        values = self.expression(coordinates)
        finite = np.isfinite(values)
        if not finite.all():
            raise self._error("is not finite", int(np.argmin(finite)), coordinates)
        if values.size and values.min() < 0:
            worst = int(values.argmin())
            raise self._error(f"is negative ({values[worst]:.6g})", worst, coordinates, "; a density is not")
        return values

    @property
    def kinks(self) -> list[Callable[[Float], Float]]:
        """What vanishes where there may be an edge or a kink, as functions of native points."""

        def values(kink: Expression) -> Callable[[Float], Float]:
            return lambda points: np.nan_to_num(kink(self.geometry.coordinates(points)))

        return [values(kink) for kink in self.expression.kinks]

    def without_mass(self) -> ProblemError:
        return ProblemError.at(
            "initial.expression", f"{self.expression.text!r} has mass 0; a density needs positive mass"
        )

    def _error(self, what: str, index: int, coordinates: dict[str, Float], more: str = "") -> ProblemError:
        names = ["theta"] if "theta" in coordinates else list("xyz")
        shown = {name: values[index] for name, values in coordinates.items() if name in names}
        where = ", ".join(f"{name} = {value:.6g}" for name, value in shown.items())
        return ProblemError.at("initial.expression", f"{what} at {where}{more}")
