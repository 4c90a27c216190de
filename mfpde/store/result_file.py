"""A file of results under way, valid at every moment: data first, then the values that make rows count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.contracts import Outcome
from mfpde.ranks.spread import Spread, pieces_of
from mfpde.store import schema
from mfpde.store.checkpoint import Checkpoint, Reference, create_slots, write_slot
from mfpde.store.checksums import GROUP, record_counts, row_checksums, table_of
from mfpde.store.rewriting import rewrite
from mfpde.store.schema import Header
from mfpde.store.stored_tables import StoredTables
from mfpde.store.table import Table, kept
from mfpde.store.transaction import Transaction
from mfpde.typing import AnyArray

__all__ = ["NewRows", "ResultFile"]

#: rows to append, by the name of their table: those of each of its datasets, the scale too
NewRows = Mapping[str, Mapping[str, Sequence[Any] | AnyArray]]


class ResultFile:
    """Appends rows to the tables of an open file. `counts` are the rows of each table that the file has, `reached` the
    last value that is safe on the dimension of the first one.

    In a file that was taken up again there may be more rows than that, `found`, which count until they are made again.
    """

    def __init__(
        self,
        header: Header,
        disk: Transaction,
        file: Any,
        counts: Mapping[str, int] | None = None,
        found: Mapping[str, int] | None = None,
        slot: str = "1",
    ) -> None:
        """`slot` holds the checkpoint that was continued, and is kept until the next one is whole."""
        self.header, self.file = header, file
        self._disk = disk
        self.counts = dict(counts or dict.fromkeys((table.name for table in header.tables), 0))
        self._found = dict(found or self.counts)
        self._slot = slot
        self.reached = float("-inf")

    @classmethod
    def create(cls, path: Path, header: Header, rows: NewRows, checkpoint: Checkpoint, *, force: bool) -> ResultFile:
        """A file with its first rows. It appears under its name once it is whole; OSError if it cannot."""
        with schema.making(path, header, force=force) as (disk, file, _):
            create_slots(file["checkpoint"], header.tables, checkpoint.state)
            made = cls(header, disk, file)
            made.commit(rows, checkpoint)
        return made

    @classmethod
    def continued(
        cls,
        path: Path,
        old: StoredTables,
        header: Header,
        since: tuple[str, Checkpoint],
        found: Mapping[str, int],
    ) -> ResultFile:
        """Go on from a checkpoint, in that slot, of an old file: in one made anew with as many rows as were `found`."""
        slot, checkpoint = since
        disk, file = rewrite(path, old, header, found)
        made = cls(header, disk, file, checkpoint.counts, found, slot)
        first = header.tables[0]
        made.reached = float(file[first.scale][checkpoint.counts[first.name] - 1])
        return made

    def rewritten(self, path: Path, header: Header) -> ResultFile:
        """The file made anew with another layout, which takes the place of this one."""
        old = StoredTables(path, self.file, lambda *_: self.header.tables)
        made = ResultFile(header, *rewrite(path, old, header, self.safe_counts()), self.counts, self._found, self._slot)
        made.reached = self.reached
        self.close()
        return made

    def commit(self, rows: NewRows, checkpoint: Checkpoint | None = None) -> None:
        """Data, their checksums and the state, flush; then what makes rows count, the last table first; then that they
        were counted."""
        new = [table for table in kept(self.header.tables) if len(rows.get(table.name, {}).get(table.scale, ()))]
        before, last = dict(self.counts), []
        for table in new:
            last += self._append(table, rows[table.name])
        if checkpoint is not None:
            self._keep(replace(checkpoint, counts=dict(self.counts)).referring(last))
        self._flush()
        for table in reversed(new):
            values = np.asarray(rows[table.name][table.scale], dtype=float)
            self.file[table.scale][before[table.name] : self.counts[table.name]] = values
            self._flush()
            self.reached = float(values[-1]) if table is self.header.tables[0] else self.reached
        if new:
            record_counts(self.file[GROUP], list(self.safe_counts().values()))
            self._flush()

    def safe_counts(self) -> dict[str, int]:
        """Rows that count: in a file taken up again those ahead of the checkpoint do until they are made again."""
        return {name: max(count, self._found[name]) for name, count in self.counts.items()}

    def trim(self) -> None:
        """Cut off rows beyond the last that counts, left by a kill. Only at the end: freed space must not be used
        again."""
        counts = self.safe_counts()
        for table in kept(self.header.tables):
            for name in (*table.names, table_of(table.name)):
                if self.file[name].shape[0] > counts[table.name]:
                    self.file[name].resize(counts[table.name], axis=0)
        self._flush()

    def finish(self, outcome: Outcome, effort: Mapping[str, Any]) -> None:
        """Write how it ended and what there was to do, and close the file."""
        try:
            schema.write_outcome(self.file, outcome, effort)
            self._flush()
            self._disk.sync()
        finally:
            self.close()

    def sync(self) -> None:
        """Have the operating system write everything to the device."""
        self._disk.sync()

    def close(self) -> None:
        """Let go at once; what was committed stays."""
        self._disk.close(self.file)

    def _append(self, table: Table, rows: Mapping[str, Sequence[Any] | AnyArray]) -> list[tuple[Reference, AnyArray]]:
        """Write rows and their checksums, but not what makes them count. What comes back are the columns of the last
        row, to be referred to."""
        first, number = self.counts[table.name], self.header.tables.index(table)
        count = first + len(rows[table.scale])
        sums: list[AnyArray] = []
        last: list[tuple[Reference, AnyArray]] = []
        for name in table.names:
            dataset = self.file[name]
            values = _stacked(rows[name], dataset.dtype)
            _grow(dataset, count)
            if name != table.scale:
                _write_rows(dataset, first, values)
            sums.append(row_checksums(name, first, values))
            last.append((Reference(number, len(last), int(sums[-1][-1])), values if len(values) == 1 else values[-1:]))
        dataset = self.file[table_of(table.name)]
        _grow(dataset, count)
        dataset[first:count] = np.column_stack(sums)
        self.counts[table.name] = count
        return last

    def _keep(self, checkpoint: Checkpoint) -> None:
        self._slot = "1" if self._slot == "0" else "0"
        write_slot(self.file["checkpoint"], self._slot, checkpoint, self.header.tables, self._disk)

    def _flush(self) -> None:
        self.file.flush()
        self._disk.commit()


def _stacked(rows: Sequence[Any] | AnyArray, dtype: Any) -> Any:
    """As one array, without a copy of a row that is alone: it may be as large as the memory, or spread over ranks."""
    if isinstance(rows, np.ndarray):
        return rows.astype(dtype, copy=False)
    if len(rows) == 1 and isinstance(rows[0], Spread):
        return rows[0].as_row()
    return np.asarray(rows[0], dtype=dtype)[None] if len(rows) == 1 else np.asarray(rows, dtype=dtype)


def _write_rows(dataset: Any, first: int, rows: Any) -> None:
    if not isinstance(rows, Spread):
        dataset[first : first + len(rows)] = rows
        return
    token = math.prod(rows.shape[2:])  # numbers of one token
    for place, piece in pieces_of(rows):
        start, stop = place // token, (place + piece.size) // token
        dataset[first, start:stop] = piece.reshape(-1, *rows.shape[2:])


def _grow(dataset: Any, rows: int) -> None:
    if dataset.shape[0] < rows:
        dataset.resize(rows, axis=0)
