"""Drifts that move every token on its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from mfpde.coefficients import InTime
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, need_space
from mfpde.typing import AnyArray, Float

__all__ = ["PointwiseDrift"]


class PointwiseDrift(InTime, ABC):
    """A vector field g(x) on R^d, projected on spheres, that adds to the drift of the law."""

    citations: ClassVar[tuple[str, ...]] = ()

    @property
    def kinked(self) -> bool:
        """Whether g has kinks."""
        return False

    @abstractmethod
    def outputs(self, x: Float) -> Float:
        """g at vectors of R^d, `(m, d)`."""

    @abstractmethod
    def output_jacobians(self, x: Float) -> Float:
        """`D_x g`, `(m, d, d)`: rows are components of g."""

    @abstractmethod
    def check_dimension(self, dimension: int) -> None:
        """Fail when the coefficients do not fit tokens in R^d."""

    def drift(self, geometry: Geometry, points: AnyArray) -> Float:
        """g in the shape of the points, projected where the space is curved."""
        need_space(geometry)
        queries = geometry.queries(points)
        return queries.answered(queries.tangent(queries.laid(self.outputs(queries.points()))))

    def check(self, geometry: Geometry) -> None:
        """Fail when the coefficients, at any time, do not fit the space."""
        for time in (-np.inf, *self.breaks()):
            self.at(time).check_dimension(geometry.ambient_dimension)

    def need_constant(self) -> None:
        """Fail while a coefficient depends on time."""
        if not self.constant:
            raise ProblemError.at("drift", "depends on time; ask drift.at(time) for its values")
