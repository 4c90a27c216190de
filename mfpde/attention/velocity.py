"""All that moves a token besides noise: the law, and a pointwise drift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.attention.affine import AffineDrift
from mfpde.attention.law import Law, in_shape_of, native_points
from mfpde.errors import ProblemError
from mfpde.geometry import Lattice
from mfpde.measure import Measure
from mfpde.typing import AnyArray, Float

__all__ = ["Velocity"]


@dataclass(frozen=True)
class Velocity:
    """`G_mu(x) + g(x)`: what solvers move tokens by. No law is no attraction.

    >>> import mfpde
    >>> Velocity(mfpde.Softmax(A=1)).drift(mfpde.Particles([1.0, 3.0]), [0.0])
    array([2.])
    """

    law: Law | None = None

    def at(self, time: float) -> Velocity:
        """The velocity with the coefficients of that time, constant."""
        law = None if self.law is None else self.law.at(time)
        return self if law is self.law else Velocity(law)

    @property
    def constant(self) -> bool:
        """Whether nothing depends on time."""
        return self.law is None or self.law.constant

    def breaks(self) -> tuple[float, ...]:
        """Times at which a coefficient jumps or has a kink, ascending."""
        return () if self.law is None else self.law.breaks()

    def prepare(self, measure: Measure, previous: Measure | None = None) -> None:
        """As `Law.prepare`."""
        if self.law is not None:
            self.law.prepare(measure, previous)

    def drift(self, measure: Measure, points: AnyArray | Lattice, positions: AnyArray | None = None) -> Float:
        """As `Law.drift`."""
        if self.law is not None:
            return self.law.drift(measure, points, positions)
        if isinstance(points, Lattice):
            return np.zeros((points.dimension, *points.shape))
        return in_shape_of(points, np.zeros(native_points(measure, points).shape))

    def jacobian(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        """As `Law.jacobian`."""
        if self.law is not None:
            return self.law.jacobian(measure, points, positions)
        count, dimension = native_points(measure, points).shape
        return np.zeros((count, dimension, dimension))

    def divergence(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        """As `Law.divergence`."""
        if self.law is not None:
            return self.law.divergence(measure, points, positions)
        return np.zeros(native_points(measure, points).shape[0])

    def gaussian_unfit(self, dimension: int) -> str | None:
        """As `Law.gaussian_unfit`."""
        return None if self.law is None else self.law.gaussian_unfit(dimension)

    def gaussian_drift(self, mean: Float, covariance: Float) -> AffineDrift:
        """As `Law.gaussian_drift`."""
        reason = self.gaussian_unfit(mean.size)
        if reason is not None:
            raise ProblemError.at("attention", f"has no closed form for Gaussians: {reason}")
        if self.law is None:
            return AffineDrift(np.zeros(mean.size), np.zeros((mean.size, mean.size)))
        return self.law.gaussian_drift(mean, covariance)
