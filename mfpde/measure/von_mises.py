"""The von Mises(-Fisher) measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from mfpde.errors import ProblemError
from mfpde.geometry import Circle, Geometry, Sphere, need_space
from mfpde.geometry.series import clean
from mfpde.measure.circle_density import CircleDensity
from mfpde.measure.initial import Initial
from mfpde.measure.von_mises_fisher import VonMisesFisher
from mfpde.registry import register
from mfpde.specification import Real, Vector
from mfpde.typing import Complex, Float

__all__ = ["VonMises"]


@register("initial", "von-mises")
class VonMises(Initial):
    """`rho(x) ~ e^{c <x, m>}`: density `e^{c cos(theta - theta_0)} / (2 pi I_0(c))` on the circle,
    `c e^{c <x, m>} / (4 pi sinh c)` on S^2, with other Bessel functions on other spheres.

    `direction` is the unit vector m, on the circle the angle theta_0 as well. Good values: concentration 1 (broad) to
    100 (a cluster of width 0.1).

    >>> VonMises(direction=0, concentration=2).mean.round(4)          # I_1(2) / I_0(2)
    array([0.6978, 0.    ])
    >>> VonMises(direction=[0, 0, 1], concentration=2).mean.round(4)          # coth(2) - 1/2
    array([0.    , 0.    , 0.5373])
    """

    kind: Literal["von-mises"] = "von-mises"
    direction: Real | Vector = Field(default=0.0, description="where its maximum is: a unit vector, or an angle")
    concentration: Real = Field(ge=0, le=1e6, description="0 is uniform; the width is about 1/sqrt of it")

    def natural_geometry(self) -> Geometry:
        dimension = np.size(self.direction)
        return Circle() if dimension <= 2 else Sphere(dimension=dimension)

    def on(self, geometry: Geometry) -> CircleDensity | VonMisesFisher:
        need_space(geometry)
        if isinstance(geometry, Circle):
            return self._on_circle(geometry)
        if not isinstance(geometry, Sphere):
            raise self.unfit(geometry, "gaussian")
        try:
            direction = geometry.points(np.atleast_2d(self.direction))[0]
        except ProblemError as error:
            raise ProblemError.at("initial.direction", error.faults[0].message) from None
        return VonMisesFisher(direction, self.concentration, geometry)

    def _on_circle(self, geometry: Circle) -> CircleDensity:
        try:
            angle = float(geometry.points(np.atleast_2d(self.direction))[0, 0])
        except ProblemError as error:
            raise ProblemError.at("initial.direction", error.faults[0].message) from None
        bell = _Bell(angle, self.concentration)
        reach = int(np.ceil(10 + 9 * np.sqrt(self.concentration)))
        return CircleDensity(bell.series, int(np.flatnonzero(bell.series(reach))[-1]) + 1, bell.density)


@dataclass(frozen=True)
class _Bell:
    """`e^{kappa cos(theta - angle)} / (2 pi I_0(kappa))`."""

    angle: float
    concentration: float

    def series(self, count: int) -> Complex:
        from scipy.special import ive

        order = np.arange(count)
        scaled = ive(order, self.concentration) / ive(0, self.concentration)
        return clean(scaled * np.exp(-1j * order * self.angle))

    def density(self, theta: Float) -> Float:
        from scipy.special import ive

        raised: Float = np.exp(self.concentration * (np.cos(theta - self.angle) - 1))
        return raised / (2 * np.pi * ive(0, self.concentration))
