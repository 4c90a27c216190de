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
    """Tokens as particles, from the few numbers that are stepped."""

    def __init__(self, task: InitialValueProblem, weights: Float) -> None:
        self._task, self._weights = task, weights
        geometry = task.equation.geometry
        self._layout = particles_layout(weights, 1 if geometry.angular else geometry.ambient_dimension)

    @property
    def layout(self) -> Layout:
        return self._layout

    @abstractmethod
    def vectors(self) -> Float:
        """All tokens in R^d at the present time, `(n, d)`."""

    def points(self) -> Float:
        """The same as native points."""
        return self._task.equation.geometry.points(self.vectors())

    def measure(self) -> Particles:
        return Particles(self.points(), self._weights, self._task.equation.geometry)

    def fields(self) -> dict[str, Float]:
        return particles_fields(self.points())


def equal_weights(weights: Float) -> None:
    """Refuse tokens of different masses."""
    if np.ptp(weights) > 1e-12 * weights.max():
        raise ProblemError.at("initial.weights", "must be equal: angles do not stay equal otherwise")
