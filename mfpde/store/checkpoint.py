"""Two slots for the state to continue from: while one is overwritten, the other is whole.

A slot holds arrays and says how many rows of each table belong to them. Its checksum tells a torn slot from a whole
one. What is, bit for bit, a column of the last row of a table is not kept twice: the slot refers to that row. Space,
once taken, is only overwritten: freed space would be given to others while the disk still refers to it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any

import numpy as np

from mfpde.ranks.spread import InPieces, local_pieces, pieces_of
from mfpde.store.checksums import DamageError, blocks, contiguous, row_checksums
from mfpde.store.opening import DAMAGE, attribute, typed
from mfpde.store.table import LARGE_BYTES, Table, create_chunked
from mfpde.store.transaction import Transaction
from mfpde.typing import AnyArray

__all__ = ["Checkpoint", "Reference", "create_slots", "read_slots", "write_slot"]

_AXES_MAX = 5  # of an array: the attribute holds how many there are, their lengths, and what it refers to
_CHUNK_BYTES_MAX = 2**30  # HDF5 takes less than 4 GiB
_REFERENCE_BYTES_MIN = 2**12  # smaller arrays are kept as they are: a reference would save nothing
_NOT_THERE = -1  # number of axes of an array that a slot no longer has


@dataclass(frozen=True)
class Reference:
    """A row of a column, by the number of its table and of the column in it, and the row's checksum."""

    table: int
    column: int
    checksum: int


@dataclass(frozen=True)
class Checkpoint:
    """A state to continue from at that `time`, after so many rows of each table.

    `version` is that of what the state consists of (`Solver.state_version`); 0 in files of releases that did not say.
    `references` say which arrays are in a row of a table. Large arrays that were read stay in the file, which is open.
    """

    time: float
    version: int
    state: Mapping[str, AnyArray]
    counts: Mapping[str, int] = field(default_factory=dict)
    references: Mapping[str, Reference] = field(default_factory=dict)

    @property
    def checksum(self) -> int:
        """Of everything in it."""
        told = (*self.counts.values(), self.time, *([self.version] if self.version else []))
        total = zlib.crc32(repr(told).encode())
        for name in sorted(self.state):
            array = contiguous(self.state[name])
            total = zlib.crc32(f"{name} {array.dtype.str} {array.shape}".encode(), total)
            if name in self.references:
                total = zlib.crc32(repr(astuple(self.references[name])).encode(), total)
                continue
            for _, piece in pieces_of(array):
                total = zlib.crc32(piece.view(np.uint8).data, total)
        return total

    def referring(self, rows: Iterable[tuple[Reference, AnyArray]]) -> Checkpoint:
        """With references for those of its arrays that hold the bytes of one of these rows."""
        found = {}
        for reference, row in rows:
            for name, array in self.state.items():
                if array.nbytes >= _REFERENCE_BYTES_MIN and _same_bytes(array, row):
                    found[name] = reference
        return replace(self, references=found)


def _array(given: Any) -> Any:
    return given if isinstance(given, InPieces) else np.asarray(given)


def _same_bytes(one: Any, other: Any) -> bool:
    if isinstance(one, InPieces) or isinstance(other, InPieces):  # rank 0 does not know what the others have
        return False
    if one.dtype != other.dtype or one.size != other.size or not (one.flags.c_contiguous and other.flags.c_contiguous):
        return False
    if one.ctypes.data == other.ctypes.data:
        return True
    first, second = (array.reshape(-1).view(np.uint8) for array in (one, other))
    pieces = (slice(start, start + count) for start, count in blocks(0, first.size, 1))
    return all(np.array_equal(first[piece], second[piece]) for piece in pieces)


def create_slots(group: Any, tables: Sequence[Table], state: Mapping[str, AnyArray]) -> None:
    """Both slots, empty, with room for such a state."""
    for name in ("0", "1"):
        slot = group.create_group(name)
        for key in (*(table.row for table in tables), "version"):
            slot.attrs.create(key, -1, dtype="int64")
        slot.attrs.create("checksum", 0, dtype="int64")
        slot.attrs.create("time", 0.0)
        for key, array in state.items():
            _create(slot, key, _array(array))


