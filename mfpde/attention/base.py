"""How tokens move each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Circle, Geometry
from mfpde.measure import Measure
from mfpde.specification import Specification
from mfpde.typing import AnyArray, Float

__all__ = ["Attention", "Law", "Zonal"]

#: normalisers below this share of that of the uniform state are not taken from Fourier modes
_CANCELLED = 1e-3


@dataclass(frozen=True, eq=False)
class Zonal:
    """A drift on the circle that is a convolution: `v = d_theta (W * mu)`, divided by `N * mu` where there is a
    normaliser.

    `potential[k]` and `normaliser[k]` multiply the mode c_k (k >= 0). `bound` is what |v| never exceeds. The energy is
    `E = energy_offset + energy_scale sum_{k>=1} W_k |c_k|^2`; without a normaliser the drift is its gradient flow.
    """

    potential: Float
    normaliser: Float | None
    bound: float
    energy_offset: float = 0.0
    energy_scale: float = 1.0

    @property
    def gradient_flow(self) -> bool:
        return self.normaliser is None

    def growth_rates(self) -> Float:
        """`k^2 W_k / N_0`, how fast mode k of the uniform state grows without noise (physics section 5)."""
        order = np.arange(self.potential.size)
        return order**2 * self.potential / (1.0 if self.normaliser is None else self.normaliser[0])


class Law(Specification, ABC):
    """Anything that gives every measure a drift: `G_mu(x)`."""

    citations: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def drift_by_quadrature(self, measure: Measure, points: AnyArray) -> Float:
        """`G_mu(x)` as a plain sum over the nodes of the measure: the specification of every fast path."""

    def drift_by_sums(self, measure: Measure, points: AnyArray) -> Float:
        """The same sum over nodes by whatever is faster than its definition."""
        return self.drift_by_quadrature(measure, points)

    def zonal(self, geometry: Geometry) -> Zonal | None:
        """The convolution behind the drift where there is one (circle, A and V multiples of the identity)."""
        return None

    def drift(self, measure: Measure, points: AnyArray) -> Float:
        """`G_mu(x)` at points, by the fastest path there is; in the shape of the points."""
        geometry = measure.geometry
        zonal = None if geometry is None else self.zonal(geometry)
        if zonal is None or not isinstance(geometry, Circle):
            return self.drift_by_sums(measure, points)
        theta = geometry.points(np.asarray(points))[:, 0]
        modes = measure.fourier(zonal.potential.size)
        order = np.arange(modes.size)
        waves = np.exp(1j * np.outer(theta, order))
        speed = -2 * (waves @ (order * zonal.potential * modes)).imag
        if zonal.normaliser is not None:
            total = 2 * (waves[:, 1:] @ (zonal.normaliser * modes)[1:]).real + zonal.normaliser[0]
            # far from a concentrated measure the sum of modes cancels down to roundoff
            far = total < _CANCELLED * zonal.normaliser[0]
            speed /= np.where(far, 1.0, total)
            if far.any():
                speed[far] = self.drift_by_sums(measure, theta[far])
        return in_shape_of(points, speed[:, None])


class Attention(Law):
    """A kernel `k(x, y)` and a value matrix V: `G_mu(x) = int k(x, y) V y dmu(y)`, projected on spheres (physics
    section 2)."""

    @abstractmethod
    def kernel(self, queries: Float, keys: Float, weights: Float) -> Float:
        """`k(x_i, y_j)` for vectors x (m, d), y (n, d), normalised with respect to the weighted nodes y: `(m, n)`."""

    @abstractmethod
    def value_matrix(self, dimension: int) -> Float:
        """V as a `(d, d)` array."""

    def outputs(self, queries: Float, keys: Float, weights: Float) -> Float:
        """`int k(x_i, y) y dmu(y)`, `(m, d)`; kernels with a faster way than this override it."""
        return self._plain_outputs(queries, keys, weights)

    def drift_by_sums(self, measure: Measure, points: AnyArray) -> Float:
        return self._drift(measure, points, self.outputs)

    def drift_by_quadrature(self, measure: Measure, points: AnyArray) -> Float:
        return self._drift(measure, points, self._plain_outputs)

    def _plain_outputs(self, queries: Float, keys: Float, weights: Float) -> Float:
        return (self.kernel(queries, keys, weights) * weights) @ keys

    def _drift(self, measure: Measure, points: AnyArray, outputs: Callable[[Float, Float, Float], Float]) -> Float:
        geometry = measure.geometry
        keys, weights = measure.nodes()
        queries = np.asarray(points, dtype=float)
        queries = queries.reshape(queries.shape[0], -1) if geometry is None else geometry.points(queries)
        if geometry is None and queries.shape[1] != keys.shape[1]:
            raise ProblemError.at(
                "points", f"have {queries.shape[1]} components, the measure lives in R^{keys.shape[1]}"
            )
        x, y = (queries, keys) if geometry is None else (geometry.embed(queries), geometry.embed(keys))
        output = outputs(x, y, weights) @ self.value_matrix(y.shape[1]).T
        return in_shape_of(points, output if geometry is None else geometry.tangent(queries, output))


def in_shape_of(points: AnyArray, drift: Float) -> Float:
    """Native components `(m, c)` in the shape the points came in; unit vectors of the plane came with their angular
    velocity."""
    given = np.asarray(points)
    return drift.reshape(given.shape) if given.size == drift.size else drift
