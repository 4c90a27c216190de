"""What every file of results has before its first row: attributes, axes, tables, provenance, checksums of all that."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde._version import __version__
from mfpde.contracts import Outcome
from mfpde.geometry import Layout
from mfpde.store.atomic_file import appearing
from mfpde.store.checksums import (
    GROUP,
    MARK,
    array_checksum,
    axis_checksum,
    record_counts,
    text_checksum,
    write_record,
)
from mfpde.store.layouts import LAYOUT, create_layout
from mfpde.store.provenance import read_provenance, write_numbers, write_provenance
from mfpde.store.table import Table, columns_of, create_table, kept
from mfpde.store.transaction import Transaction, open_file

if TYPE_CHECKING:
    from mfpde.problem import Problem

__all__ = ["FORMAT", "Header", "create", "making", "write_outcome"]

FORMAT = 1  # of the file; raised when earlier releases could not read it
_RUNNING = "running"  # the status before there is an outcome
_STATUS_BYTES, _OUTCOME_BYTES, _END_BYTES = 32, 2048, 8192  # reserved: overwritten where they stand
_TEXT_LETTERS_MAX = 300  # of the message and of the advice of an outcome, so that it fits


@dataclass(frozen=True)
class Header:
    """All that is known of a result before its first row.

    `kind` is what the file holds, as in the registry family `archive`. Tables are committed from the last to the first:
    a row may need rows of tables after its own. The first one has a row from the start.
    """

    kind: str
    problem: Problem
    layout: Layout
    tables: Sequence[Table]
    history: str
    provenance: Mapping[str, Any]


@contextmanager
def making(path: Path, header: Header, *, force: bool) -> Iterator[tuple[Transaction, Any, Path]]:
    """A file that begins with this header, open, and where it is until the block ends well: then it gets its name, and
    stays open. OSError leaves nothing behind."""
    disk = file = None
    try:
        with appearing(path, force=force) as part:
            disk = Transaction(part, create=True)
            file = open_file(disk, "w")
            create(file, header)
            yield disk, file, part
    except BaseException:
        if disk is not None:
            disk.close(file)
        raise


def create(file: Any, header: Header) -> None:
    """Attributes and empty datasets."""
    _write_attributes(file, header)
    group = file.create_group(GROUP)
    create_layout(file, header.layout)
    for table in kept(header.tables):
        create_table(file, table)
    file.create_group("checkpoint")
    provenance = file.create_group("provenance")
    write_provenance(provenance, dict(header.provenance))
    problem = json.dumps(header.problem.canonical())
    provenance["problem"] = problem  # what is read back; the YAML text is for people
    file.attrs[MARK] = 1
    layout, made_by = header.layout, read_provenance(file["provenance"])
    record = {
        "problem": text_checksum(problem),
        "layout": text_checksum(file.attrs[LAYOUT]),
        "axes": {axis.name: axis_checksum(axis) for axis in layout.axes},
        "constants": {name: array_checksum(name, one.values) for name, one in layout.constants.items()},
        "columns": columns_of(header.tables).tables,
        "provenance": made_by,
    }
    write_record(group, "header", record)
    write_record(group, "end", _end(None, made_by), _END_BYTES)
    record_counts(group, [0] * len(header.tables))


def _end(outcome: Outcome | None, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What changes when the work ends."""
    effort = {name: provenance[name] for name in ("timings", "statistics")}
    return {"outcome": None if outcome is None else asdict(outcome), **effort}


def write_outcome(file: Any, outcome: Outcome, effort: Mapping[str, Any]) -> None:
    """Overwrite it where it stands, with the timings and statistics: its places have a fixed size, so that this works
    on a full disk."""
    for name in ("timings", "statistics"):
        write_numbers(file["provenance"][name], effort[name])
    texts = {name: getattr(outcome, name)[:_TEXT_LETTERS_MAX] for name in ("message", "advice")}
    outcome = replace(outcome, **texts)
    file.attrs.modify("status", np.array(outcome.kind.encode(), f"S{_STATUS_BYTES}"))
    file.attrs.modify("outcome", np.array(json.dumps(asdict(outcome)).encode(), f"S{_OUTCOME_BYTES}"))
    write_record(file[GROUP], "end", _end(outcome, effort), _END_BYTES)


def _write_attributes(file: Any, header: Header) -> None:
    problem = header.problem
    file.attrs["Conventions"] = "CF-1.11"
    file.attrs["title"] = problem.title or f"mfpde {header.kind}"
    file.attrs["source"] = f"mfpde {__version__}"
    file.attrs["history"] = header.history
    file.attrs["mfpde_format"] = FORMAT
    file.attrs["mfpde_kind"] = header.kind
    file.attrs["problem"] = problem.to_yaml()
    file.attrs["problem_hash"] = problem.content_hash
    file.attrs.create("status", np.array(_RUNNING.encode(), f"S{_STATUS_BYTES}"))
    file.attrs.create("outcome", np.array(b"{}", f"S{_OUTCOME_BYTES}"))
