"""Constant density on a ball."""

from __future__ import annotations

import numpy as np

from mfpde.geometry import Geometry, Lattice
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.bessel import log_phi, slope_over_x
from mfpde.measure.overlap import shares_in_disc
from mfpde.measure.rules import of_ball
from mfpde.streams import random_stream
from mfpde.typing import AnyArray, Float

__all__ = ["UniformBall"]


class UniformBall(Measure):
    """Constant on the ball of `radius` R about a `centre` c of R^d, d >= 2:
    `M(w) = e^{<w, c>} Gamma(d/2 + 1) (2 / r)^{d/2} I_{d/2}(r)`, r = R |w|.

    >>> from mfpde import Plane
    >>> UniformBall([0.0, 0.0], 2.0, Plane()).covariance          # R^2 / (d + 2)
    array([[1., 0.],
           [0., 1.]])
    """

    compact = True
    jumps = True

    def __init__(self, centre: AnyArray, radius: float, geometry: Geometry) -> None:
        self.centre, self.radius = np.array(centre, dtype=float), radius
        self._geometry = geometry

    @property
    def mean(self) -> Float:
        return self.centre.copy()

    @property
    def covariance(self) -> Float:
        dimension = self.centre.size
        return self.radius**2 / (dimension + 2) * np.eye(dimension)

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        """Spheres of Gauss radii, accurate for tilts of 100 (d = 2), 40, 16 over the radius."""
        points, weights = of_ball(self.centre.size, accuracy, refinement)
        return self.centre + self.radius * points, weights

    def _log_laplace(self, w: Float) -> tuple[Float, Float]:
        order, r = 0.5 * self.centre.size, self.radius * np.linalg.norm(w, axis=1)
        slope = self.radius**2 * slope_over_x(order, r)
        return w @ self.centre + r + log_phi(order, r), self.centre + slope[:, None] * w

    def evaluate(self, points: AnyArray) -> Float:
        x = self.space.points(points)
        inside = np.sum((x - self.centre) ** 2, axis=1) <= self.radius**2
        return np.where(inside, np.exp(-self._log_volume), 0.0)

    @property
    def _log_volume(self) -> float:
        from scipy.special import gammaln

        dimension = self.centre.size
        return float(0.5 * dimension * np.log(np.pi) - gammaln(0.5 * dimension + 1) + dimension * np.log(self.radius))

    def sample(self, count: int, seed: int = 0) -> Float:
        dimension = self.centre.size
        radius, direction = (random_stream(count, seed, part) for part in range(2))
        draws = direction.standard_normal((count, dimension))
        draws *= (radius.random(count) ** (1 / dimension) / np.linalg.norm(draws, axis=1))[:, None]
        return self.centre + self.radius * draws

    def reach(self, tolerance: float = NODES_ACCURACY, tilts: AnyArray | None = None) -> tuple[Float, Float]:
        return self.centre - self.radius, self.centre + self.radius

    def _cell_averages(self, lattice: Lattice) -> Float:
        return shares_in_disc(lattice, self.centre, self.radius) * np.exp(-self._log_volume)
