"""A file made anew, on a larger grid or to be taken up again: copied aside, then put in its place at once."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.store import schema
from mfpde.store.checkpoint import create_slots, write_slot
from mfpde.store.checksums import GROUP, blocks, record_counts, row_checksums, table_of
from mfpde.store.schema import Header
from mfpde.store.stored_tables import StoredTables
from mfpde.store.table import Table, kept
from mfpde.store.transaction import Transaction

__all__ = ["rewrite"]


def rewrite(path: Path, old: StoredTables, header: Header, counts: Mapping[str, int]) -> tuple[Transaction, Any]:
    """The new file, open and in place, with so many rows of the tables of the old one, which is the caller's to close.
    OSError leaves the old one as it is."""
    with schema.making(path, header, force=True) as (disk, file, part):
        _copy_slots(old, file, header, counts, disk)
        for table in kept(header.tables):
            _copy_rows(table, old, file, header, counts[table.name])
        record_counts(file[GROUP], [counts[table.name] for table in header.tables])
        file.flush()
        disk.commit()
        disk.sync()
        with suppress(OSError):
            shutil.copymode(path, part)
    return disk, file


def _copy_slots(old: StoredTables, new: Any, header: Header, counts: Mapping[str, int], disk: Transaction) -> None:
    """Those that do not go beyond the rows that are copied; they refer to rows as long as these stay as they are."""
    whole, group = old.checkpoints(counts), new["checkpoint"]
    create_slots(group, header.tables, next(iter(whole.values())).state if whole else {})
    for name, checkpoint in whole.items():
        kept_rows = old.layout.shape == header.layout.shape
        write_slot(group, name, checkpoint if kept_rows else checkpoint.referring(()), header.tables, disk)


def _copy_rows(table: Table, old: StoredTables, new: Any, header: Header, count: int) -> None:
    """Fields as when they had been kept in memory, row by row. What is copied is what was written; its checksums are
    made anew, and the scale counts at once: nobody sees the file before it is whole."""
    sums = new[table_of(table.name)]
    sums.resize(count, axis=0)
    for place, name in enumerate(table.names):
        target = new[name]
        target.resize(count, axis=0)
        for first, some in blocks(0, count, table.column(name).row_bytes):
            values = old.rows(name, first, some)
            if name in header.layout.fields:
                values = np.array([old.layout.carry(name, row, header.layout) for row in values])
            if values.size:
                target[first : first + some] = values
            sums[first : first + some, place] = row_checksums(name, first, values)
