"""The sphere S^{d-1}."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from pydantic import Field

from mfpde.arguments import numbers
from mfpde.errors import ProblemError
from mfpde.geometry.base import UNIT_LENGTH_TOLERANCE, Geometry, divergence_on_unit_sphere, need_vectors
from mfpde.geometry.harmonics import Harmonics
from mfpde.geometry.queries import multiple_of_identity
from mfpde.geometry.series import HarmonicSeries, ZonalSeries
from mfpde.geometry.sphere_series import SphereSeries
from mfpde.registry import register
from mfpde.specification import Whole
from mfpde.typing import AnyArray, Float

__all__ = ["Sphere"]

#: of |x|^2 - 1 that rounding leaves where a vector has been divided by its length
_UNIT = 1e-15


@register("geometry", "sphere")
class Sphere(Geometry):
    """The unit sphere S^{d-1} in R^d, `dimension` d = 3 unless told; points are unit vectors.

    Velocities are projected onto the tangent space, `P_x y = y - <x, y> x`.

    >>> Sphere().tangent(np.array([[0.0, 0.0, 1.0]]), np.array([[1.0, 2.0, 3.0]]))
    array([[1., 2., 0.]])
    """

    kind: Literal["sphere"] = "sphere"
    dimension: Whole = Field(default=3, ge=2, le=100_000, description="of the space around it: 3 for S^2")

    @property
    def ambient_dimension(self) -> int:
        return self.dimension

    def points(self, points: AnyArray) -> Float:
        given = numbers("points", points)
        if given.ndim != 2 or given.shape[1] != self.dimension:
            raise ProblemError.at(
                "points", f"on the sphere in R^{self.dimension} have shape (m, {self.dimension}), not {given.shape}"
            )
        square = np.einsum("mc,mc->m", given, given)
        if given.size and np.abs(square - 1).max() <= _UNIT:  # written so that nan and infinity are not
            return given
        if not np.isfinite(given).all():
            raise ProblemError.at("points", "must be finite")
        length = np.linalg.norm(given, axis=1)
        if given.size and np.abs(length - 1).max() > UNIT_LENGTH_TOLERANCE:
            worst = int(np.argmax(np.abs(length - 1)))
            raise ProblemError.at(
                "points", f"on the sphere must be unit vectors, but point {worst} has length {length[worst]:.6g}"
            )
        return given / length[:, None]

    def embed(self, points: Float) -> Float:
        return self.points(points)

    def coordinates(self, points: Float) -> dict[str, Float]:
        if self.dimension != 3:
            return {}
        x, y, z = self.points(points).T
        longitude = np.mod(np.arctan2(y, x), 2 * np.pi)
        return {"x": x, "y": y, "z": z, "colatitude": np.arctan2(np.hypot(x, y), z), "longitude": longitude}

    def tangent(self, points: Float, vectors: Float) -> Float:
        x = self.points(points)
        vectors = need_vectors(vectors, *x.shape)
        return vectors - np.einsum("mc,mc->m", x, vectors)[:, None] * x

    def distance(self, first: Float, second: Float) -> Float:
        x, y = self.points(first), self.points(second)
        return 2 * np.arctan2(np.linalg.norm(x - y, axis=1), np.linalg.norm(x + y, axis=1))

    def divergence(self, points: Float, slopes: Float, vectors: Callable[[], Float]) -> Float:
        return divergence_on_unit_sphere(self.embed(points), slopes, vectors())

    def retract(self, points: Float) -> Float:
        return points / np.sqrt(np.einsum("mc,mc->m", points, points))[:, None]

    def extend(self, points: Float, vectors: Float) -> Float:
        """`|x| G(x / |x|)`."""
        return vectors * np.sqrt(np.einsum("mc,mc->m", points, points))[:, None]

    @property
    def harmonics(self) -> Harmonics:
        return Harmonics(self.dimension)

    def series(self, points: Float, weights: Float, degree: int) -> HarmonicSeries:
        return self.series_about_axes(points, np.repeat(weights[:, None], degree + 1, axis=1))

    def series_about_axes(self, axes: Float, moments: Float) -> HarmonicSeries:
        """Of a sum of laws that are symmetric about axes a_i, `moments[i, k] = int P_k(<x, a_i>) dmu_i`."""
        return SphereSeries.of_zonal(axes, moments) if self.dimension == 3 else ZonalSeries(axes, moments)

    def tilted_mean(
        self, matrix: Float, points: Float, nodes: Float, weights: Float, log_factors: Float | None
    ) -> tuple[Float, Float] | None:
        from mfpde.transform import tilted_mean_on_sphere

        beta = multiple_of_identity(matrix) if self.dimension == 3 else None
        return None if beta is None else tilted_mean_on_sphere(beta, points, nodes, weights, log_factors)
