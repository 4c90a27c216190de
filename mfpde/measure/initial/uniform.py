"""The uniform measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from mfpde.errors import ProblemError
from mfpde.geometry import Circle, Geometry, Sphere, euclidean, need_space
from mfpde.measure.base import Measure
from mfpde.measure.circle_density import CircleDensity
from mfpde.measure.initial.base import Initial
from mfpde.measure.rules import of_box
from mfpde.measure.spherical_cap import SphericalCap
from mfpde.measure.uniform_ball import UniformBall
from mfpde.measure.uniform_box import UniformBox, check_sides
from mfpde.measure.von_mises_fisher import VonMisesFisher
from mfpde.registry import register
from mfpde.specification import Intervals, Real, Specification, Vector
from mfpde.typing import Complex, Float

__all__ = ["Ball", "Uniform"]


class Ball(Specification):
    """The points within `radius` of `center`; on circle and sphere the radius is an angle."""

    center: Real | Vector = Field(description="its middle")
    radius: Real = Field(gt=0, lt=float("inf"), description="how far it reaches; an angle on circle and sphere")


@register("initial", "uniform")
class Uniform(Initial):
    """Constant density: on the whole circle or sphere, an arc or a cap of it, an interval, a box or a ball of R^d.

    On circle and line `box: [from, to]`; in R^d one pair for each dimension. `ball: {center, radius}` is a cap on the
    sphere. Fails: an arc has slowly decaying Fourier modes, and no spectral solver can show it without noise.

    >>> Uniform(box=[-1, 1]).evaluate([0.0, 2.0])
    array([0.5, 0. ])
    >>> Uniform(ball={"center": [1, 0], "radius": 2}).covariance          # R^2 / 4
    array([[1., 0.],
           [0., 1.]])
    """

    kind: Literal["uniform"] = "uniform"
    box: Intervals | None = Field(
        default=None, description="one pair `[from, to]` for each dimension; on the circle one arc"
    )
    ball: Ball | None = Field(default=None, description="`center` and `radius` in place of a box")

    @model_validator(mode="after")
    def _one_shape(self) -> Uniform:
        if self.box is not None and self.ball is not None:
            raise ValueError("box and ball cannot both be given")
        check_sides(self.box or ())
        if self.box == ():
            raise ProblemError.at("box", "needs one pair [from, to] for each dimension, not none")
        return self

    def natural_geometry(self) -> Geometry:
        if self.box is None and self.ball is None:
            return Circle()
        dimension = len(self.box or self._center())
        return euclidean(dimension)

    def on(self, geometry: Geometry) -> Measure:
        need_space(geometry)
        if isinstance(geometry, Circle):
            return self._on_circle()
        if isinstance(geometry, Sphere):
            return self._on_sphere(geometry)
        if self.box is not None:
            return self._on_box(self.box, geometry)
        if self.ball is None:
            raise ProblemError.at("initial", "uniform needs a box or a ball on a space without bounds")
        center = self._center()
        if center.size != geometry.ambient_dimension:
            raise _misfit("ball.center", center.shape, geometry)
        if center.size == 1:
            return UniformBox(center - self.ball.radius, center + self.ball.radius, geometry)
        return UniformBall(center, self.ball.radius, geometry)

    def _center(self) -> Float:
        return np.array([] if self.ball is None else self.ball.center, dtype=float, ndmin=1)

    def _on_box(self, box: tuple[Vector, ...], geometry: Geometry) -> UniformBox:
        low, high = np.array(box, dtype=float).T
        if low.size != geometry.ambient_dimension:
            raise _misfit("box", (low.size, 2), geometry)
        return UniformBox(low, high, geometry)

    def _on_sphere(self, geometry: Sphere) -> Measure:
        if self.box is not None:
            raise ProblemError.at("initial.box", "is no part of a sphere; use ball: {center, radius}, a cap")
        if self.ball is None:
            return VonMisesFisher(np.eye(geometry.dimension)[-1], 0.0, geometry)
        center = self._center()
        if center.size != geometry.ambient_dimension:
            raise _misfit("ball.center", center.shape, geometry)
        if abs(np.linalg.norm(center) - 1) > 1e-8 or self.ball.radius > np.pi:
            raise ProblemError.at(
                "initial.ball",
                f"on the sphere needs a unit vector as center and an angle up to pi as radius, not a vector of length "
                f"{np.linalg.norm(center):.6g} and {self.ball.radius:g}",
            )
        return SphericalCap(center, self.ball.radius, geometry)

    def _on_circle(self) -> CircleDensity:
        if self.box is None and self.ball is None:
            return CircleDensity.of(np.array([1.0]))
        if self.ball is not None:
            middle = float(Circle().points(np.atleast_2d(self._center()))[0, 0])
            return _arc((middle - self.ball.radius, middle + self.ball.radius), "ball")
        box = self.box or ()
        if len(box) != 1:
            raise ProblemError.at(
                "initial.box", f"on the circle is one arc [[from, to]], not {[list(side) for side in box]}"
            )
        return _arc(box[0], "box")


def _misfit(name: str, shape: tuple[int, ...], geometry: Geometry) -> ProblemError:
    dimension = geometry.ambient_dimension
    wanted = f"({dimension}, 2)" if name == "box" else f"({dimension},)"
    return ProblemError.at(f"initial.{name}", f"has shape {shape}; tokens in R^{dimension} need {wanted}")


def _arc(ends: tuple[float, ...], name: str) -> CircleDensity:
    start, end = ends
    length = end - start
    if not 0 < length <= 2 * np.pi * (1 + 1e-15):
        raise ProblemError.at(f"initial.{name}", f"must be an arc of at most 2 pi, not [{start:g}, {end:g}]")

    arc = _Arc(start, end, length)
    return CircleDensity(arc.series, None, arc.density, arc.rule)


@dataclass(frozen=True)
class _Arc:
    """The uniform law between two angles."""

    start: float
    end: float
    length: float

    def series(self, count: int) -> Complex:
        order = np.arange(count)
        return np.sinc(order * self.length / (2 * np.pi)) * np.exp(-1j * order * 0.5 * (self.start + self.end))

    def density(self, theta: Float) -> Float:
        return np.where(np.mod(theta - self.start, 2 * np.pi) <= self.length, 1 / self.length, 0.0)

    def rule(self, accuracy: float, refinement: float) -> tuple[Float, Float]:
        points, weights = of_box(1, accuracy, refinement)
        return Circle().points(0.5 * (self.start + self.end) + 0.5 * self.length * points), weights
