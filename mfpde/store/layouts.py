"""Axes, fields and constants as datasets, each dimension with exactly one scale in the root."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from mfpde.geometry import Axis, Constant, Field, Layout
from mfpde.geometry.axis import GROWTH_ATTRIBUTES, growth_of
from mfpde.store.checksums import Rows
from mfpde.store.opening import attribute, typed
from mfpde.typing import Float

__all__ = [
    "LAYOUT",
    "UNKNOWN_ROWS",
    "create_growing",
    "create_layout",
    "create_scale",
    "extent_scale",
    "read_layout",
    "rows_per_chunk",
]

_CHUNK_BYTES = 2**16  # readers that work by chunks want them no smaller
UNKNOWN_ROWS = 2**16  # rows, where nobody knows how many there will be
LAYOUT = "layout"  # the attribute


def rows_per_chunk(row_bytes: int, expected: int) -> int:
    """As many as make a chunk of 64 kB, but not more than there will be in a short run."""
    return max(1, min(-(-_CHUNK_BYTES // max(1, row_bytes)), expected))


def create_layout(file: Any, layout: Layout, time: Any, expected: Rows) -> None:
    """Empty datasets for its fields over `time` and for its trail, of which so many rows are expected, and everything
    of it that does not change."""
    for axis in layout.axes:
        _create_axis(file, axis)
    for name, size in layout.extents.items():
        extent_scale(file, name, size)
    for name, constant in layout.constants.items():
        dataset = file.create_dataset(name, data=constant.values, track_times=False)
        _describe(dataset, constant.field)
        _attach(dataset, [file[dimension] for dimension in constant.field.dimensions])
    for name, field in layout.fields.items():
        scales = [time, *(file[dimension] for dimension in field.dimensions)]
        create_growing(file, name, field, layout.shape_of(name), scales, expected.snapshots)
    if layout.trail:
        step = create_scale(file, "step", "number of the step", expected.steps)
        for name, field in layout.trail.items():
            scales = [step, *(file[dimension] for dimension in field.dimensions)]
            create_growing(file, name, field, layout.shape_of(name), scales, expected.steps)
    fields = {name: asdict(field) for name, field in layout.fields.items()}
    trail = {name: asdict(field) for name, field in layout.trail.items()}
    constants = {name: asdict(constant.field) for name, constant in layout.constants.items()}
    record = {"form": layout.form, "axes": layout.dimensions, "extents": dict(layout.extents)}
    file.attrs[LAYOUT] = json.dumps({**record, "fields": fields, "constants": constants, "trail": trail})


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
    )


def create_scale(file: Any, name: str, long_name: str, expected: int) -> Any:
    """An axis along which a file grows. A row counts once its value is there: until then it is NaN."""
    chunks = (rows_per_chunk(np.dtype(float).itemsize, expected),)
    scale = file.create_dataset(
        name, (0,), maxshape=(None,), chunks=chunks, dtype="float64", fillvalue=np.nan, track_times=False
    )
    scale.attrs["_FillValue"] = np.array([np.nan])
    _describe(scale, Field((), long_name))
    scale.make_scale(name)
    return scale


def create_growing(
    file: Any, name: str, field: Field, shape: tuple[int, ...], scales: Sequence[Any], expected: int
) -> None:
    """An empty dataset of rows of that shape, many rows to a chunk when they are short."""
    rows = rows_per_chunk(int(np.prod(shape, dtype=int)) * np.dtype(float).itemsize, expected)
    dataset = file.create_dataset(
        name, (0, *shape), maxshape=(None, *shape), chunks=(rows, *shape), dtype="float64", track_times=False
    )
    _describe(dataset, field)
    _attach(dataset, scales)


def extent_scale(file: Any, name: str, size: int) -> Any:
    """The scale of an axis that only counts: 1, 2, ...; one of another length gets a name of its own."""
    if name in file and file[name].shape != (size,):
        name = f"{name}_{size}"
    if name not in file:
        scale = file.create_dataset(name, data=np.arange(1, size + 1), track_times=False)
        _describe(scale, Field((), name.partition("_")[0]))
        scale.make_scale(name)
    return file[name]


def _create_axis(file: Any, axis: Axis) -> None:
    scale = file.create_dataset(axis.name, data=axis.values, track_times=False)
    _describe(scale, Field((), axis.long_name, axis.units))
    scale.attrs["bounds"] = f"{axis.name}_bounds"
    for name, value in axis.growth.attributes.items():
        scale.attrs[name] = value
    scale.make_scale(axis.name)
    bounds = file.create_dataset(f"{axis.name}_bounds", data=axis.bounds, track_times=False)
    _attach(bounds, [scale, _side(file)])


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


def _describe(dataset: Any, field: Field) -> None:
    dataset.attrs["long_name"] = field.long_name
    dataset.attrs["units"] = field.units
    for name, value in field.attributes.items():
        dataset.attrs[name] = value


def _attach(dataset: Any, scales: Sequence[Any]) -> None:
    for position, scale in enumerate(scales):
        dataset.dims[position].attach_scale(scale)


def _field(record: Mapping[str, Any]) -> Field:
    return Field(tuple(record["dimensions"]), record["long_name"], record["units"], record["attributes"])
