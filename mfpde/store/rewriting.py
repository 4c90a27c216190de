"""A run's file made anew, on a larger grid or to be resumed: copied aside, then put in its place at once."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.store import schema
from mfpde.store.atomic_file import temporary
from mfpde.store.checkpoint import copy_slots
from mfpde.store.checksums import BLOCK_BYTES, GROUP, Rows, record_rows, row_checksums
from mfpde.store.reader import Contents
from mfpde.store.schema import Header
from mfpde.store.transaction import Transaction, open_file

__all__ = ["rewrite"]


def rewrite(path: Path, old: Contents, header: Header, rows: Rows) -> tuple[Transaction, Any]:
    """The new file, open and in place, with so many rows of the old one, which is the caller's to close. OSError leaves
    the old one as it is."""
    part = temporary(path)
    disk = Transaction(part, create=True)
    file = None
    try:
        file = open_file(disk, "w")
        schema.create(file, header)
        copy_slots(old.file["checkpoint"], file["checkpoint"])
        for table, names in header.columns.tables.items():
            for name in names:
                _copy_rows(name, old, file, header, getattr(rows, table))
        record_rows(file[GROUP], rows)
        file.flush()
        disk.commit()
        disk.sync()
        with suppress(OSError):
            shutil.copymode(path, part)
        part.replace(path)
    except BaseException:
        disk.close(file)
        part.unlink(missing_ok=True)
        raise
    return disk, file


def _copy_rows(name: str, old: Contents, new: Any, header: Header, rows: int) -> None:
    """Densities as when the run had been kept in memory, row by row. What is copied is what was written; its checksums
    are made anew, those of the times, too, though they count at once: nobody sees the file before it is whole."""
    source, target = old.file[name], new[name]
    target.resize(rows, axis=0)
    table, column = header.columns.place(name)
    sums = new[table]
    if sums.shape[0] < rows:
        sums.resize(rows, axis=0)
    step = max(1, BLOCK_BYTES // max(1, 8 * int(np.prod(source.shape[1:], dtype=int))))
    for first in range(0, rows, step):
        values = old.rows(name, first, min(step, rows - first))
        if name in header.layout.fields:
            values = np.array([old.layout.carry(name, row, header.layout) for row in values])
        if values.size:
            target[first : first + len(values)] = values
        sums[first : first + len(values), column] = row_checksums(name, first, values)
