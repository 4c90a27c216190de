"""Exponential attention on the circle, where A and V are multiples of the identity, acts on Fourier modes one by
one."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import numpy as np

from mfpde.attention.bilinear import Bilinear
from mfpde.attention.exponential import Exponential
from mfpde.attention.zonal import Zonal
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.measure import Measure
from mfpde.typing import Float

__all__ = ["Circular", "exponential_zonal"]

#: largest |A| for which the modes of the kernel are listed (about ten thousand of them)
_LARGEST = 1e6


class Circular(Exponential, Bilinear):
    """Kernels that are convolutions on the circle, normalised or not."""

    plain: ClassVar[bool] = True

    def check_head(self, geometry: Geometry) -> None:
        super().check_head(geometry)
        self.zonal(geometry)

    def zonal(self, geometry: Geometry) -> Zonal | None:
        found = self.multiples() if geometry.angular and self.constant else None
        return None if found is None else exponential_zonal(*found, self.normalised)

    def convolution(self, measure: Measure) -> Zonal | None:
        return None if measure.pointlike else super().convolution(measure)


@lru_cache(maxsize=32)
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
