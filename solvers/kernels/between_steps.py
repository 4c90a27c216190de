"""Densities within steps, from polynomials of their logarithms in time."""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.transform.exponential import exponential
from mfpde.typing import Float

__all__ = ["density_within"]

_BAND = 2.0  # times the larger density at the ends of a step, and of the smaller one: none within it is beyond
_LARGEST_EXPONENT = 700.0  # of either sign; e^709 is about the largest double


@kernel
def density_within(exponents: Float, before: Float, after: Float, density: Float) -> None:
    """density = `e^exponents`, as it is where there are none, within a band about those at both ends of a step."""
    for i in range(density.size):
        exponent = exponents[i]
        known = abs(exponent) < _LARGEST_EXPONENT  # not where tokens are missing at an end
        value = exponential(exponent) if known else density[i]
        least, most = min(before[i], after[i]) / _BAND, max(before[i], after[i]) * _BAND
        density[i] = min(max(value, least), most)
