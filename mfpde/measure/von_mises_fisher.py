"""The von Mises-Fisher law on a sphere of any dimension."""

from __future__ import annotations

import numpy as np

from mfpde.geometry import Sphere
from mfpde.measure.axisymmetric import Axisymmetric
from mfpde.measure.bessel import bessel_slopes, log_phi, slope_over_x
from mfpde.typing import AnyArray, Float

__all__ = ["VonMisesFisher"]


class VonMisesFisher(Axisymmetric):
    """`rho(x) = e^{c <x, m>} / N` on S^{d-1}; `c / (4 pi sinh c)` is 1/N on S^2.

    `M(w) = Phi(|c m + w|) / Phi(c)`, `Phi(x) = Gamma(d/2) (2 / x)^{d/2 - 1} I_{d/2 - 1}(x)`; c = 0 is uniform.

    >>> VonMisesFisher([0.0, 0.0, 1.0], 2.0, Sphere()).mean.round(6)          # coth(2) - 1/2
    array([0.      , 0.      , 0.537315])
    """

    def __init__(self, direction: AnyArray, concentration: float, geometry: Sphere) -> None:
        super().__init__(np.asarray(direction, dtype=float), geometry)
        self.concentration = concentration
        self._order = 0.5 * self.axis.size - 1

    def log_shape(self, angle: Float) -> Float:
        return -2 * self.concentration * np.sin(0.5 * angle) ** 2

    def window(self, tilt: float, accuracy: float) -> tuple[float, float]:
        c = self.concentration
        if c <= 0.25 * tilt:
            return np.pi, 2 * c
        # beyond the angle a the tilted density has sunk by c a^2 / 2 - tilt a, apart from what curvature adds
        digits = 4.0 - np.log(accuracy)
        end = min(np.pi, 1.3 * (tilt / c + np.sqrt((tilt / c) ** 2 + 2 * digits / c)))
        return end, 2 * c * np.sin(0.5 * end) ** 2

    @property
    def mean(self) -> Float:
        return self.concentration * self._slope * self.axis

    @property
    def covariance(self) -> Float:
        along = np.outer(self.axis, self.axis)
        slope, dimension = self._slope, self.axis.size
        lengthwise = 1 - (dimension - 1) * slope - (slope * self.concentration) ** 2
        return lengthwise * along + slope * (np.eye(dimension) - along)

    @property
    def _slope(self) -> float:
        return float(slope_over_x(self._order, np.array([self.concentration]))[0])

    def axial_moments(self, degree: int) -> Float:
        """`I_{l + d/2 - 1}(c) / I_{d/2 - 1}(c)`."""
        ratios = self.concentration * bessel_slopes(self._order, self.concentration, degree)
        return np.cumprod(np.concatenate([[1.0], ratios]))

    def _log_laplace(self, w: Float) -> tuple[Float, Float]:
        c = self.concentration
        pushed = c * self.axis + w
        size = np.linalg.norm(pushed, axis=1)
        longer = (2 * c * (w @ self.axis) + np.sum(w * w, axis=1)) / np.maximum(size + c, 1e-300)
        value = log_phi(self._order, size) - log_phi(self._order, np.array([c])) + longer
        return value, slope_over_x(self._order, size)[:, None] * pushed

    def evaluate(self, points: AnyArray) -> Float:
        log_norm = float(log_phi(self._order, np.array([self.concentration]))[0]) + self._harmonics.log_area
        return np.exp(self.log_shape(self.angles(points)) - log_norm)
