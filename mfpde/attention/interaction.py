"""Any even interaction potential on the circle."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field, field_validator

from mfpde.attention.law import Law
from mfpde.attention.zonal import Zonal
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, Queries
from mfpde.measure import Measure
from mfpde.specification import Vector
from mfpde.typing import AnyArray, Float

__all__ = ["Interaction"]


class Interaction(Law):
    """`G_mu = d_theta (W * mu)` with `W(theta) = sum_{k>=1} w_k cos(k theta)`; `coefficients: [w_1, w_2, ...]`.

    Positive coefficients attract. `[1]` is the Kuramoto model, `[0, 1]` its nematic sister.

    >>> import mfpde
    >>> cluster = mfpde.Particles([1.0], geometry=mfpde.Circle())
    >>> mfpde.Interaction(coefficients=[1]).drift(cluster, [0.0]).round(6)          # sin(1)
    array([0.841471])
    """

    citations: ClassVar[tuple[str, ...]] = ("carrillo2020",)
    coefficients: Vector = Field(min_length=1, description="`w_1, w_2, ...` of the potential")

    @field_validator("coefficients")
    @classmethod
    def _finite(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        if not np.isfinite(values).all() or not any(values):
            raise ValueError("must be finite and not all zero")
        if max(map(abs, values)) > 1e100:
            raise ValueError("must not be beyond 1e100")
        return values

    def check_constant(self, geometry: Geometry) -> None:
        if not geometry.angular:
            raise ProblemError.at("interaction", f"is a potential on the circle, not on {geometry.name}")

    def zonal(self, geometry: Geometry) -> Zonal | None:
        return self._convolution() if geometry.angular else None

    def _convolution(self) -> Zonal:
        potential = np.concatenate([[0.0], 0.5 * np.array(self.coefficients)])
        speed = float(np.abs(np.arange(potential.size) * potential).sum() * 2)
        return Zonal(potential, None, speed)

    def outputs(self, measure: Measure, queries: Queries, positions: AnyArray | None = None) -> Float:
        theta, zonal = _angles(measure, queries.native), self._convolution()
        speed, _ = zonal.velocity(theta, measure.fourier(zonal.potential.size))
        return speed * np.array([-np.sin(theta), np.cos(theta)])

    def divergence(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        zonal = self._convolution()
        return zonal.divergence(_angles(measure, points), measure.fourier(zonal.potential.size))

    def drift_by_quadrature(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        distance = _angles(measure, points)[:, None] - measure.nodes()[0][:, 0]
        order = np.arange(1, len(self.coefficients) + 1)
        force = -np.sin(distance[:, :, None] * order) @ (order * np.array(self.coefficients))
        return measure.space.queries(points).answered((force @ measure.nodes()[1])[None])


def _angles(measure: Measure, points: AnyArray | None) -> Float:
    if not measure.space.angular or points is None:
        raise ProblemError.at("interaction", "is a potential on the circle")
    return measure.space.points(points)[:, 0]
