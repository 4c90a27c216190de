"""All that moves a token besides noise: the law, and a pointwise drift."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.attention.affine import AffineDrift
from mfpde.attention.law import Law, concrete
from mfpde.attention.pointwise import PointwiseDrift
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, Queries
from mfpde.measure import Measure
from mfpde.typing import AnyArray, Float

__all__ = ["Velocity"]


@dataclass(frozen=True)
class Velocity:
    """`G_mu(x) + g(x)`: what solvers move tokens by. Either may be None.

    >>> import mfpde
    >>> velocity = Velocity(mfpde.Softmax(A=1), mfpde.Mlp(activation="relu"))
    >>> velocity.drift(mfpde.Particles([1.0, 3.0]), [0.0, -5.0]).round(3)
    array([2., 1.])
    """

    law: Law | None = None
    pointwise: PointwiseDrift | None = None

    # -- dependence on time
    # ---------------------------------------------------------------------------------------------------------

    def at(self, time: float) -> Velocity:
        """The velocity with the coefficients of that time, constant."""
        if self.constant:
            return self
        return Velocity(*(None if part is None else part.at(time) for part in (self.law, self.pointwise)))  # type: ignore[arg-type]

    @cached_property
    def constant(self) -> bool:
        """Whether nothing depends on time."""
        return all(part is None or part.constant for part in (self.law, self.pointwise))

    @property
    def kinked(self) -> bool:
        """Whether drifts of smooth measures have kinks."""
        return any(part is not None and part.kinked for part in (self.law, self.pointwise))

    @property
    def kinked_by_points(self) -> bool:
        """Whether drifts of tokens have kinks."""
        return self.kinked or (self.law is not None and self.law.kinked_by_edges)

    def breaks(self) -> tuple[float, ...]:
        """Times at which a coefficient jumps or has a kink, ascending."""
        found = [part.breaks() for part in (self.law, self.pointwise) if part is not None]
        return tuple(sorted({time for times in found for time in times}))

    def check(self, geometry: Geometry) -> None:
        """Fail when the coefficients, at any time, do not fit the space."""
        for part in (self.law, self.pointwise):
            if part is not None:
                part.check(geometry)

    def check_speed(self, geometry: Geometry) -> None:
        """Fail when drifts, at any time, are known to be beyond all numbers."""
        if self.law is not None:
            for time in (-np.inf, *self.law.breaks()):
                self.law.at(time).check_speed(geometry)

    # -- the drift
    # ---------------------------------------------------------------------------------------------------------

    def prepare(self, measure: Measure, previous: Measure | None = None) -> None:
        """As `Law.prepare`."""
        if self.law is not None:
            self.law.prepare(measure, previous)

    def drift(self, measure: Measure, points: AnyArray | Queries, positions: AnyArray | None = None) -> Float:
        """As `Law.drift`."""
        queries = concrete(measure).space.queries(points)
        parts = [] if self.law is None else [self.law.any_drift(measure, points, positions)]
        if self.pointwise is not None:
            parts.append(queries.answered(queries.tangent(queries.laid(self.pointwise.outputs(queries.points())))))
        return (
            sum(parts[1:], parts[0]) if parts else queries.answered(np.zeros_like(queries.tangent(queries.vectors())))
        )

    def jacobian(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        """As `Law.jacobian`."""
        x = measure.space.points(points)
        total = np.zeros((*x.shape, x.shape[1]))
        if self.law is not None:
            total = total + self.law.jacobian(measure, points, positions)
        return total if self.pointwise is None else total + self.pointwise.output_jacobians(x)

    def divergence(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        """As `Law.divergence`."""
        measure = concrete(measure)
        x = measure.space.points(points)
        total = np.zeros(x.shape[0])
        if self.law is not None:
            total = total + self.law.divergence(measure, points, positions)
        if self.pointwise is None:
            return total
        y, field = measure.space.embed(x), self.pointwise
        return total + measure.space.divergence(x, field.output_jacobians(y), lambda: field.outputs(y))

    # -- Gaussians
    # ---------------------------------------------------------------------------------------------------------

    def gaussian_unfit(self, dimension: int) -> str | None:
        """As `Law.gaussian_unfit`."""
        if self.pointwise is not None:
            return "a pointwise drift does not keep Gaussians"
        return None if self.law is None else self.law.gaussian_unfit(dimension)

    def gaussian_drift(self, mean: Float, covariance: Float, factor: Float | None = None) -> AffineDrift:
        """As `Law.gaussian_drift`."""
        reason = self.gaussian_unfit(mean.size)
        if reason is not None:
            raise ProblemError.at("attention", f"has no closed form for Gaussians: {reason}")
        if self.law is None:
            return AffineDrift(np.zeros(mean.size), np.zeros((mean.size, mean.size)))
        return self.law.gaussian_drift(mean, covariance, factor)
