"""What softmax and unnormalized attention share: the exponential kernel `e^{<Ax, y>}` and its Fourier modes on the
circle."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field, model_validator

from mfpde.attention.base import Attention, Zonal
from mfpde.errors import ProblemError
from mfpde.geometry import Circle, Geometry
from mfpde.specification import Matrix, Real
from mfpde.typing import Float

__all__ = ["Exponential"]

#: largest |A| for which the modes of the kernel are listed (about ten thousand of them)
_LARGEST = 1e6
#: pairs of points up to which the plain sum is taken
_FEW_PAIRS = 2**14


class Exponential(Attention):
    """Attention through `e^{<Ax, y>}`, A multiplying the query x; `A = K^T Q`, or `beta` for A = beta I, V = I."""

    citations: ClassVar[tuple[str, ...]] = ("rigollet2025", "geshkovski2025")
    normalised: ClassVar[bool]

    beta: Real | None = Field(default=None, description="inverse temperature, not negative: A = beta I, V = I")
    A: Matrix | None = Field(default=None, description="the matrix of `e^{<Ax, y>}`; it multiplies the query x")
    Q: Matrix | None = Field(default=None, description="query matrix; with K, `A = K^T Q`")
    K: Matrix | None = Field(default=None, description="key matrix")
    V: Matrix = Field(default=1.0, description="value matrix")

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Exponential:
        ways = {
            "beta": self.beta is not None,
            "A": self.A is not None,
            "Q and K": self.Q is not None or self.K is not None,
        }
        given = [name for name, there in ways.items() if there]
        if len(given) != 1:
            raise ValueError(f"needs exactly one of beta, A, or Q and K; given: {', '.join(given) or 'none'}")
        if ways["Q and K"] and (self.Q is None or self.K is None):
            raise ValueError("needs Q and K together")
        if self.beta is not None and (self.V != 1.0 or self.beta < 0):
            raise ValueError("beta stands for A = beta I, V = I with beta >= 0; write A and V for anything else")
        for name in ("beta", "A", "Q", "K", "V"):
            value = getattr(self, name)
            if value is not None and not np.isfinite(value).all():
                raise ValueError(f"{name} must be finite")
        return self

    def query_matrix(self, dimension: int) -> Float:
        """A as a `(d, d)` array."""
        if self.Q is not None and self.K is not None:
            return _square("K", self.K, dimension, rows=None).T @ _square("Q", self.Q, dimension, rows=None)
        return _square("A", self.beta if self.A is None else self.A, dimension, rows=dimension)

    def value_matrix(self, dimension: int) -> Float:
        return _square("V", self.V, dimension, rows=dimension)

    def scores(self, queries: Float, keys: Float) -> Float:
        """`<A x_i, y_j>`, `(m, n)`."""
        return queries @ self.query_matrix(queries.shape[1]).T @ keys.T

    def outputs(self, queries: Float, keys: Float, weights: Float) -> Float:
        # a few pairs are not worth loading compiled code; negative weights are rounding noise of a density's nodes
        if queries.shape[0] * keys.shape[0] <= _FEW_PAIRS or weights.min() < 0:
            return super().outputs(queries, keys, weights)
        from mfpde.transform import tilted_mean

        mean, log_mass = tilted_mean(queries @ self.query_matrix(queries.shape[1]).T, keys, weights)
        return mean if self.normalised else np.exp(log_mass)[:, None] * mean

    def zonal(self, geometry: Geometry) -> Zonal | None:
        if not isinstance(geometry, Circle):
            return None
        query, value = self.query_matrix(2), self.value_matrix(2)
        scale, factor = query[0, 0], value[0, 0]
        if not (np.array_equal(query, scale * np.eye(2)) and np.array_equal(value, factor * np.eye(2))):
            return None
        return exponential_zonal(float(scale), float(factor), self.normalised)


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


def _square(name: str, value: float | tuple[tuple[float, ...], ...] | None, dimension: int, rows: int | None) -> Float:
    array = np.asarray(value, dtype=float)
    if array.ndim == 0:
        return float(array) * np.eye(dimension)
    if array.shape[1] != dimension or (rows is not None and array.shape[0] != rows):
        wanted = f"({rows or 'any'}, {dimension})"
        raise ProblemError.at(f"attention.{name}", f"has shape {array.shape}; tokens in R^{dimension} need {wanted}")
    return array
