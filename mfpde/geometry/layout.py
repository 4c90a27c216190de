"""What one snapshot looks like as arrays: its axes, its fields, and what they are to be called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from mfpde.geometry.axis import Axis
from mfpde.typing import Float

__all__ = ["Constant", "Field", "Layout", "axis_weights"]


@dataclass(frozen=True)
class Field:
    """One array of a snapshot: its dimensions (names of axes or of extents), and what a file says of it.

    `attributes` go into the file as they are: `{"cell_methods": "area: mean"}` says that values are cell averages.
    """

    dimensions: tuple[str, ...]
    long_name: str
    units: str = "1"
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Constant:
    """An array that a run keeps once, not with every snapshot."""

    field: Field
    values: Float


@dataclass(frozen=True, eq=False)
class Layout:
    """What one snapshot looks like. `form` names how its arrays make a measure (`mfpde.solvers.forms`).

    `axes` have coordinates; `extents` are the sizes of the other dimensions (panel, component, particle). `fields`
    change with every snapshot, `constants` do not; `trail` arrays grow by rows along the whole run, whose dimension
    `trail_row` comes before those of the field. A `weight` has `(density * weight).sum()` = mass.
    During a run axes may become longer, as their `growth` says, and nothing else may change.
    """

    form: str
    axes: tuple[Axis, ...] = ()
    extents: Mapping[str, int] = field(default_factory=dict)
    fields: Mapping[str, Field] = field(default_factory=dict)
    constants: Mapping[str, Constant] = field(default_factory=dict)
    trail: Mapping[str, Field] = field(default_factory=dict)
    trail_row: str = "step"

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(axis.name for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return tuple(axis.size for axis in self.axes)

    @property
    def sizes(self) -> dict[str, int]:
        """Of every dimension, by name."""
        return {**dict(zip(self.dimensions, self.shape, strict=True)), **self.extents}

    def shape_of(self, name: str) -> tuple[int, ...]:
        """Of one field in one snapshot, or of one row of a trail."""
        sizes, field = self.sizes, self.fields[name] if name in self.fields else self.trail[name]
        return tuple(sizes[dimension] for dimension in field.dimensions)

    @property
    def weight(self) -> Float:
        """Quadrature weights on the product of the axes, where they do not change."""
        return self.constants["weight"].values

    def joined(self, other: Layout) -> Layout:
        """The smallest layout that shows snapshots of both: one of them, if it can be."""
        axes = tuple(mine.joined(its) for mine, its in zip(self.axes, other.axes, strict=True))
        for each in (self, other):
            if axes == each.axes:
                return each
        constants = dict(self.constants)
        if "weight" in constants:
            constants["weight"] = replace(constants["weight"], values=axis_weights(axes))
        return replace(self, axes=axes, constants=constants)

    def carry(self, name: str, values: Float, larger: Layout) -> Float:
        """Values `(..., *shape_of(name))` of a field, shown exactly on a larger layout, axis by axis (`Growth`)."""
        dimensions = self.fields[name].dimensions
        for old, new in zip(self.axes, larger.axes, strict=True):
            if old == new or old.name not in dimensions:
                continue
            first, partner = values.ndim - len(dimensions), old.growth.partner
            about = first + dimensions.index(partner) if partner in dimensions else None
            values = old.growth.carry(values, first + dimensions.index(old.name), old, new, about)
        return values


def axis_weights(axes: Sequence[Axis]) -> Float:
    """Products of the axes' quadrature weights, volumes of cells for one, on the product of the axes."""
    return np.asarray(reduce(np.multiply.outer, [axis.weights for axis in axes]), dtype=float)
