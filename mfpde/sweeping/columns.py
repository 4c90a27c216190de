"""The arrays of a sweep: one of each collected value and of each thing that is told of a point, over the axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mfpde.geometry import Field, Layout
from mfpde.sweeping.plan import Plan
from mfpde.sweeping.point import PointRow
from mfpde.typing import AnyArray

__all__ = ["FINISHED_MARK", "KEPT_WORDS", "ROW_COLUMNS", "columns_of_rows", "empty_columns", "layout_of", "slabs"]

FINISHED_MARK = "finished"  # the array that says which points count
_MESSAGE_BYTES, _OUTCOME_BYTES = 160, 16  # of texts, which have a fixed length
KEPT_WORDS = {1: True, 0: False, -1: None}  # as numbers in files

#: what is told of each point beside what is collected: type, and what it is
ROW_COLUMNS: Mapping[str, tuple[str, str]] = {
    "outcome": (f"S{_OUTCOME_BYTES}", "how the run of the point ended; empty where there was none"),
    "accuracy": ("<f8", "the solver's estimate of the error, relative to what is largest"),
    "accuracy_kept": ("i1", "whether the accuracy promised was kept: 1, 0, or -1 where nobody knows"),
    "seconds": ("<f8", "seconds that the point took"),
    "message": (f"S{_MESSAGE_BYTES}", "why the run ended early, or why there was none"),
}
_EMPTY = {"f": np.nan, "S": b"", "i": -1}  # by kind of type


def layout_of(plan: Plan) -> Layout:
    """The collected values as fields, and the sizes of the dimensions that they have of their own."""
    fields = {one.name: Field(one.dimensions, one.long_name, one.about.units) for one in plan.variables}
    extents = {name: size for one in plan.variables for name, size in one.extent}
    return Layout("sweep", (), extents, fields)


def shapes(shape: Sequence[int], layout: Layout) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and type of every array of a sweep of that shape."""
    collected = {name: ((*shape, *layout.shape_of(name)), "<f8") for name in layout.fields}
    return {**collected, **{name: (tuple(shape), dtype) for name, (dtype, _) in ROW_COLUMNS.items()}}


def empty_columns(shape: Sequence[int], layout: Layout) -> dict[str, AnyArray]:
    """All arrays, without any point."""
    made = {name: np.full(size, empty(dtype), dtype) for name, (size, dtype) in shapes(shape, layout).items()}
    return {**made, FINISHED_MARK: np.zeros(tuple(shape), bool)}


def empty(dtype: str) -> float | bytes | int:
    """What stands for a point that was not solved."""
    return _EMPTY[np.dtype(dtype).kind]  # type: ignore[return-value]


def columns_of_rows(rows: Sequence[PointRow], layout: Layout) -> dict[str, AnyArray]:
    """Rows as arrays with one entry for each."""
    count = len(rows)
    found = {name: np.full((count, *layout.shape_of(name)), np.nan) for name in layout.fields}
    for place, row in enumerate(rows):
        start = 0
        for array in found.values():
            size = array[0].size
            if row.values.size:
                array[place] = row.values[start : start + size].reshape(array.shape[1:])
            start += size
    told = {
        "outcome": [row.outcome.encode() for row in rows],
        "accuracy": [row.accuracy for row in rows],
        "accuracy_kept": [-1 if row.kept is None else int(row.kept) for row in rows],
        "seconds": [row.seconds for row in rows],
        "message": [_cut(row.message) for row in rows],
    }
    return {**found, **{name: np.array(told[name], dtype) for name, (dtype, _) in ROW_COLUMNS.items()}}


def _cut(text: str) -> bytes:
    """In one line, as whole characters, as many as fit."""
    line = " ".join(text.split()).encode(errors="replace")
    return line if len(line) <= _MESSAGE_BYTES else line[: _MESSAGE_BYTES - 3].decode(errors="ignore").encode() + b"..."


def slabs(shape: Sequence[int], first: int, stop: int) -> Iterator[tuple[tuple[int | slice, ...], int]]:
    """Entries `first` to before `stop` of an array, in the order of its last axis, as boxes: an index and how many
    entries it has.

    >>> list(slabs((3, 4), 2, 9))
    [((0, slice(2, 4, None)), 2), ((slice(1, 2, None),), 4), ((2, slice(0, 1, None)), 1)]
    """
    if len(shape) <= 1:
        if first < stop:
            yield ((slice(first, stop),) if shape else ()), stop - first
        return
    row = int(np.prod(shape[1:], dtype=int))
    while first < stop and first % row:
        end = min(stop, (first // row + 1) * row)
        for index, count in slabs(shape[1:], first % row, first % row + end - first):
            yield (first // row, *index), count
        first = end
    if (stop - first) // row:
        last = stop // row
        yield (slice(first // row, last),), (last - first // row) * row
        first = last * row
    if first < stop:
        for index, count in slabs(shape[1:], 0, stop - first):
            yield (first // row, *index), count
