"""The circle S^1."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np

from mfpde.arguments import amount, numbers
from mfpde.errors import ProblemError
from mfpde.geometry.axis import Axis
from mfpde.geometry.base import UNIT_LENGTH_TOLERANCE, Geometry, divergence_on_unit_sphere, need_vectors
from mfpde.geometry.harmonics import Harmonics
from mfpde.geometry.layout import Constant, Field, Layout
from mfpde.geometry.queries import multiple_of_identity
from mfpde.geometry.series import CircleSeries
from mfpde.registry import register
from mfpde.typing import AnyArray, Float

__all__ = ["Circle"]


@register("geometry", "circle")
class Circle(Geometry):
    """The unit circle S^1, points `x = (cos theta, sin theta)` written as angles theta in [0, 2 pi).

    A point is an angle; unit vectors of R^2 are accepted and turned into angles. The drift of an angle is an angular
    velocity.

    >>> Circle().points([[0.0, 1.0]]).round(4)          # a unit vector
    array([[1.5708]])
    """

    kind: Literal["circle"] = "circle"
    angular: ClassVar[bool] = True

    @property
    def ambient_dimension(self) -> int:
        return 2

    def points(self, points: AnyArray) -> Float:
        given = numbers("points", points)
        if given.ndim == 2 and given.shape[1] == 1 and given.size and given.min() >= 0 and given.max() < 2 * np.pi:
            return given
        if not np.isfinite(given).all():
            raise ProblemError.at("points", "must be finite")
        if given.ndim == 2 and given.shape[1] == 2:
            length = np.hypot(given[:, 0], given[:, 1])
            if np.any(np.abs(length - 1) > UNIT_LENGTH_TOLERANCE):
                worst = length[np.argmax(np.abs(length - 1))]
                raise ProblemError.at(
                    "points", f"on the circle must be angles or unit vectors, but one has length {worst:.6g}"
                )
            given = np.arctan2(given[:, 1], given[:, 0])
        if given.ndim > 2 or (given.ndim == 2 and given.shape[1] != 1):
            raise ProblemError.at(
                "points", f"on the circle have shape (m,), (m, 1) (angles) or (m, 2) (unit vectors), not {given.shape}"
            )
        angles = given.reshape(-1, 1)
        outside = ~((angles >= 0) & (angles < 2 * np.pi))
        if outside.any():
            turned = np.mod(angles[outside], 2 * np.pi)
            angles = angles.copy()
            angles[outside] = np.where(turned < 2 * np.pi, turned, 0.0)  # the remainder of -1e-17 rounds to 2 pi itself
        return angles

    def embed(self, points: Float) -> Float:
        theta = self.points(points)[:, 0]
        return np.column_stack([np.cos(theta), np.sin(theta)])

    def coordinates(self, points: Float) -> dict[str, Float]:
        theta = self.points(points)[:, 0]
        return {"theta": theta, "x": np.cos(theta), "y": np.sin(theta)}

    def tangent(self, points: Float, vectors: Float) -> Float:
        theta = self.points(points)[:, 0]
        vectors = need_vectors(vectors, theta.size, 2)
        return (np.cos(theta) * vectors[:, 1] - np.sin(theta) * vectors[:, 0])[:, None]

    def pushed(self, points: Float, directions: Float) -> Float:
        return directions * np.column_stack([-np.sin(points[:, 0]), np.cos(points[:, 0])])

    def distance(self, first: Float, second: Float) -> Float:
        apart = np.abs(self.points(first) - self.points(second))[:, 0]
        return np.minimum(apart, 2 * np.pi - apart)

    def divergence(self, points: Float, slopes: Float, vectors: Callable[[], Float]) -> Float:
        return divergence_on_unit_sphere(self.embed(points), slopes, vectors())

    @property
    def harmonics(self) -> Harmonics:
        return Harmonics(2)

    def series(self, points: Float, weights: Float, degree: int) -> CircleSeries:
        return CircleSeries.of_points(points, weights, degree)

    def tilted_mean(
        self, matrix: Float, points: Float, nodes: Float, weights: Float, log_factors: Float | None
    ) -> tuple[Float, Float] | None:
        from mfpde.transform import tilted_mean_on_circle

        beta = multiple_of_identity(matrix)
        return None if beta is None else tilted_mean_on_circle(beta, points[:, 0], nodes[:, 0], weights, log_factors)

    def layout(self, count: int) -> Layout:
        """`count` equispaced angles, which show modes below `count / 2` exactly."""
        amount("count", count, least=1)
        return _layout(count)


@lru_cache(maxsize=64)
def _layout(count: int) -> Layout:
    """Made once: every snapshot of a run has it."""
    axis = Axis.of_angles("theta", count, "angle")
    density = Field(("theta",), "probability density", "radian-1")
    weight = Field(("theta",), "quadrature weight: (density * weight).sum() is the mass", "radian")
    constants = {"weight": Constant(weight, np.full(count, 2 * np.pi / count))}
    for shared in (axis.values, axis.bounds, constants["weight"].values):
        shared.flags.writeable = False
    return Layout("circle", (axis,), fields={"density": density}, constants=constants)
