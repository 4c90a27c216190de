"""A run's file made anew, on a larger grid or with a later end: copied aside, then put in its place at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mfpde.geometry import Layout
from mfpde.store import schema
from mfpde.store.checkpoint import copy_slots
from mfpde.store.layouts import read_layout
from mfpde.store.placing import temporary
from mfpde.store.recorder import observed_series
from mfpde.store.schema import Header, Rows
from mfpde.store.transaction import Transaction, open_file

__all__ = ["rewrite"]

_BLOCK = 4096  # rows of series copied at once


def rewrite(path: Path, old: Any, header: Header, rows: Rows) -> tuple[Transaction, Any]:
    """The new file, open and in place; the old one is the caller's to close. OSError leaves the old one as it is."""
    part = temporary(path)
    disk = Transaction(part, create=True)
    file = None
    try:
        file = open_file(disk, "w")
        schema.create(file, header)
        copy_slots(old["checkpoint"], file["checkpoint"])
        layout = read_layout(old)
        for name in header.layout.fields:
            _copy_field(name, old, file, layout, header.layout, rows.snapshots)
        for name in [*header.layout.trail, *(["step"] if header.layout.trail else [])]:
            _copy_rows(old[name], file[name], rows.steps)
        count = rows.observations if header.own_times else rows.snapshots
        for name in observed_series(header.problem):
            _copy_rows(old[name], file[name], count)
        _copy_rows(old["time"], file["time"], rows.snapshots)
        if header.own_times:
            _copy_rows(old["observe_time"], file["observe_time"], rows.observations)
        file.flush()
        disk.commit()
        disk.sync()
        part.replace(path)
    except BaseException:
        disk.close(file)
        part.unlink(missing_ok=True)
        raise
    return disk, file


def _copy_field(name: str, old: Any, new: Any, before: Layout, now: Layout, rows: int) -> None:
    """Row by row: the same bits as when the run had been kept in memory."""
    source, target = old[name], new[name]
    target.resize(rows, axis=0)
    for index in range(rows):
        target[index] = before.carry(name, np.asarray(source[index]), now)


def _copy_rows(old: Any, new: Any, rows: int) -> None:
    new.resize(rows, axis=0)
    for start in range(0, rows, _BLOCK):
        piece = slice(start, min(start + _BLOCK, rows))
        new[piece] = old[piece]
