"""A density written as an expression."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np
from pydantic import Field, field_validator

from mfpde.errors import ProblemError
from mfpde.geometry import Circle, Geometry
from mfpde.measure.base import Initial
from mfpde.measure.circle_density import CircleDensity, clean
from mfpde.measure.expression import Expression
from mfpde.registry import register
from mfpde.typing import Complex, Float

__all__ = ["Density"]

_SAMPLES = 2**15
#: last coefficients, relative to the first, that are noise; larger ones belong to a kink or a jump
_MOST_NOISE = 1e-13


@register("initial", "density")
class Density(Initial):
    """`rho = f / int f`, with `f` arithmetic in the coordinates of the space.

    Good values: anything smooth and not negative, `1 + 0.1*cos(theta)`. Fails: a negative value, a value that is not
    finite, zero mass.

    >>> Density(expression="1 + 0.5*cos(theta)").mean.round(12)
    array([0.25, 0.  ])
    """

    kind: Literal["density"] = "density"
    expression: str = Field(description="the density up to a factor: arithmetic in the coordinates")

    @field_validator("expression", mode="before")
    @classmethod
    def _read(cls, text: object) -> object:
        if isinstance(text, int | float) and not isinstance(text, bool):
            text = str(text)
        if isinstance(text, str):
            try:
                Expression(text)
            except ProblemError as error:
                raise ValueError(error.faults[0].message) from None
        return text

    def natural_geometry(self) -> Geometry:
        return Circle()

    def on(self, geometry: Geometry) -> CircleDensity:
        if not isinstance(geometry, Circle):
            raise self.unfit(geometry, "an initial measure made for it")
        return _on_circle(self.expression)


@lru_cache(maxsize=16)  # a problem is checked before it is solved, and 2^15 samples take a millisecond
def _on_circle(text: str) -> CircleDensity:
    expression = Expression(text)

    def values(theta: Float) -> Float:
        return _checked(expression(Circle().coordinates(theta)), theta)

    coefficients = _sampled(values)
    mass = coefficients[0].real * 2 * np.pi
    if not mass > 1e-300:
        raise ProblemError.at("initial.expression", f"{text!r} has mass {mass:g}; a density needs positive mass")
    series = _without_noise(coefficients / coefficients[0].real)
    smooth = np.flatnonzero(series)[-1] + 1
    known = CircleDensity.of(series[:smooth])
    return CircleDensity(known.fourier, int(smooth), lambda theta: values(theta) / mass)


def _checked(values: Float, theta: Float) -> Float:
    if not np.isfinite(values).all():
        where = theta[~np.isfinite(values)][0]
        raise ProblemError.at("initial.expression", f"is not finite at theta = {where:.6g}")
    if values.size and values.min() < 0:
        where = theta[values.argmin()]
        raise ProblemError.at(
            "initial.expression", f"is negative ({values.min():.6g}) at theta = {where:.6g}; a density is not"
        )
    return values


def _sampled(values: Callable[[Float], Float]) -> Complex:
    """Fourier coefficients from so many samples that no wave or peak a solver could follow hides between them."""
    theta = Circle().layout(_SAMPLES).axes[0].values
    coefficients: Complex = np.fft.rfft(values(theta))[: _SAMPLES // 2] / _SAMPLES
    return coefficients


def _without_noise(series: Complex) -> Complex:
    """Coefficients of a smooth density end in the rounding noise of its samples; what is at that level is made zero."""
    noise = float(np.abs(series[-series.size // 4 :]).max())
    smooth = noise < _MOST_NOISE
    return clean(series, 4 * noise if smooth else 0.0)
