"""What integrations of reduced models show: the tokens that they stand for."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from mfpde.contracts import Integration
from mfpde.errors import ProblemError
from mfpde.geometry import Layout
from mfpde.measure import Particles
from mfpde.solvers.forms import particles_fields, particles_layout
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem

__all__ = ["ReducedIntegration", "equal_weights"]


class ReducedIntegration(Integration):
    """Tokens as particles, from the few numbers that are stepped; as vectors where the equation has a normalization."""

    def __init__(self, task: InitialValueProblem, weights: Float) -> None:
        self._task, self._weights = task, weights
        geometry, scheme = task.equation.geometry, task.equation.normalization
        self._as_vectors = scheme is not None
        components = 1 if geometry.angular and scheme is None else geometry.ambient_dimension
        self._layout = particles_layout(weights, components)

    @property
    def layout(self) -> Layout:
        return self._layout

    @abstractmethod
    def vectors(self) -> Float:
        """All tokens in R^d at the present time, `(n, d)`, of any norms where there is a normalization."""

    def points(self) -> Float:
        """The same as native points: on circle and spheres their directions."""
        vectors, geometry = self.vectors(), self._task.equation.geometry
        if geometry.flat or not self._as_vectors:
            return geometry.points(vectors)
        return geometry.points(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    def measure(self) -> Particles:
        return Particles(self.points(), self._weights, self._task.equation.geometry)

    def fields(self) -> dict[str, Float]:
        return particles_fields(self.vectors() if self._as_vectors else self.points())


def equal_weights(weights: Float) -> None:
    """Refuse tokens of different masses."""
    if np.ptp(weights) > 1e-12 * weights.max():
        raise ProblemError.at("initial.weights", "must be equal: angles do not stay equal otherwise")
