"""Constant density on a cap of a sphere."""

from __future__ import annotations

import numpy as np

from mfpde.geometry import Sphere
from mfpde.measure.axisymmetric import Axisymmetric
from mfpde.typing import AnyArray, Float

__all__ = ["SphericalCap"]


class SphericalCap(Axisymmetric):
    """Constant on the points of S^{d-1} within the angle `radius` of an axis.

    >>> print(SphericalCap([0.0, 0.0, 1.0], np.pi / 2, Sphere()).mean[2].round(12))          # (1 + cos(radius)) / 2
    0.5
    """

    def __init__(self, axis: AnyArray, radius: float, geometry: Sphere) -> None:
        super().__init__(np.asarray(axis, dtype=float), geometry)
        self.radius = radius

    def log_shape(self, angle: Float) -> Float:
        return np.where(angle <= self.radius, 0.0, -np.inf)

    def window(self, tilt: float, accuracy: float) -> tuple[float, float]:
        return self.radius, 0.0

    def evaluate(self, points: AnyArray) -> Float:
        from scipy.special import betainc

        half = 0.5 * self.axis.size
        share = 0.5 * betainc(half - 0.5, 0.5, np.sin(self.radius) ** 2)
        share = share if self.radius <= 0.5 * np.pi else 1 - share
        log_area = self._harmonics.log_area + np.log(share)
        return np.exp(self.log_shape(self.angles(points)) - log_area)
