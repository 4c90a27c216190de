"""Checksums of everything that is read back from a file: of each row, and of all that is written once.

They are contents of the file, not a filter of HDF5: a filter checks the bytes of a chunk, not whether they are those of
this row of this dataset, and nothing of what HDF5 itself keeps (shapes, types, where chunks are).

The checksum of a row is the CRC-32 of its bytes as little-endian float64. It does not start from 0 but from the CRC-32
of the text `NAME SHAPE` plus the number of the row: a row in the wrong place is noticed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.errors import MfpdeError
from mfpde.geometry import Axis
from mfpde.store.opening import attribute, typed
from mfpde.typing import AnyArray, Float

__all__ = [
    "BLOCK_BYTES",
    "GROUP",
    "MARK",
    "Columns",
    "DamageError",
    "Rows",
    "array_checksum",
    "axis_checksum",
    "check_rows",
    "read_record",
    "read_rows",
    "record_rows",
    "recorded_rows",
    "row_checksums",
    "table_of",
    "text_checksum",
    "write_record",
]

GROUP = "checksum"
#: attribute of the root that says that there are checksums, also when nobody finds them any more
MARK = "mfpde_checksums"
_ROWS = "rows"
_LONGEST_RECORD = 2**24  # bytes: what claims to be longer is damaged, and not to be read
BLOCK_BYTES = 2**22  # of rows read at once
_BLOCK_ROWS = 1024  # HDF5 keeps some kB for each chunk of a selection


@dataclass(frozen=True)
class Rows:
    """How many rows there are: on the two time axes (without times of their own, series go with the snapshots), and
    of the trail."""

    snapshots: int
    observations: int
    steps: int = 0


class DamageError(MfpdeError):
    """A file does not hold what was written; `row` is the first row of which that is known."""

    def __init__(self, path: Path, what: str, row: int = 0) -> None:
        super().__init__(f"{path} is damaged: {what} is not what was written")
        self.row = row


@dataclass(frozen=True)
class Columns:
    """Which column of which table holds the checksums of a dataset, by its name."""

    tables: Mapping[str, tuple[str, ...]]

    def place(self, name: str) -> tuple[str, int]:
        """Name of the table and number of the column."""
        for table, names in self.tables.items():
            if name in names:
                return table_of(table), names.index(name)
        raise KeyError(f"no checksums of {name}")


def table_of(rows: str) -> str:
    """Where the checksums are of the rows that `Rows` counts under that name."""
    return f"{GROUP}/{rows}"


def row_checksums(name: str, first: int, rows: AnyArray) -> AnyArray:
    """Of rows of a dataset, the first of which has that number."""
    values = np.ascontiguousarray(rows, dtype="<f8")
    start, crc = text_checksum(f"{name} {values.shape[1:]}") + first, zlib.crc32
    data = values.reshape(-1).view(np.uint8).data
    size = len(data) // len(values) if len(values) else 0
    sums = [crc(data[k * size : (k + 1) * size], (start + k) & 0xFFFFFFFF) for k in range(len(values))]
    return np.array(sums, dtype=np.uint32)


def array_checksum(name: str, values: AnyArray) -> int:
    """Of an array that is written once: name, type, shape and bytes."""
    array = np.ascontiguousarray(values)
    start = text_checksum(f"{name} {array.dtype.str} {np.shape(values)}")
    return zlib.crc32(array.reshape(-1).view(np.uint8).data, start)


def axis_checksum(axis: Axis) -> int:
    """Of its values and bounds, and what is said of them."""
    said = text_checksum(repr((axis.name, axis.units, axis.long_name, *axis.growth.said)))
    return array_checksum(f"{said} bounds", axis.bounds) ^ array_checksum(f"{said} values", axis.values)


def text_checksum(text: str) -> int:
    """Of a text."""
    return zlib.crc32(text.encode())


def read_rows(dataset: Any, out: Float, first: int = 0) -> None:
    """Rows of a dataset into an array that is there, a few at a time."""
    size = max(out[:1].nbytes, 1)
    step = max(1, min(_BLOCK_ROWS, BLOCK_BYTES // size))
    if out.size and dataset.shape[1:] != out.shape[1:]:
        raise ValueError(f"{dataset.name} has rows of shape {dataset.shape[1:]}, not {out.shape[1:]}")
    for start in range(0, len(out) if out.size else 0, step):
        piece = out[start : start + step]
        typed(dataset).read_direct(piece, np.s_[first + start : first + start + len(piece)])


def check_rows(path: Path, file: Any, name: str, columns: Columns, values: AnyArray, first: int, times: Float) -> None:
    """Fail with the first row that is not what was written; `times` are those of all rows, empty where they have
    none."""
    table, column = columns.place(name)
    sums = typed(file[table])
    size = max(1, values[:1].nbytes)
    step = max(1, BLOCK_BYTES // size)
    for start in range(0, len(values), step):
        found = row_checksums(name, first + start, values[start : start + step])
        written = sums[first + start : first + start + len(found), column]
        wrong = np.flatnonzero(found[: len(written)] != written)
        if wrong.size or len(written) < len(found):
            row = first + start + (int(wrong[0]) if wrong.size else len(written))
            raise DamageError(path, f"{name} at row {row}{_when(times, row)}", row)


def _when(times: Float, row: int) -> str:
    return f" (t = {times[row]:.6g})" if row < len(times) else ""


def record_rows(group: Any, rows: Rows) -> None:
    """So many rows have been committed."""
    counts = np.array(astuple(rows), dtype="<i8")
    record = np.append(counts, array_checksum(_ROWS, counts))
    if _ROWS in group.attrs:
        group.attrs.modify(_ROWS, record)
    else:
        group.attrs.create(_ROWS, record)


def recorded_rows(path: Path, group: Any) -> Rows:
    """How many rows are known to have been committed: there may be more, but not fewer."""
    record = np.asarray(attribute(group, _ROWS))
    if record.shape != (4,) or array_checksum(_ROWS, record[:3].astype("<i8")) != record[3]:
        raise DamageError(path, "the number of its rows")
    return Rows(*(int(count) for count in record[:3]))


def write_record(group: Any, name: str, record: Mapping[str, Any], capacity: int = 0) -> None:
    """A record and its checksum, in a dataset of bytes; with a capacity it is overwritten where it stands."""
    text = json.dumps(record, ensure_ascii=False).encode(errors="replace")
    text = text.ljust(capacity)
    data = np.frombuffer(b"%08x" % zlib.crc32(text) + text, dtype=np.uint8)
    if name in group:
        group[name][...] = data
    else:
        group.create_dataset(name, data=data, track_times=False)


def read_record(path: Path, group: Any, name: str, what: str) -> Any:
    """What `write_record` wrote."""
    dataset = typed(group[name])
    if not 8 < dataset.size <= _LONGEST_RECORD:
        raise DamageError(path, what)
    data = np.asarray(dataset[...], dtype=np.uint8).tobytes()
    if b"%08x" % zlib.crc32(data[8:]) != data[:8]:
        raise DamageError(path, what)
    return json.loads(data[8:])
