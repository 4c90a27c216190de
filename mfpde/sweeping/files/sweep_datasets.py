"""The datasets of a sweep's file: coordinates of the axes, the arrays over them, and checksums of each point.

All have their final size and place from the start. A point is written wherever it belongs, in whatever order points
come, and neither the structure of the file nor its length changes any more.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mfpde.geometry import Field, Layout
from mfpde.store.checksums import GROUP, blocks, text_checksum
from mfpde.store.layouts import attach_scales, describe, extent_scale
from mfpde.store.opening import typed
from mfpde.sweeping.axes import SweptAxis
from mfpde.sweeping.collecting import OBSERVE_TIME
from mfpde.sweeping.columns import FINISHED_MARK, ROW_COLUMNS, empty, shapes, slabs
from mfpde.typing import AnyArray, Float, Truths

__all__ = ["CHECKSUMS", "create_datasets", "damaged", "point_checksums", "times_of", "write_flat"]

CHECKSUMS = f"{GROUP}/points"


def create_datasets(file: Any, axes: Sequence[SweptAxis], layout: Layout, observe_times: Float) -> None:
    """Everything over the axes, still without any point."""
    scales = [_scale(file, axis) for axis in axes]
    shape = tuple(map(len, axes))
    along = " ".join(key for axis in axes for key in axis.keys[1:])
    if OBSERVE_TIME in layout.extents:
        _observe_scale(file, observe_times)
    for name, (size, dtype) in shapes(shape, layout).items():
        dataset = _whole(file, name, size, dtype, empty(dtype))
        describe(dataset, layout.fields.get(name) or Field((), ROW_COLUMNS[name][1]))
        own = layout.fields[name].dimensions if name in layout.fields else ()
        attach_scales(dataset, [*scales, *(extent_scale(file, one, layout.extents[one]) for one in own)])
        if along:
            dataset.attrs["coordinates"] = along
    mark = _whole(file, FINISHED_MARK, shape, "i1", 0)
    describe(mark, Field((), "1 for points that count"))
    attach_scales(mark, scales)
    _whole(file, CHECKSUMS, shape, "<u4", 0)


def _scale(file: Any, axis: SweptAxis) -> Any:
    """The dimension scale of an axis, named after its first key; the values of others lie along it."""
    for key, values in axis.coordinates.items():
        stored = values if values.dtype.kind == "f" else np.char.encode(values, "utf-8")
        dataset = file.create_dataset(key, data=stored, track_times=False)
        describe(dataset, Field((), key))
        if key == axis.name:
            dataset.make_scale(key)
        else:
            attach_scales(dataset, [file[axis.name]])
    return file[axis.name]


def _observe_scale(file: Any, times: Float) -> None:
    """The times of series, in place of the scale that only counts them."""
    del file[OBSERVE_TIME]
    dataset = file.create_dataset(OBSERVE_TIME, data=times, track_times=False)
    describe(dataset, Field((), "time of the observations"))
    dataset.make_scale(OBSERVE_TIME)


def _whole(file: Any, name: str, shape: Sequence[int], dtype: str, fill: float | bytes | int) -> Any:
    """A dataset in one piece, on the disk from now on."""
    import h5py

    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_value(np.array(fill, dtype))
    space = h5py.h5s.create_simple(tuple(shape))
    parent, _, last = name.rpartition("/")
    group = file[parent] if parent else file
    h5py.h5d.create(group.id, last.encode(), h5py.h5t.py_create(np.dtype(dtype), logical=True), space, dcpl=properties)
    return group[last]


def write_flat(dataset: Any, first: int, values: AnyArray, shape: Sequence[int]) -> None:
    """The entries of consecutive points, by their number over axes of that shape."""
    done = 0
    for index, count in slabs(shape, first, first + len(values)):
        dataset[index] = values[done : done + count].reshape(dataset[index].shape)
        done += count


def read_flat(dataset: Any, first: int, count: int, shape: Sequence[int]) -> AnyArray:
    """The entries of so many points from that one on."""
    own = dataset.shape[len(shape) :]
    parts = [np.asarray(typed(dataset)[index]).reshape(-1, *own) for index, _ in slabs(shape, first, first + count)]
    return np.concatenate(parts)


def point_checksums(first: int, columns: Mapping[str, AnyArray]) -> AnyArray:
    """Of points from that number on: the CRC-32 of the bytes of their entries, which begins with names and number."""
    start = text_checksum(" ".join(columns)) + first
    count = len(next(iter(columns.values())))
    parts = [np.ascontiguousarray(one).reshape(count, -1).view(np.uint8).reshape(count, -1) for one in columns.values()]
    rows = np.concatenate(parts, axis=1)
    sums = [zlib.crc32(row.data, (start + place) & 0xFFFFFFFF) for place, row in enumerate(rows)]
    return np.array(sums, dtype="<u4")


def damaged(file: Any, names: Sequence[str], finished: Truths) -> Iterator[int]:
    """Numbers of points that count and are not what was written."""
    shape, marks = finished.shape, finished.reshape(-1)
    row_bytes = sum(file[name].dtype.itemsize * int(np.prod(file[name].shape[len(shape) :])) for name in names)
    for first, count in blocks(0, marks.size, row_bytes):
        if marks[first : first + count].any():
            columns = {name: read_flat(file[name], first, count, shape) for name in names}
            wrong = point_checksums(first, columns) != read_flat(file[CHECKSUMS], first, count, shape)
            yield from (first + np.flatnonzero(wrong & marks[first : first + count])).tolist()


def times_of(file: Any) -> Float:
    """Of the observations that series have."""
    return np.asarray(typed(file[OBSERVE_TIME])[()]) if OBSERVE_TIME in file else np.zeros(0)
