"""Weighted sums of measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Annotated, Literal, TypeVar

import numpy as np
from pydantic import Field, model_validator

from mfpde.errors import Fault, ProblemError, shown
from mfpde.geometry import Circle, Geometry
from mfpde.geometry.series import clean
from mfpde.measure.base import Measure
from mfpde.measure.circle_density import CircleDensity
from mfpde.measure.initial.base import Initial
from mfpde.measure.positioned import Positioned
from mfpde.measure.superposition import Superposition
from mfpde.registry import register
from mfpde.specification import OfFamily
from mfpde.typing import Complex, Float

__all__ = ["Mixture", "together"]

Made = TypeVar("Made")


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
            raise ValueError(f"the weights {shown(given)} of a mixture must be finite, not negative and not all zero")
        return self

    @cached_property
    def shares(self) -> Float:
        """The weights, scaled to sum 1."""
        given = np.array([1.0 if part.weight is None else part.weight for part in self.components])
        return given / given.sum()

    def natural_geometry(self) -> Geometry:
        """That of a component, on which the others make sense as well."""
        return self._space

    @cached_property
    def _space(self) -> Geometry:
        found = list(dict.fromkeys(part.natural_geometry() for part in self.components))
        if len(found) == 1:
            return found[0]
        # the circle is where a measure goes that says nothing of its space
        return min(found, key=lambda space: (self._strangers(space), isinstance(space, Circle)))

    def _strangers(self, geometry: Geometry) -> int:
        """How many components make no sense on that space."""
        count = 0
        for part in self.components:
            try:
                part.on(geometry)
            except ProblemError:
                count += 1
        return count

    def on(self, geometry: Geometry) -> Measure:
        return together(self.shares, self._each(lambda part: part.on(geometry)))

    def seam(self, geometry: Geometry) -> str | None:
        return next(filter(None, (part.seam(geometry) for part in self.components)), None)

    def over_positions(self, geometry: Geometry, positions: Sequence[float]) -> Positioned:
        parts = self._each(lambda part: part.over_positions(geometry, positions))
        laws, masses = [], []
        for position in positions:
            here = [
                (share * mass, law)
                for share, part in zip(self.shares, parts, strict=True)
                for place, mass, law in part.slices
                if place == position
            ]
            weights = np.array([weight for weight, _ in here])
            masses.append(weights.sum())
            laws.append(together(weights / weights.sum(), [law for _, law in here]))
        return Positioned(positions, laws, np.array(masses))

    def _each(self, made: Callable[[Initial], Made]) -> list[Made]:
        """Something made of every component, with its place told along with what is wrong."""
        parts = []
        for index, part in enumerate(self.components):
            try:
                parts.append(made(part))
            except ProblemError as error:
                here = ("initial", "components", index)
                raise ProblemError(
                    Fault((*here, *_below_initial(fault)), fault.message) for fault in error.faults
                ) from None
        return parts


class MixtureOnCircle(CircleDensity):
    """The Fourier series of a sum of measures on the circle; all else by its parts."""

    def __init__(self, parts: Superposition) -> None:
        widths = [part.bandwidth if isinstance(part, CircleDensity) else None for part in parts.parts]
        known = [width for width in widths if width is not None]
        smooth = len(known) == len(widths)
        super().__init__(
            partial(_modes, parts),
            max(known) if smooth else None,
            parts.evaluate,
            None if smooth else parts.nodes,
        )
        self.parts = parts

    @property
    def summands(self) -> list[tuple[float, Measure]]:
        return self.parts.summands

    def sample(self, count: int, seed: int = 0) -> Float:
        return self.parts.sample(count, seed)


def _modes(parts: Superposition, count: int) -> Complex:
    return clean(parts.harmonics(count - 1).coefficients, 4 * np.finfo(float).eps)


def together(shares: Float, parts: Sequence[Measure]) -> Measure:
    """`sum_i w_i mu_i` of measures on one space."""
    everything = Superposition(shares, parts)
    return MixtureOnCircle(everything) if isinstance(everything.geometry, Circle) else everything


def _below_initial(fault: Fault) -> tuple[str | int, ...]:
    return fault.path[1:] if fault.path[:1] == ("initial",) else fault.path