def _create(slot: Any, key: str, array: AnyArray) -> None:
    size = max(array.size, 1)
    chunk = min(size, _CHUNK_BYTES_MAX // array.dtype.itemsize)
    dataset = create_chunked(slot, key, (size,), (chunk,), array.dtype)
    dataset.attrs.create("shape", _about(), dtype="int64")


def _about(array: AnyArray | None = None, reference: Reference | None = None) -> AnyArray:
    """The attribute: number of axes, their lengths, numbers of the table and the column; -1 for what there is not."""
    about = np.full(_AXES_MAX + 3, _NOT_THERE)
    if array is not None:
        about[: array.ndim + 1] = array.ndim, *array.shape
    if reference is not None:
        about[-2:] = reference.table, reference.column
    return about


def write_slot(group: Any, name: str, checkpoint: Checkpoint, tables: Sequence[Table], disk: Transaction) -> None:
    """Overwrite one slot; it counts once all of it is on the disk."""
    slot = group[name]
    for key in set(slot) - set(checkpoint.state):
        slot[key].attrs.modify("shape", _about())
    for key, value in checkpoint.state.items():
        array, reference = _array(value), checkpoint.references.get(key)
        if key in slot and slot[key].dtype != array.dtype:
            del slot[key]
        if key not in slot:
            _create(slot, key, array)
        dataset = slot[key]
        if reference is None and array.size:
            _write(dataset, array, disk)
        dataset.attrs.modify("shape", _about(array, reference))
    for table in tables:
        slot.attrs.modify(table.row, checkpoint.counts[table.name] - 1)
    slot.attrs.modify("version", checkpoint.version)
    slot.attrs.modify("time", checkpoint.time)
    slot.attrs.modify("checksum", checkpoint.checksum)


def _write(dataset: Any, array: AnyArray, disk: Transaction) -> None:
    """Large arrays directly: nothing relies on a slot that is being overwritten."""
    if dataset.shape[0] < array.size:
        dataset.resize((array.size,))
    chunks = dataset.id.get_num_chunks() if array.nbytes >= LARGE_BYTES else 0
    places = [dataset.id.get_chunk_info(number) for number in range(chunks)]
    with disk.overwriting([(place.byte_offset, place.byte_offset + place.size) for place in places]):
        for place, piece in pieces_of(array):
            dataset[place : place + piece.size] = piece


def read_slots(group: Any, tables: Sequence[Table], row: Callable[[str, int], AnyArray]) -> dict[str, Checkpoint]:
    """The whole ones, by the name of their slot; `row` reads a row of a column, by its number."""
    found = {}
    for name in ("0", "1"):
        try:
            checkpoint, checksum = _read(group[name], tables, row)
            if checkpoint.counts[tables[0].name] > 0 and checkpoint.checksum == checksum:
                found[name] = checkpoint
        except (DamageError, *DAMAGE):
            continue
    return found


def _read(slot: Any, tables: Sequence[Table], row: Callable[[str, int], AnyArray]) -> tuple[Checkpoint, int]:
    counts = {table.name: int(attribute(slot, table.row)) + 1 for table in tables}
    version = int(attribute(slot, "version")) if "version" in slot.attrs else 0
    state, references = {}, {}
    for key, dataset in slot.items():
        axes, *shape, table, column = (int(number) for number in attribute(dataset, "shape"))
        if axes < 0:
            continue
        if table < 0:
            state[key] = _stored(typed(dataset), tuple(shape[:axes]))
        else:
            name, number = tables[table].names[column], counts[tables[table].name] - 1
            values = row(name, number)
            references[key] = Reference(table, column, int(row_checksums(name, number, values[None])[0]))
            state[key] = values.reshape(shape[:axes])
    checkpoint = Checkpoint(float(attribute(slot, "time")), version, state, counts, references)
    return checkpoint, int(attribute(slot, "checksum"))


class _InFile(InPieces):
    """An array of a slot, as long as the file is open."""

    def __init__(self, dataset: Any, shape: tuple[int, ...]) -> None:
        super().__init__(shape, dataset.dtype)
        self._dataset = dataset

    def pieces(self) -> Iterator[AnyArray]:
        for start, stop in local_pieces(self.size):
            yield self._dataset[start:stop]


def _stored(dataset: Any, shape: tuple[int, ...]) -> Any:
    found = _InFile(dataset, shape)
    if dataset.ndim != 1 or not 0 <= found.size <= dataset.size:
        raise ValueError(f"{dataset.name} has the shape {dataset.shape}, not that of {shape}")
    return found if found.nbytes >= LARGE_BYTES else np.asarray(found)
