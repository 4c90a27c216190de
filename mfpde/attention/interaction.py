"""Any interaction potential of the angle between tokens."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field, field_validator

from mfpde.attention.convolution import Convolution
from mfpde.attention.law import Law
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, Queries
from mfpde.measure import Measure
from mfpde.specification import Vector
from mfpde.typing import AnyArray, Float

__all__ = ["Interaction"]


class Interaction(Law):
    """`G_mu = grad (W * mu)` with `W = sum_{k>=1} w_k P_k(<x, y>)`; `coefficients: [w_1, w_2, ...]`.

    `P_k(cos theta)` is `cos k theta` on the circle, Legendre's polynomial on S^2, Gegenbauer's, 1 at 1, on S^{d-1}.
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
        self._multipliers(geometry)

    def convolution(self, geometry: Geometry) -> Convolution | None:
        return None if geometry.harmonics is None else self._multipliers(geometry)

    def _multipliers(self, geometry: Geometry) -> Convolution:
        if geometry.harmonics is None:
            raise ProblemError.at("interaction", f"is a potential on circle and spheres, not on {geometry.name}")
        coefficients, degree = np.array([0.0, *self.coefficients]), len(self.coefficients)
        largest = np.abs(coefficients) @ geometry.harmonics.largest_slopes(degree)
        potential = coefficients / geometry.harmonics.multiplicities(degree)
        return Convolution(geometry.harmonics, potential, None, float(largest))

    def outputs(self, measure: Measure, queries: Queries, positions: AnyArray | None = None) -> Float:
        convolution, points = self._multipliers(measure.space), queries.native
        if points is None:
            raise ProblemError.at("interaction", "is a potential on circle and spheres")
        slopes, _ = convolution.slopes_and_levels(points, measure.harmonics(convolution.degree))
        return measure.space.pushed(points, slopes).T

    def divergence(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        convolution = self._multipliers(measure.space)
        return convolution.divergence(measure.space.points(points), measure.harmonics(convolution.degree))

    def drift_by_quadrature(self, measure: Measure, points: AnyArray, positions: AnyArray | None = None) -> Float:
        harmonics, queries = self._multipliers(measure.space).harmonics, measure.space.queries(points)
        keys, weights = measure.embedded_nodes()
        slopes = harmonics.slopes(queries.points() @ keys.T, len(self.coefficients))
        force = np.tensordot(np.array([0.0, *self.coefficients]), slopes, axes=1)
        return queries.answered(queries.tangent(((force * weights) @ keys).T))
