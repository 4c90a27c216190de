"""Where tokens live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from mfpde.arguments import instance, numbers
from mfpde.errors import ProblemError
from mfpde.specification import Part
from mfpde.typing import AnyArray, Float

__all__ = ["Geometry", "need_space", "need_vectors"]


class Geometry(Part, ABC):
    """Where tokens live: its coordinates, its tangent projection, its embedding into R^d."""

    #: R^d itself: points are vectors and nothing is projected
    flat: ClassVar[bool] = False

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


def need_vectors(vectors: object, count: int, dimension: int) -> Float:
    """Vectors of R^d, one for each point, `(m, d)`."""
    given = numbers("vectors", vectors)
    if given.shape != (count, dimension):
        raise ProblemError.at("vectors", f"must have shape ({count}, {dimension}), not {given.shape}")
    return given


def need_space(geometry: object) -> None:
    """Fail when something else is given where a geometry is wanted."""
    instance("geometry", geometry, Geometry, "a space such as mfpde.Circle() or mfpde.Plane()")
