"""Exponential attention on spheres, where A and V are multiples of the identity, acts on harmonics degree by degree."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from mfpde.attention.bilinear import Bilinear
from mfpde.attention.convolution import Convolution
from mfpde.attention.exponential import Exponential
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, Harmonics
from mfpde.measure import Measure
from mfpde.measure.bessel import bessel_slopes, log_phi
from mfpde.typing import Float

__all__ = ["Rotational", "exponential_convolution"]

_LARGEST_SCALE = 1e6  # |A| up to which the degrees of the kernel are listed (about ten thousand of them)
_LARGEST_EXPONENT = 700.0  # of e^|A| as a number
_NEGLIGIBLE_DEGREE = 1e-18  # drift of a degree, as a share of the largest one's, below which the rest is left out


class Rotational(Exponential, Bilinear):
    """Kernels `e^{<Ax, y>}`, normalised or not, that are convolutions on spheres when A and V are multiples of 1."""

    plain: ClassVar[bool] = True

    def check_head(self, geometry: Geometry) -> None:
        super().check_head(geometry)
        if geometry.angular and not self._overflows(geometry):
            self.convolution(geometry)

    def check_speed(self, geometry: Geometry) -> None:
        if self._overflows(geometry):
            self.convolution(geometry)

    def _overflows(self, geometry: Geometry) -> bool:
        """Whether e^|A| is beyond all numbers, and drifts with it."""
        found = None if geometry.flat or self.normalised else self.multiples(geometry.ambient_dimension)
        return found is not None and abs(found[0]) > _LARGEST_EXPONENT

    def convolution(self, geometry: Geometry) -> Convolution | None:
        if geometry.harmonics is None or not self.constant:
            return None
        if geometry.harmonics not in self._convolutions:
            found = self.multiples(geometry.ambient_dimension)
            made = None if found is None else exponential_convolution(geometry.harmonics, *found, self.normalised)
            self._convolutions[geometry.harmonics] = made
        return self._convolutions[geometry.harmonics]

    @cached_property
    def _convolutions(self) -> dict[Harmonics, Convolution | None]:
        """Of the spaces that it was asked about: every row of a free energy asks twice."""
        return {}

    def quick_convolution(self, measure: Measure) -> Convolution | None:
        return None if measure.pointlike else super().quick_convolution(measure)


@lru_cache(maxsize=32)
def exponential_convolution(harmonics: Harmonics, scale: float, factor: float, normalised: bool) -> Convolution:
    """Multipliers of `W = factor e^{scale t} / scale` and of `e^{scale t}`, t the cosine: `g_k = Gamma(d/2) (2 /
    scale)^{d/2 - 1} I_{k + d/2 - 1}(scale)` (physics section 2).

    A common factor e^{|scale|} is taken out of both when the drift is normalised. At scale = 0 only `W_1 = factor / d`
    is left: ratios `g_{k+1} / (scale g_k)` are made, and nothing is divided by the scale.
    """
    size, order = abs(scale), 0.5 * harmonics.dimension - 1
    if not normalised and size > _LARGEST_EXPONENT:
        raise ProblemError.at(
            "attention",
            f"e^{size:g} overflows: unnormalized attention needs |A| <= 700; softmax has no such limit, nor "
            "has time.clock: gradient",
        )
    if size > _LARGEST_SCALE:
        raise ProblemError.at(
            "attention", f"|A| = {size:g} is beyond {_LARGEST_SCALE:g}, where no series of harmonics can show it"
        )
    count = int(np.ceil(8 + 9 * np.sqrt(size + 1)))
    slopes = bessel_slopes(order, size, count - 1)
    uniform = float(np.exp(log_phi(order, np.array([size]))[0]))
    level = uniform * np.cumprod(np.concatenate([[1.0], scale * slopes]))
    potential = factor * np.concatenate([[0.0], slopes * level[:-1]])
    length = _shown(harmonics, potential)
    lift = float(np.exp(size)) if size <= _LARGEST_EXPONENT else np.inf
    offset = factor * (_uniform_energy(order, scale) if size < 1 else (lift * uniform - 1) / (2 * scale))
    if not np.isfinite(potential).all() or not (normalised or np.isfinite(factor * lift)):
        raise ProblemError.at("attention", f"overflows: |V| e^|A| with V = {factor:g}, |A| = {size:g}")
    if normalised:
        return Convolution(harmonics, potential[:length], level[:length], abs(factor), offset, energy_scale=lift)
    return Convolution(harmonics, lift * potential[:length], None, abs(factor) * lift, offset)


def _shown(harmonics: Harmonics, potential: Float) -> int:
    """How many degrees drive anything."""
    degree = potential.size - 1
    with np.errstate(over="ignore", invalid="ignore"):
        drift = np.abs(potential) * harmonics.multiplicities(degree) * harmonics.largest_slopes(degree)
    known = np.where(np.isfinite(drift), drift, 0.0)  # of many dimensions: infinitely many harmonics, of no strength
    return int(np.flatnonzero(known > _NEGLIGIBLE_DEGREE * known.max())[-1]) + 1 if known.any() else 2


def _uniform_energy(order: float, scale: float) -> float:
    """`(g_0 - 1) / (2 s)` for |s| < 1 by the series of g_0 - 1: the subtraction would cancel."""
    j = np.arange(2, 12)
    ratios = (0.5 * scale) ** 2 / (j * (order + j))
    return scale / (8 * (order + 1)) * (1 + float(np.cumprod(ratios).sum()))
