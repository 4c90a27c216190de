"""Checksums of everything that is read back from a file: of each row, and of all that is written once.

They are contents of the file, not a filter of HDF5: a filter checks the bytes of a chunk, not whether they are those of
this row of this dataset, and nothing of what HDF5 itself keeps (shapes, types, where chunks are).

The checksum of a row is the CRC-32 of its bytes, in the little-endian type of its column. It does not start from 0 but
from the CRC-32 of the text `NAME SHAPE` plus the number of the row: a row in the wrong place is noticed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.errors import MfpdeError
from mfpde.geometry import Axis
from mfpde.ranks.spread import InPieces, Spread, pieces_of
from mfpde.store.opening import attribute, typed
from mfpde.typing import AnyArray, Float

__all__ = [
    "GROUP",
    "MARK",
    "Columns",
    "DamageError",
    "array_checksum",
    "axis_checksum",
    "blocks",
    "check_rows",
    "contiguous",
    "read_record",
    "read_rows",
    "record_counts",
    "recorded_counts",
    "row_checksums",
    "table_of",
    "text_checksum",
    "write_record",
]

GROUP = "checksum"
#: attribute of the root that says that there are checksums, also when nobody finds them any more
MARK = "mfpde_checksums"
_ROWS = "rows"
_RECORD_BYTES_MAX = 2**24  # a record that claims to be longer is damaged, and not to be read
_BLOCK_BYTES = 2**22  # of rows that are read and checked at once
_BLOCK_ROWS_MAX = 1024  # HDF5 keeps some kB of memory for each chunk of a selection


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
    """Where the checksums of the rows of that table are."""
    return f"{GROUP}/{rows}"


def row_checksums(name: str, first: int, rows: Any) -> AnyArray:
    """Of rows of a dataset, the first of which has that number."""
    if isinstance(rows, Spread):
        start = text_checksum(f"{name} {rows.shape[1:]}") + first
        return np.array([_checksum(rows, start & 0xFFFFFFFF)], dtype=np.uint32)
    values = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("<"))
    start, crc = text_checksum(f"{name} {values.shape[1:]}") + first, zlib.crc32
    data = values.reshape(-1).view(np.uint8).data
    size = len(data) // len(values) if len(values) else 0
    sums = [crc(data[k * size : (k + 1) * size], (start + k) & 0xFFFFFFFF) for k in range(len(values))]
    return np.array(sums, dtype=np.uint32)


def array_checksum(name: str, values: Any) -> int:
    """Of an array that is written once: name, type, shape and bytes."""
    array = contiguous(values)
    return _checksum(array, text_checksum(f"{name} {array.dtype.str} {np.shape(values)}"))


def contiguous(values: Any) -> Any:
    """An array whose bytes are in their order in memory, or that is read in pieces."""
    return values if isinstance(values, InPieces) else np.ascontiguousarray(values)


def _checksum(array: Any, start: int) -> int:
    for _, piece in pieces_of(array):
        start = zlib.crc32(piece.view(np.uint8).data, start)
    return start


def axis_checksum(axis: Axis) -> int:
    """Of its values and bounds, and what is said of them."""
    said = text_checksum(repr((axis.name, axis.units, axis.long_name, *axis.growth.said)))
    return array_checksum(f"{said} bounds", axis.bounds) ^ array_checksum(f"{said} values", axis.values)


def text_checksum(text: str) -> int:
    """Of a text."""
    return zlib.crc32(text.encode())


def blocks(first: int, count: int, row_bytes: int) -> Iterator[tuple[int, int]]:
    """So many rows from the first one on, in pieces that are read and checked at once: first row and number of each."""
    size = max(1, _BLOCK_BYTES // max(1, row_bytes))
    for start in range(first, first + count, size):
        yield start, min(size, first + count - start)


def read_rows(dataset: Any, out: AnyArray, first: int = 0) -> None:
    """Rows of a dataset into an array that is there, a few at a time."""
    if out.size and dataset.shape[1:] != out.shape[1:]:
        raise ValueError(f"{dataset.name} has rows of shape {dataset.shape[1:]}, not {out.shape[1:]}")
    for block, rows in blocks(0, len(out) if out.size else 0, max(out[:1].nbytes, _BLOCK_BYTES // _BLOCK_ROWS_MAX)):
        typed(dataset).read_direct(out[block : block + rows], np.s_[first + block : first + block + rows])


def check_rows(path: Path, file: Any, name: str, columns: Columns, values: AnyArray, first: int, times: Float) -> None:
    """Fail with the first row that is not what was written; `times` are those of all rows, empty where they have
    none."""
    table, column = columns.place(name)
    sums = typed(file[table])
    for start, count in blocks(0, len(values), values[:1].nbytes):
        found = row_checksums(name, first + start, values[start : start + count])
        written = sums[first + start : first + start + count, column]
        wrong = np.flatnonzero(found[: len(written)] != written)
        if wrong.size or len(written) < count:
            row = first + start + (int(wrong[0]) if wrong.size else len(written))
            raise DamageError(path, f"{name} at row {row}{_when(times, row)}", row)


def _when(times: Float, row: int) -> str:
    return f" (t = {times[row]:.6g})" if row < len(times) else ""


def record_counts(group: Any, counts: Sequence[int]) -> None:
    """So many rows of each table have been committed."""
    numbers = np.array(counts, dtype="<i8")
    record = np.append(numbers, array_checksum(_ROWS, numbers))
    if _ROWS in group.attrs:
        group.attrs.modify(_ROWS, record)
    else:
        group.attrs.create(_ROWS, record)


def recorded_counts(path: Path, group: Any, tables: int) -> list[int]:
    """How many rows of each of so many tables are known to have been committed: there may be more, but not fewer."""
    record = np.asarray(attribute(group, _ROWS))
    if record.shape != (tables + 1,) or array_checksum(_ROWS, record[:-1].astype("<i8")) != record[-1]:
        raise DamageError(path, "the number of its rows")
    return [int(count) for count in record[:-1]]


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
    if not 8 < dataset.size <= _RECORD_BYTES_MAX:
        raise DamageError(path, what)
    data = np.asarray(dataset[...], dtype=np.uint8).tobytes()
    if b"%08x" % zlib.crc32(data[8:]) != data[:8]:
        raise DamageError(path, what)
    return json.loads(data[8:])
