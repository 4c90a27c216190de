"""Euclidean space, of one, two or any number of dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from mfpde.arguments import numbers
from mfpde.errors import ProblemError
from mfpde.geometry.base import Geometry
from mfpde.typing import AnyArray, Float

__all__ = ["Flat"]


class Flat(Geometry):
    """R^d: points are vectors, nothing is projected."""

    flat: ClassVar[bool] = True

    @property
    def ambient_dimension(self) -> int:
        return int(self.dimension)  # type: ignore[attr-defined]

    def points(self, points: AnyArray) -> Float:
        given = numbers("points", points)
        dimension = self.ambient_dimension
        if dimension == 1 and given.ndim == 1:
            given = given[:, None]
        if given.ndim != 2 or given.shape[1] != dimension:
            wanted = f"(m, {dimension})" if dimension > 1 else "(m,) or (m, 1)"
            raise ProblemError.at("points", f"in R^{dimension} have shape {wanted}, not {given.shape}")
        if not np.isfinite(given).all():
            raise ProblemError.at("points", "must be finite")
        return given

    def embed(self, points: Float) -> Float:
        return self.points(points)

    def retract(self, points: Float) -> Float:
        return points

    def coordinates(self, points: Float) -> dict[str, Float]:
        return dict(zip("xyz", self.points(points).T, strict=False)) if self.ambient_dimension <= 3 else {}

    def tangent(self, points: Float, vectors: Float) -> Float:
        return vectors

    def distance(self, first: Float, second: Float) -> Float:
        return np.linalg.norm(self.points(first) - self.points(second), axis=1)

    def divergence(self, points: Float, slopes: Float, vectors: Callable[[], Float]) -> Float:
        return np.trace(slopes, axis1=1, axis2=2)

    def bent(self, points: Float, vectors: Float, directions: Float) -> Float:
        return np.zeros_like(directions)
