"""The uniform measure."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from mfpde.errors import ProblemError
from mfpde.geometry import Circle, Geometry
from mfpde.measure.base import Initial
from mfpde.measure.circle_density import CircleDensity
from mfpde.registry import register
from mfpde.specification import Vector
from mfpde.typing import Complex, Float

__all__ = ["Uniform"]


@register("initial", "uniform")
class Uniform(Initial):
    """Constant density on the whole circle, or on the arc `box: [[from, to]]`.

    An arc has slowly decaying Fourier modes: without noise no spectral solver can show it; with noise it is smooth at
    once.

    >>> Uniform(box=[[-1, 1]]).evaluate([0.0, 2.0])
    array([0.5, 0. ])
    """

    kind: Literal["uniform"] = "uniform"
    box: tuple[Vector, ...] | None = Field(
        default=None, description="one arc, `[[from, to]]`; the whole circle without it"
    )

    def natural_geometry(self) -> Geometry:
        return Circle()

    def on(self, geometry: Geometry) -> CircleDensity:
        if not isinstance(geometry, Circle):
            raise self.unfit(geometry, "an initial measure made for it")
        if self.box is None:
            return CircleDensity.of(np.array([1.0]))
        return _arc(*self._ends(self.box))

    def _ends(self, box: tuple[Vector, ...]) -> tuple[float, float]:
        if len(box) != 1 or len(box[0]) != 2:
            raise ProblemError.at(
                "initial.box", f"on the circle is one arc [[from, to]], not {[list(side) for side in box]}"
            )
        start, end = box[0]
        if not 0 < end - start <= 2 * np.pi:
            raise ProblemError.at("initial.box", f"must have from < to <= from + 2 pi, not [{start:g}, {end:g}]")
        return start, end


def _arc(start: float, end: float) -> CircleDensity:
    length = end - start

    def series(count: int) -> Complex:
        order = np.arange(count)
        return np.sinc(order * length / (2 * np.pi)) * np.exp(-1j * order * 0.5 * (start + end))

    def density(theta: Float) -> Float:
        return np.where(np.mod(theta - start, 2 * np.pi) <= length, 1 / length, 0.0)

    return CircleDensity(series, None, density)
