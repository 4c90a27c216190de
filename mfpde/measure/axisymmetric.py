"""Measures on spheres that are symmetric about an axis: a law of the angle to it, times a uniform direction."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from mfpde.geometry import HarmonicSeries, Sphere
from mfpde.geometry.gauss import gauss_legendre
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.rules import (
    ROUNDING,
    about,
    around_axis,
    legendre_count,
    of_sphere,
    sphere_degree,
    tilt_for,
    times,
)
from mfpde.streams import normal_rows, uniform_rows
from mfpde.typing import AnyArray, Float

__all__ = ["Axisymmetric", "turned_about"]

_TABLE_ANGLES = 8192  # of the distribution function that draws invert
_LOG_DENSITY_FLOOR = -46.0  # relative to the peak: the table leaves out angles with less density than e^-46 = 1e-20


class Axisymmetric(Measure):
    """Density `e^{g(a)} / N` on S^{d-1}, a the angle to an axis m."""

    def __init__(self, axis: Float, geometry: Sphere) -> None:
        self.axis: Float = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
        self._geometry: Sphere = geometry
        self._harmonics = geometry.harmonics

    @abstractmethod
    def log_shape(self, angle: Float) -> Float:
        """g, -inf where there is nothing."""

    @abstractmethod
    def window(self, tilt: float, accuracy: float) -> tuple[float, float]:
        """The largest angle that matters under tilts up to `tilt`, and the range of g up to there."""

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        """Gauss angles times a rule of S^{d-2}, for tilts up to 100 (d = 2), 40, 16."""
        dimension, accuracy = self.axis.size, max(accuracy, ROUNDING)
        tilt = tilt_for(dimension, "a sphere")
        angle, share, end = self._angle_rule(tilt, accuracy, refinement)
        around, weights = of_sphere(
            dimension - 1, times(refinement, sphere_degree(tilt * np.sin(min(end, 0.5 * np.pi)), accuracy))
        )
        return about(self.axis, around_axis(angle, around)), np.outer(share, weights).ravel()

    def _angle_rule(
        self, tilt: float, accuracy: float, refinement: float = 1.0, degree: int = 0
    ) -> tuple[Float, Float, float]:
        """Gauss angles for tilts and waves of that size and degree, their shares of the mass, and the largest angle
        that matters."""
        dimension = self.axis.size
        end, change = self.window(tilt, accuracy)
        line, share = gauss_legendre(
            degree + times(refinement, legendre_count(0.5 * change + tilt * min(end, 1.0) + dimension, accuracy))
        )
        angle = 0.5 * end * (1 + line)
        share = share * np.exp(self.log_shape(angle)) * np.sin(angle) ** (dimension - 2)
        return angle, share / share.sum(), end

    def harmonics(self, degree: int) -> HarmonicSeries:
        return self._geometry.series_about_axes(self.axis[None], self.axial_moments(degree)[None])

    def axial_moments(self, degree: int) -> Float:
        """`int P_l(<x, m>) dmu`, l = 0 .. degree."""
        angle, share, _ = self._angle_rule(0.0, ROUNDING, degree=degree)
        return np.asarray(self._harmonics.zonal(np.cos(angle), degree) @ share)

    def sample(self, count: int, seed: int = 0) -> Float:
        return self.sample_share(0, count, seed)

    def sample_share(self, first: int, count: int, seed: int = 0) -> Float:
        angle = np.interp(uniform_rows(count, 1, seed, 0, first)[:, 0], *self._distribution)
        return turned_about(self.axis, angle, seed, first)

    @cached_property
    def _distribution(self) -> tuple[Float, Float]:
        """Table of the distribution function of the angle: (probability, angle)."""
        low, high = 0.0, np.pi
        for _ in range(3):  # the angles with density above the floor, to ever finer resolution
            angle = np.linspace(low, high, _TABLE_ANGLES)
            with np.errstate(divide="ignore"):
                log_density = self.log_shape(angle) + (self.axis.size - 2) * np.log(np.abs(np.sin(angle)))
            there = np.flatnonzero(log_density > log_density.max() + _LOG_DENSITY_FLOOR)
            low, high = angle[max(there[0] - 1, 0)], angle[min(there[-1] + 1, _TABLE_ANGLES - 1)]
        density = np.exp(log_density - log_density.max())
        total = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
        return total / total[-1], angle

    def angles(self, points: AnyArray) -> Float:
        """Angles to the axis, exact near it as well."""
        x = self.space.points(points)
        return 2 * np.arctan2(np.linalg.norm(x - self.axis, axis=1), np.linalg.norm(x + self.axis, axis=1))


def turned_about(axis: Float, angle: Float, seed: int, first: int = 0) -> Float:
    """Draws at these angles to an axis, in uniform directions; the first of them is draw `first` of that seed."""
    side = normal_rows(angle.size, axis.size, seed, 1, first)
    side -= np.outer(side @ axis, axis)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    return np.asarray(np.cos(angle)[:, None] * axis + np.sin(angle)[:, None] * side)
