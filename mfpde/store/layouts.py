"""Axes, extents and constants as datasets, each dimension with exactly one scale in the root."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from mfpde.geometry import Axis, Constant, Field, Layout
from mfpde.geometry.axis import GROWTH_ATTRIBUTES, growth_of
from mfpde.ranks.spread import Spread, pieces_of
from mfpde.store.opening import attribute, typed
from mfpde.typing import Float

__all__ = [
    "LAYOUT",
    "attach_scales",
    "create_layout",
    "describe",
    "extent_scale",
    "read_layout",
]

LAYOUT = "layout"  # the attribute
_NUMBERS_AT_ONCE = 2**17  # of a scale that counts particles: 1 MiB


def create_layout(file: Any, layout: Layout) -> None:
    """Everything of it that does not change, and what its fields and its trail are."""
    for axis in layout.axes:
        _create_axis(file, axis)
    for name, size in layout.extents.items():
        extent_scale(file, name, size)
    for name, constant in layout.constants.items():
        dataset = _create_constant(file, name, constant.values)
        describe(dataset, constant.field)
        attach_scales(dataset, [file[dimension] for dimension in constant.field.dimensions])
    fields = {name: asdict(field) for name, field in layout.fields.items()}
    trail = {name: asdict(field) for name, field in layout.trail.items()}
    constants = {name: asdict(constant.field) for name, constant in layout.constants.items()}
    record = {"form": layout.form, "axes": layout.dimensions, "extents": dict(layout.extents)}
    rows = {"trail": trail, "trail_row": layout.trail_row}
    file.attrs[LAYOUT] = json.dumps({**record, "fields": fields, "constants": constants, **rows})


def _create_constant(file: Any, name: str, values: Any) -> Any:
    if not isinstance(values, Spread):
        return file.create_dataset(name, data=values, track_times=False)
    dataset = file.create_dataset(name, values.shape, values.dtype, track_times=False)
    for place, piece in pieces_of(values):
        dataset[place : place + piece.size] = piece
    return dataset


def read_layout(file: Any) -> Layout:
    """What `create_layout` wrote."""
    record = json.loads(file.attrs[LAYOUT])
    constants = {name: Constant(_field(one), typed(file[name])[()]) for name, one in record["constants"].items()}
    return Layout(
        record["form"],
        tuple(_read_axis(file, name) for name in record["axes"]),
        record["extents"],
        {name: _field(one) for name, one in record["fields"].items()},
        constants,
        {name: _field(one) for name, one in record["trail"].items()},
        record.get("trail_row", "step"),
    )


def extent_scale(file: Any, name: str, size: int) -> Any:
    """The scale of an axis that only counts: 1, 2, ...; one of another length gets a name of its own."""
    if name in file and file[name].shape != (size,):
        name = f"{name}_{size}"
    if name not in file:
        scale = file.create_dataset(name, (size,), "int64", track_times=False)
        for first in range(0, size, _NUMBERS_AT_ONCE):
            scale[first : first + _NUMBERS_AT_ONCE] = np.arange(first, min(first + _NUMBERS_AT_ONCE, size)) + 1
        describe(scale, Field((), name.partition("_")[0]))
        scale.make_scale(name)
    return file[name]


def _create_axis(file: Any, axis: Axis) -> None:
    scale = file.create_dataset(axis.name, data=axis.values, track_times=False)
    describe(scale, Field((), axis.long_name, axis.units))
    scale.attrs["bounds"] = f"{axis.name}_bounds"
    for name, value in axis.growth.attributes.items():
        scale.attrs[name] = value
    scale.make_scale(axis.name)
    bounds = file.create_dataset(f"{axis.name}_bounds", data=axis.bounds, track_times=False)
    attach_scales(bounds, [scale, _side(file)])


def _read_axis(file: Any, name: str) -> Axis:
    scale = typed(file[name])
    attributes = scale.attrs
    growth = growth_of({name: attribute(scale, name) for name in GROWTH_ATTRIBUTES if name in attributes})
    bounds: Float = typed(file[attributes["bounds"]])[:]
    return Axis(name, scale[:], bounds, attributes["units"], attributes["long_name"], growth)


def _side(file: Any) -> Any:
    """The axis of length two that bounds have: a dimension without values of its own, as netCDF writes it."""
    if "bound" not in file:
        side = file.create_dataset("bound", (2,), dtype="float32", track_times=False)
        side.make_scale(f"This is a netCDF dimension but not a netCDF variable. {2:9d}")
    return file["bound"]


def describe(dataset: Any, field: Field) -> None:
    """What people and other programs are told of it."""
    dataset.attrs["long_name"] = field.long_name
    dataset.attrs["units"] = field.units
    for name, value in field.attributes.items():
        dataset.attrs[name] = value


def attach_scales(dataset: Any, scales: Sequence[Any]) -> None:
    """One to each of its dimensions, in order."""
    for position, scale in enumerate(scales):
        dataset.dims[position].attach_scale(scale)


def _field(record: Mapping[str, Any]) -> Field:
    return Field(tuple(record["dimensions"]), record["long_name"], record["units"], record["attributes"])
