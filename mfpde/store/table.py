"""Named tables of a file: each grows by rows along one dimension, and a row counts once its place on it is written.

A run has the tables of its snapshots (along `time`), observations (`observe_time`) and steps (`step`); a diagram has
one of states, a sweep one of points. What writes, checks and salvages files knows tables only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.geometry import Field
from mfpde.store.checksums import GROUP, Columns
from mfpde.store.layouts import attach_scales, describe, extent_scale

__all__ = ["LARGE_BYTES", "UNKNOWN_ROWS", "Column", "Table", "columns_of", "create_chunked", "create_table", "kept"]

_CHUNK_BYTES = 2**16  # readers that work by chunks want them no smaller
LARGE_BYTES = 2**23  # chunks that do not fit into HDF5's cache (8 MiB; 1 before 2.0) are written when they are given
UNKNOWN_ROWS = 2**16  # rows to expect where nobody knows how many there will be


@dataclass(frozen=True)
class Column:
    """A dataset with one row of that shape and type for each row of its table; numbers and fixed-length `S` strings."""

    field: Field
    shape: tuple[int, ...] = ()
    dtype: str = "<f8"

    @property
    def row_bytes(self) -> int:
        """Of one row."""
        return int(np.prod(self.shape, dtype=int)) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Table:
    """Columns that grow together along the dimension `scale`, of which one row is called `row`.

    The scale is a dataset of its own: NaN until a row is committed, then the row's number or, where the table is
    `timed`, its time, which messages tell. `expected` rows decide the size of chunks. A table that is not `present` in
    a file is counted there all the same.
    """

    row: str
    scale: str
    long_name: str
    columns: Mapping[str, Column]
    expected: int = UNKNOWN_ROWS
    timed: bool = False
    present: bool = True

    @property
    def name(self) -> str:
        """`snapshots`: under which its checksums are kept."""
        return f"{self.row}s"

    @property
    def names(self) -> tuple[str, ...]:
        """Of all its datasets, the scale first."""
        return self.scale, *self.columns

    def column(self, name: str) -> Column:
        """One of its datasets, the scale too."""
        return self.columns[name] if name in self.columns else Column(Field((), self.long_name))


def kept(tables: Sequence[Table]) -> Iterator[Table]:
    """Those that are in the file."""
    return (table for table in tables if table.present)


def columns_of(tables: Sequence[Table]) -> Columns:
    """Where the checksums of each of their datasets go."""
    return Columns({table.name: table.names for table in kept(tables)})


def create_table(file: Any, table: Table) -> None:
    """Its empty datasets, and room for the checksums of its rows."""
    column = table.column(table.scale)
    scale = _growing(file, table.scale, column, table.expected, fillvalue=np.nan)
    scale.attrs["_FillValue"] = np.array([np.nan])
    describe(scale, column.field)
    scale.make_scale(table.scale)
    for name, column in table.columns.items():
        dataset = _growing(file, name, column, table.expected)
        describe(dataset, column.field)
        sizes = zip(column.field.dimensions, column.shape, strict=True)
        attach_scales(dataset, [scale, *(extent_scale(file, dimension, size) for dimension, size in sizes)])
    names = table.names
    sums = Column(Field((), "checksums"), (len(names),), "<u4")
    _growing(file[GROUP], table.name, sums, table.expected).attrs["columns"] = json.dumps(names)


def _growing(group: Any, name: str, column: Column, expected: int, **options: Any) -> Any:
    """An empty dataset of such rows: as many to a chunk as make 64 kB, but not more than are expected."""
    rows = max(1, min(-(-_CHUNK_BYTES // max(1, column.row_bytes)), expected))
    return create_chunked(group, name, (0, *column.shape), (rows, *column.shape), column.dtype, **options)


def create_chunked(
    group: Any, name: str, shape: tuple[int, ...], chunks: tuple[int, ...], dtype: Any, **options: Any
) -> Any:
    """A dataset that grows along its first dimension. A large chunk is not filled before it is written: to do so HDF5
    would make a copy of it in memory."""
    large = int(np.prod(chunks, dtype=int)) * np.dtype(dtype).itemsize >= LARGE_BYTES
    return group.create_dataset(
        name,
        shape,
        maxshape=(None, *shape[1:]),
        chunks=chunks,
        dtype=dtype,
        track_times=False,
        fill_time="never" if large else "ifset",
        **options,
    )
