"""What one snapshot looks like as arrays: its axes, its fields, and what they are to be called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from mfpde.typing import AnyArray, Float

__all__ = ["Axis", "Constant", "Field", "Layout"]

_SAME_CELL = 1e-6  # of a cell: the place of cells of one grid may be computed in two ways


@dataclass(frozen=True)
class Axis:
    """One dimension scale of a file: cell centres or nodes, and the cell bounds.

    >>> Axis.of_cells("x", [0.0, 0.5, 1.0]).values
    array([0.25, 0.75])
    """

    name: str
    values: Float
    bounds: Float
    units: str
    long_name: str
    period: float | None = None

    @classmethod
    def of_cells(cls, name: str, edges: Sequence[float] | Float, long_name: str = "", units: str = "1") -> Axis:
        """The cells between ascending edges."""
        given = np.asarray(edges, dtype=float)
        bounds = np.column_stack([given[:-1], given[1:]])
        return cls(name, bounds.mean(axis=1), bounds, units, long_name or f"coordinate {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and self.name == other.name and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    @property
    def size(self) -> int:
        return self.values.size

    @property
    def spacing(self) -> float:
        """Width of a cell, for axes of equal ones."""
        return float(self.bounds[-1, 1] - self.bounds[0, 0]) / self.size

    def place(self, other: Axis) -> int:
        """Index among my cells, continued to both sides, of the other's first one; an error when cells do not
        coincide."""
        steps = (other.values[0] - self.values[0]) / self.spacing
        last = (other.values[-1] - self.values[0]) / self.spacing
        first = round(steps)
        if max(abs(steps - first), abs(last - first - other.size + 1)) > _SAME_CELL:
            raise ValueError(f"the cells of {self.name} changed: boxes grow by whole cells, they are not divided anew")
        return first

    def joined(self, other: Axis) -> Axis:
        """The shortest axis on which both are shown exactly: one of them, unless boxes overlap in part."""
        if self == other:
            return self
        if self.period is not None:
            return self if self.size >= other.size else other
        first = self.place(other)
        before, after = max(0, -first), max(0, first + other.size - self.size)
        if not before and not after:
            return self
        if first <= 0 and first + other.size >= self.size:
            return other
        cells = np.arange(-before, self.size + after)
        values = self.values[0] + self.spacing * cells
        bounds = self.bounds[0] + self.spacing * cells[:, None]
        for each, start in ((other, first + before), (self, before)):
            values[start : start + each.size], bounds[start : start + each.size] = each.values, each.bounds
        return replace(self, values=values, bounds=bounds)


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
    """What one snapshot looks like. `form` names how its arrays make a measure (`mfpde.measure.forms`).

    `axes` have coordinates; `extents` are the sizes of the other dimensions (panel, component, particle). `fields`
    change with every snapshot, `constants` do not; `trail` arrays grow by rows along the whole run, whose dimension
    `step` comes before those of the field. A `weight` has `(density * weight).sum()` = mass.
    During a run axes may become longer (finer, when periodic; by whole cells at both ends, otherwise), and nothing
    else may change.
    """

    form: str
    axes: tuple[Axis, ...] = ()
    extents: Mapping[str, int] = field(default_factory=dict)
    fields: Mapping[str, Field] = field(default_factory=dict)
    constants: Mapping[str, Constant] = field(default_factory=dict)
    trail: Mapping[str, Field] = field(default_factory=dict)

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
        known = {**self.fields, **self.trail}
        return tuple(self.sizes[dimension] for dimension in known[name].dimensions)

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
            constants["weight"] = replace(constants["weight"], values=cell_volumes(axes))
        return replace(self, axes=axes, constants=constants)

    def carry(self, name: str, values: Float, larger: Layout) -> Float:
        """Values `(..., *shape_of(name))` of a field, shown exactly on a larger layout: a periodic density by zero
        padding of its Fourier series, any other by zeros around it."""
        dimensions = self.fields[name].dimensions
        for old, new in zip(self.axes, larger.axes, strict=True):
            if old == new or old.name not in dimensions:
                continue
            where = values.ndim - len(dimensions) + dimensions.index(old.name)
            if old.period is not None:
                values = _pad_periodic(values, where, old.size, new.size)
            else:
                values = _pad_zeros(values, where, new.place(old), new.size)
        return values


def cell_volumes(axes: Sequence[Axis]) -> Float:
    """Products of cell widths, on the product of the axes."""
    widths = [axis.bounds[:, 1] - axis.bounds[:, 0] for axis in axes]
    return np.asarray(reduce(np.multiply.outer, widths), dtype=float)


def _pad_zeros(values: Float, where: int, before: int, size: int) -> Float:
    margins: Any = [(0, 0)] * values.ndim
    margins[where] = (before, size - before - values.shape[where])
    return np.pad(values, margins)


def _pad_periodic(density: Float, where: int, coarse: int, fine: int) -> Float:
    if coarse == fine:
        return density
    modes: AnyArray = np.fft.rfft(density, axis=where)
    if coarse % 2 == 0:  # the Nyquist cosine is shared by two modes of the finer grid
        nyquist: list[slice | int] = [slice(None)] * density.ndim
        nyquist[where] = coarse // 2
        modes[tuple(nyquist)] *= 0.5
    return np.fft.irfft(modes, fine, axis=where) * (fine / coarse)
