"""What softmax and unnormalized attention share: the exponential kernel `e^{<Ax, y>}` and its Fourier modes on the
circle."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field, model_validator

from mfpde.attention.base import Attention
from mfpde.attention.law import in_shape_of, native_points
from mfpde.attention.matrices import one_way_to_say_it, product, square
from mfpde.attention.zonal import Zonal
from mfpde.errors import ProblemError
from mfpde.geometry import Circle, Geometry, Lattice
from mfpde.measure import Measure
from mfpde.schedule import MatrixInTime, NumberInTime
from mfpde.typing import AnyArray, Float

__all__ = ["Exponential"]

#: largest |A| for which the modes of the kernel are listed (about ten thousand of them)
_LARGEST = 1e6
#: normalisers below this share of that of the uniform state are not taken from Fourier modes
_CANCELLED = 1e-3
#: largest logarithm of an unnormalized sum
_OVERFLOW = 709.0


class Exponential(Attention):
    """Attention through `e^{<Ax, y>}`, A multiplying the query x; `A = K^T Q`, or `beta` for A = beta I, V = I."""

    citations: ClassVar[tuple[str, ...]] = ("rigollet2025", "geshkovski2025")
    normalised: ClassVar[bool]

    beta: NumberInTime | None = Field(default=None, description="inverse temperature, not negative: A = beta I, V = I")
    A: MatrixInTime | None = Field(default=None, description="the matrix of `e^{<Ax, y>}`; it multiplies the query x")
    Q: MatrixInTime | None = Field(default=None, description="query matrix; with K, `A = K^T Q`")
    K: MatrixInTime | None = Field(default=None, description="key matrix")
    V: MatrixInTime = Field(default=1.0, description="value matrix")

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Exponential:
        one_way_to_say_it(self)
        return self

    def check_constant(self, geometry: Geometry) -> None:
        self.query_matrix(geometry.ambient_dimension)
        self.value_matrix(geometry.ambient_dimension)
        self.zonal(geometry)

    def query_matrix(self, dimension: int) -> Float:
        """A as a `(d, d)` array."""
        self.need_constant()
        if self.Q is not None and self.K is not None:
            return product(self.K, self.Q, dimension)
        return square("A", self.beta if self.A is None else self.A, dimension)

    def value_matrix(self, dimension: int) -> Float:
        self.need_constant()
        return square("V", self.V, dimension)

    def scores(self, queries: Float, keys: Float) -> Float:
        """`<A x_i, y_j>`, `(m, n)`."""
        return queries @ self.query_matrix(queries.shape[1]).T @ keys.T

    def outputs(self, measure: Measure, points: Float | Lattice, positions: AnyArray | None = None) -> Float:
        dimension = measure.ambient_dimension
        query, value = self.query_matrix(dimension), self.value_matrix(dimension)
        if isinstance(points, Lattice):
            log_mass, mean = measure.log_laplace(points.mapped(query), gradient=True)
            output = np.tensordot(value, mean, axes=1)
            return output if self.normalised else output * _raised(log_mass)
        log_mass, mean = measure.tilt(points, query)
        output = mean @ value.T
        return output if self.normalised else output * _raised(log_mass)[:, None]

    def drift(self, measure: Measure, points: AnyArray | Lattice, positions: AnyArray | None = None) -> Float:
        geometry = measure.geometry
        zonal = self.zonal(geometry) if isinstance(geometry, Circle) else None
        if zonal is None or isinstance(points, Lattice):
            return super().drift(measure, points, positions)
        theta = native_points(measure, points)[:, 0]
        speed, total = zonal.velocity(theta, measure.fourier(zonal.potential.size))
        # far from a concentrated measure the sum of modes cancels down to roundoff
        far = np.zeros(theta.size, bool) if zonal.normaliser is None else total < _CANCELLED * zonal.normaliser[0]
        speed /= np.where(far, 1.0, total)
        if far.any():
            speed[far] = super().drift(measure, theta[far])
        return in_shape_of(points, speed[:, None])

    def zonal(self, geometry: Geometry) -> Zonal | None:
        if not isinstance(geometry, Circle) or not self.constant:
            return None
        query, value = self.query_matrix(2), self.value_matrix(2)
        scale, factor = query[0, 0], value[0, 0]
        if not (np.array_equal(query, scale * np.eye(2)) and np.array_equal(value, factor * np.eye(2))):
            return None
        return exponential_zonal(float(scale), float(factor), self.normalised)


def _raised(log_mass: Float) -> Float:
    largest = float(log_mass.max(initial=-np.inf))
    if largest > _OVERFLOW:
        raise ProblemError.at(
            "attention", f"overflows: unnormalized attention reaches e^{largest:.4g}; softmax has no such limit"
        )
    return np.exp(log_mass)


def exponential_zonal(scale: float, factor: float, normalised: bool) -> Zonal:
    """Modes of `W = factor e^{scale cos} / scale` and of `e^{scale cos}`: `g_k = I_k(scale)` (physics section 2).

    A common factor e^{|scale|} is taken out of both when the drift is normalised. At scale = 0 only W_1 = factor / 2
    is left.
    """
    from scipy.special import ive

    size = abs(scale)
    if not normalised and size > 700:
        raise ProblemError.at(
            "attention", f"e^{size:g} overflows: unnormalized attention needs |A| <= 700; softmax has no such limit"
        )
    if size > _LARGEST:
        raise ProblemError.at(
            "attention", f"|A| = {size:g} is beyond {_LARGEST:g}, where no series of modes can show it"
        )
    reach = int(np.ceil(8 + 9 * np.sqrt(size + 1)))
    order = np.arange(reach)
    bessel: Float = np.asarray(ive(order, size), dtype=np.float64) * np.where((scale < 0) & (order % 2 == 1), -1.0, 1.0)
    potential = np.zeros(reach)
    if size < 1e-150:
        potential[1] = 0.5 * factor
    else:
        potential[1:] = factor * bessel[1:] / scale
    strength = np.abs(order * potential)
    length = int(np.flatnonzero(strength > 1e-18 * strength.max())[-1]) + 1 if strength.any() else 2
    lift = float(np.exp(size)) if size <= 700 else np.inf
    offset = factor * (_uniform_energy(scale) if size < 1 else (lift * bessel[0] - 1) / (2 * scale))
    if not np.isfinite(potential).all() or not (normalised or np.isfinite(factor * lift)):
        raise ProblemError.at("attention", f"overflows: |V| e^|A| with V = {factor:g}, |A| = {size:g}")
    if normalised:
        return Zonal(potential[:length], bessel[:length], abs(factor), offset, energy_scale=lift)
    return Zonal(lift * potential[:length], None, abs(factor) * lift, offset)


def _uniform_energy(scale: float) -> float:
    """`(I_0(s) - 1) / (2 s)` for |s| < 1 by the series of I_0: the subtraction would cancel."""
    ratios = (0.5 * scale) ** 2 / np.arange(2, 12) ** 2
    return scale / 8 * (1 + float(np.cumprod(ratios).sum()))
