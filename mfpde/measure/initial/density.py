"""A density written as an expression."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from pydantic import Field, field_validator

from mfpde.errors import Fault, ProblemError
from mfpde.geometry import Circle, Geometry, Line, Plane, Sphere, need_space
from mfpde.measure.circle_expression import DensityOnCircle, density_on_circle
from mfpde.measure.expression import Expression
from mfpde.measure.flat_density import FlatDensity
from mfpde.measure.initial.base import Initial
from mfpde.measure.positioned import Positioned
from mfpde.measure.seams import seam
from mfpde.measure.sphere_density import SphereDensity
from mfpde.measure.written_density import WrittenDensity
from mfpde.registry import register

__all__ = ["Density"]


@register("initial", "density")
class Density(Initial):
    """`rho = f / int f`, with `f` arithmetic in the coordinates of the space.

    On the line and the plane its box, its scale and its edges are found by themselves. Good values: anything not
    negative, `1 + 0.1*cos(theta)`, `exp(-x**4)`, `maximum(0, 1 - x**2 - y**2)`. Fails: a negative value, a value that
    is not finite, zero or infinite mass; a peak narrower than 1/100, or in the plane 1/3, may not be seen.

    >>> Density(expression="1 + 0.5*cos(theta)").mean.round(12)
    array([0.25, 0.  ])
    >>> print(Density(expression="maximum(0, 1 - x**2 - y**2)").covariance[0, 0].round(12))          # 1/6
    0.166666666667
    """

    kind: Literal["density"] = "density"
    expression: str = Field(description="the density up to a factor: arithmetic in the coordinates")

    @field_validator("expression", mode="before")
    @classmethod
    def _read(cls, text: object) -> object:
        if isinstance(text, int | float) and not isinstance(text, bool):
            text = str(text)
        if isinstance(text, str):
            try:
                Expression(text)
            except ProblemError as error:
                raise ValueError(error.faults[0].message) from None
        return text

    def natural_geometry(self) -> Geometry:
        names = set(Expression(self.expression).names)
        if names & {"z", "colatitude", "longitude"}:
            return Sphere()
        if "theta" in names or not names & {"x", "y"}:
            return Circle()
        return Plane() if "y" in names else Line()

    def seam(self, geometry: Geometry) -> str | None:
        return _seam(self.expression, geometry)

    def over_positions(self, geometry: Geometry, positions: Sequence[float]) -> Positioned:
        """The slices at positions s of a density in s and the coordinates of the space."""
        expression = Expression(self.expression)
        if "s" not in expression.names:
            return super().over_positions(geometry, positions)
        slices = []
        for position in positions:
            try:
                slices.append(Density(expression=expression.at(s=position).text).on(geometry))
            except ProblemError as error:
                raise ProblemError(
                    Fault(fault.path, f"{fault.message} (at s = {position:g})") for fault in error.faults
                ) from None
        return Positioned(positions, slices, np.array([part.norm for part in slices]))

    def on(self, geometry: Geometry) -> FlatDensity | SphereDensity | DensityOnCircle:
        need_space(geometry)
        if isinstance(geometry, Circle):
            return density_on_circle(self.expression)
        if not geometry.flat and geometry.ambient_dimension == 2:
            said = "sphere of dimension 2 is for tokens; densities on S^1 are written with kind: circle, in theta"
            raise ProblemError.at("geometry", said)
        if geometry.ambient_dimension > (2 if geometry.flat else 3):
            raise self.unfit(geometry, "gaussian, uniform, points or a mixture" if geometry.flat else "von-mises")
        return _elsewhere(self.expression, geometry)


@lru_cache(maxsize=16)
def _seam(text: str, geometry: Geometry) -> str | None:
    expression = Expression(text)
    jump = None if "s" in expression.names else seam(expression, geometry)
    return None if jump is None else f"initial.expression {jump}"


@lru_cache(maxsize=16)  # a problem is checked before it is solved
def _elsewhere(text: str, geometry: Geometry) -> FlatDensity | SphereDensity:
    density = WrittenDensity(text, geometry)
    return FlatDensity(density) if geometry.flat else SphereDensity(density)
