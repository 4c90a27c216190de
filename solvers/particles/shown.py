"""What every integration of tokens shows."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from mfpde.contracts import Integration
from mfpde.geometry import Layout
from mfpde.measure import Particles
from mfpde.solvers.forms import particles_fields, particles_layout
from mfpde.solvers.particles.tokens import Tokens
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["TokenIntegration"]


class TokenIntegration(Integration):
    """Tokens on their way: subclasses move them."""

    def __init__(self, settings: ParticleSystem, task: InitialValueProblem, tokens: Tokens) -> None:
        self._settings, self._task, self._tokens = settings, task, tokens
        self._velocity = task.equation.velocity
        copies = None if settings.copies is None else tokens.copies
        self._layout = particles_layout(tokens.weights, tokens.points.shape[2], tokens.positions, copies)

    @property
    def layout(self) -> Layout:
        return self._layout

    @abstractmethod
    def points(self) -> Float:
        """Native points of all tokens at the present time, `(copies, n, c)`."""

    def measure(self) -> Particles:
        return self._tokens.measure(self.points())

    def fields(self) -> dict[str, Float]:
        points = self.points()
        return particles_fields(points if self._settings.copies is not None else points[0])

    def drift(self, points: Float) -> Float:
        """Of tokens at native points `(n, c)` by their own measure."""
        measure = Particles(points, self._tokens.weights, self._tokens.geometry, self._tokens.positions)
        velocity = self._velocity.at(self.time)
        velocity.prepare(measure)
        return velocity.drift(measure, points, self._tokens.positions)

    def residual(self) -> float:
        """`(sum_i w_i |G(x_i)|^2)^{1/2}` relative to the spread of tokens in R^d; of copies the root mean square."""
        squares = []
        for points in self.points():
            square = float(np.einsum("n,nc->", self._tokens.weights, self.drift(points) ** 2))
            squares.append(square / spread(points, self._tokens) ** 2)
        return float(np.sqrt(np.mean(squares)))

    def tokens_state(self) -> dict[str, AnyArray]:
        """What was drawn at the start and never changes."""
        positions = np.zeros(0) if self._tokens.positions is None else self._tokens.positions
        return {"tokens": self._tokens.points, "weights": self._tokens.weights, "positions": positions}


def spread(points: Float, tokens: Tokens) -> float:
    """Root of the mean square distance from the mean; 1 where the space is bounded."""
    if not tokens.geometry.flat:
        return 1.0
    mean = np.einsum("n,nc->c", tokens.weights, points)
    deviation = float(np.sqrt(np.einsum("n,nc->", tokens.weights, (points - mean) ** 2)))
    farthest = float(np.abs(points).max(initial=0.0))
    return deviation if deviation > 1e-14 * farthest else farthest + 1e-200
