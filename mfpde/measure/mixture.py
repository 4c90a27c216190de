"""Weighted sums of measures."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from mfpde.errors import Fault, ProblemError
from mfpde.geometry import Circle, Geometry
from mfpde.measure.base import Initial, Measure
from mfpde.measure.circle_density import CircleDensity, clean
from mfpde.measure.superposition import Superposition
from mfpde.registry import register
from mfpde.specification import OfFamily
from mfpde.typing import Complex, Float

__all__ = ["Mixture"]


@register("initial", "mixture")
class Mixture(Initial):
    """`mu = sum_i w_i mu_i / sum_i w_i`; each component is an initial measure with its `weight` (default 1).

    >>> from mfpde import VonMises
    >>> heavy, light = VonMises(direction=0, concentration=9, weight=3), VonMises(direction=3, concentration=9)
    >>> two = Mixture(components=[heavy, light])
    >>> two.shares.tolist()
    [0.75, 0.25]
    """

    kind: Literal["mixture"] = "mixture"
    components: tuple[Annotated[Initial, OfFamily("initial")], ...] = Field(
        min_length=1, description="initial measures, each with its `weight`"
    )

    @model_validator(mode="after")
    def _weights(self) -> Mixture:
        given = [1.0 if part.weight is None else part.weight for part in self.components]
        if min(given) < 0 or not 0 < sum(given) < float("inf"):
            raise ValueError(f"the weights {given} of a mixture must be finite, not negative and not all zero")
        return self

    @cached_property
    def shares(self) -> Float:
        """The weights, scaled to sum 1."""
        given = np.array([1.0 if part.weight is None else part.weight for part in self.components])
        return given / given.sum()

    def natural_geometry(self) -> Geometry:
        return self.components[0].natural_geometry()

    def on(self, geometry: Geometry) -> Measure:
        parts = []
        for index, part in enumerate(self.components):
            try:
                parts.append(part.on(geometry))
            except ProblemError as error:
                here = ("initial", "components", index)
                raise ProblemError(
                    Fault((*here, *_below_initial(fault)), fault.message) for fault in error.faults
                ) from None
        return self._on_circle(parts) if isinstance(geometry, Circle) else Superposition(self.shares, parts)

    def _on_circle(self, parts: list[Measure]) -> CircleDensity:
        def series(count: int) -> Complex:
            total = sum(
                (share * part.fourier(count) for share, part in zip(self.shares, parts, strict=True)),
                np.zeros(count, complex),
            )
            return clean(total, 4 * np.finfo(float).eps)

        def density(theta: Float) -> Float:
            return sum(
                (share * part.evaluate(theta) for share, part in zip(self.shares, parts, strict=True)),
                np.zeros_like(theta),
            )

        widths = [part.bandwidth if isinstance(part, CircleDensity) else None for part in parts]
        known = [width for width in widths if width is not None]
        if len(known) == len(parts):
            return CircleDensity(series, max(known), density)
        return CircleDensity(series, None, density, Superposition(self.shares, parts).nodes)


def _below_initial(fault: Fault) -> tuple[str | int, ...]:
    return fault.path[1:] if fault.path[:1] == ("initial",) else fault.path
