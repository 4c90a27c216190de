"""Where tokens live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import ClassVar

import numpy as np

from mfpde.arguments import instance, numbers
from mfpde.errors import ProblemError
from mfpde.geometry.harmonics import Harmonics
from mfpde.geometry.queries import Queries, Scattered
from mfpde.geometry.series import HarmonicSeries
from mfpde.specification import Part
from mfpde.typing import AnyArray, Float

__all__ = ["Geometry", "divergence_on_unit_sphere", "need_space", "need_vectors"]

#: of ||x| - 1| for unit vectors that users give
UNIT_LENGTH_TOLERANCE = 1e-8


class Geometry(Part, ABC):
    """Where tokens live: its coordinates, its tangent projection, its embedding into R^d."""

    #: R^d itself: points are vectors and nothing is projected
    flat: ClassVar[bool] = False
    #: points are angles, and functions of them Fourier series
    angular: ClassVar[bool] = False

    @property
    @abstractmethod
    def ambient_dimension(self) -> int:
        """Dimension d of the R^d that the space is embedded in."""

    @abstractmethod
    def points(self, points: AnyArray) -> Float:
        """Points in native form, `(m, components)`; everything a user may give is accepted, nothing else."""

    @abstractmethod
    def embed(self, points: Float) -> Float:
        """Native points as vectors of R^d, `(m, d)`."""

    @abstractmethod
    def coordinates(self, points: Float) -> dict[str, Float]:
        """Native points by the names that expressions may use."""

    @abstractmethod
    def tangent(self, points: Float, vectors: Float) -> Float:
        """Vectors of R^d at native points, projected and written in native components, `(m, components)`."""

    @abstractmethod
    def distance(self, first: Float, second: Float) -> Float:
        """Length of the shortest way between native points, `(m,)`."""

    @abstractmethod
    def divergence(self, points: Float, slopes: Float, vectors: Callable[[], Float]) -> Float:
        """`(m,)` of a field projected on the space, from its derivatives `(m, d, d)` and values `(m, d)` in R^d."""

    def pushed(self, points: Float, directions: Float) -> Float:
        """Tangent vectors in native components as vectors of R^d, `(m, d)`."""
        return self.tangent(points, directions)

    def bent(self, points: Float, vectors: Float, directions: Float) -> Float:
        """The projection of the derivative of a field in R^d, in tangent directions u, minus the covariant derivative
        of the projected field: `<x, v> u` on unit spheres, where the projection depends on the point."""
        return np.sum(self.embed(points) * vectors, axis=1, keepdims=True) * directions

    def retract(self, points: Float) -> Float:
        """The native points nearest to coordinates that are slightly off the space after a time step."""
        return self.points(points)

    def extend(self, points: Float, vectors: Float) -> Float:
        """A field at `retract(points)`, in native components, continued to points off the space."""
        return vectors

    @property
    def harmonics(self) -> Harmonics | None:
        """Those of the sphere that it is, which convolutions multiply degree by degree."""
        return None

    def series(self, points: Float, weights: Float, degree: int) -> HarmonicSeries:
        """Of point masses at native points, where there are harmonics."""
        raise ProblemError.at("measure", f"has no harmonics on {self.name}: they belong to circle and spheres")

    def tilted_mean(
        self, matrix: Float, points: Float, nodes: Float, weights: Float, log_factors: Float | None
    ) -> tuple[Float, Float] | None:
        """`(grad log M(Ax), log M(Ax))` of weighted nodes by sums made for this space and this A, if there are any."""
        return None

    def queries(self, points: AnyArray | Queries) -> Queries:
        """What a user asks at: points in any form of the space, or a lattice of R^d."""
        if not isinstance(points, Queries):
            return Scattered(self.points(points), self, np.shape(points))
        if not self.flat:
            raise ProblemError.at("points", "a lattice lies in R^d; on circle and sphere give points")
        return points

    def counts_as(self, *kinds: str) -> bool:
        """Whether it is a space of one of these kinds, or derived from one."""
        return not _kinds(type(self)).isdisjoint(kinds)

    @property
    def name(self) -> str:
        """The kind it is registered as."""
        return str(getattr(self, "kind", type(self).__name__))


@cache
def _kinds(space: type[Geometry]) -> frozenset[str]:
    """Of a class of spaces and those that it is derived from."""
    fields = (getattr(cls, "model_fields", {}).get("kind") for cls in space.__mro__)
    return frozenset(field.default for field in fields if field is not None)


def divergence_on_unit_sphere(x: Float, slopes: Float, vectors: Float) -> Float:
    """`tr(P_x D_x G) - (d - 1) <x, G>` at unit vectors x."""
    along = np.einsum("mi,mij,mj->m", x, slopes, x)
    trace = np.trace(slopes, axis1=1, axis2=2)
    return trace - along - (x.shape[1] - 1) * np.einsum("mi,mi->m", x, vectors)


def need_vectors(vectors: object, count: int, dimension: int) -> Float:
    """Vectors of R^d, one for each point, `(m, d)`."""
    given = numbers("vectors", vectors)
    if given.shape != (count, dimension):
        raise ProblemError.at("vectors", f"must have shape ({count}, {dimension}), not {given.shape}")
    return given


def need_space(geometry: object) -> None:
    """Fail when something else is given where a geometry is wanted."""
    instance("geometry", geometry, Geometry, "a space such as mfpde.Circle() or mfpde.Plane()")
