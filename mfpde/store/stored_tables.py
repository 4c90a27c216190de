"""The tables of a file that is read: rows that were committed, held against their checksums."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.contracts import INTERRUPTED, Outcome
from mfpde.errors import MfpdeError, ProblemError
from mfpde.geometry import Layout
from mfpde.problem import Problem
from mfpde.store import schema
from mfpde.store.checkpoint import Checkpoint, read_slots
from mfpde.store.checksums import (
    GROUP,
    MARK,
    Columns,
    DamageError,
    array_checksum,
    axis_checksum,
    blocks,
    check_rows,
    read_record,
    read_rows,
    recorded_counts,
    text_checksum,
)
from mfpde.store.layouts import LAYOUT, read_layout
from mfpde.store.lazy_array import StoredArray
from mfpde.store.opening import DAMAGE, attribute
from mfpde.store.provenance import read_provenance
from mfpde.store.table import Table, kept
from mfpde.typing import AnyArray, Float

__all__ = ["StoredTables", "check_kind", "kind_of"]

#: the tables of a kind of result, of a problem and with that layout
TablesOf = Callable[[Problem, Layout], Sequence[Table]]


class StoredTables:
    """An open file of results: `scales` are the committed values of each table's dimension, by the table's name.

    Files of before there were checksums have none, and `columns` is None. `DamageError` when something is not what was
    written."""

    def __init__(self, path: Path, file: Any, tables: TablesOf) -> None:
        """What is written once."""
        self.path, self.file = path, file
        self._header: dict[str, Any] = {}
        self.columns: Columns | None = None
        if GROUP in file or MARK in file.attrs:
            self._header = read_record(path, file[GROUP], "header", "what describes it")
            self.columns = Columns({table: tuple(names) for table, names in self._header["columns"].items()})
        self.problem = self._problem()
        self.layout = self._layout()
        self.tables = tuple(tables(self.problem, self.layout))
        absent = [name for table in kept(self.tables) for name in table.names if name not in file]
        if absent:
            raise MfpdeError(f"{path} is damaged: it holds no {', '.join(absent)}")
        self.scales = {table.name: np.zeros(0) for table in self.tables}
        self._end: dict[str, Any] = {"outcome": None}

    @property
    def counts(self) -> dict[str, int]:
        """How many rows of each table there are."""
        return {name: len(values) for name, values in self.scales.items()}

    def read_end(self) -> None:
        """How it ended, and how much there was to do."""
        if self.columns is None:
            self._end["outcome"] = json.loads(bytes(self.file.attrs["outcome"]))
        else:
            self._end = read_record(self.path, self.file[GROUP], "end", "its outcome")

    def read_scales(self) -> None:
        """How many rows there are; `DamageError` also when there are fewer than were committed."""
        least = [0] * len(self.tables)
        if self.columns is not None:
            least = recorded_counts(self.path, self.file[GROUP], len(self.tables))
        for table, count in zip(self.tables, least, strict=True):
            if table.present:
                self.scales[table.name] = self._scale(table, count)
        first = self.tables[0]
        if not len(self.scales[first.name]):
            raise MfpdeError(f"{self.path} holds no committed {first.row}")

    def read_sound(self) -> list[str]:
        """The same of a file that may be damaged: only the rows before the first that is not what was written, of any
        dataset of their table. Every row is looked at; what comes back says what is damaged: then there is no
        outcome."""
        found: list[str] = []
        try:
            self.read_scales()
        except (DamageError, *DAMAGE) as error:
            found.append(self._said(error, "its times"))
            self.scales |= {table.name: self._sound_scale(table) for table in kept(self.tables)}
        for table in kept(self.tables):
            least = min((self._sound_rows(table, name, found) for name in table.columns), default=None)
            self.scales[table.name] = self.scales[table.name][:least]
        try:
            self.read_end()
        except (DamageError, *DAMAGE) as error:
            found.append(self._said(error, "its outcome"))
        if found:
            self._end["outcome"] = None
        return list(dict.fromkeys(found))

    def rows(self, name: str, first: int, count: int) -> AnyArray:
        """So many rows of a dataset, held against their checksums."""
        dataset = self.file[name]
        values = np.empty((count, *dataset.shape[1:]), dataset.dtype)
        self._read(name, values, first, np.zeros(0))
        return values

    def stored(self) -> dict[str, StoredArray]:
        """Every column of every table, by name, as an array that stays in the file."""
        found = {}
        for table in kept(self.tables):
            rows = len(self.scales[table.name])
            for name, column in table.columns.items():
                shape, dataset = (rows, *column.shape), self.file[name]
                if dataset.shape[0] < rows or dataset.shape[1:] != column.shape:
                    raise ValueError(f"{name} has the shape {dataset.shape} where {shape} is committed")
                times = self._times(table)
                found[name] = StoredArray(self.path, name, shape, column.dtype, self.columns, times)
        return found

    def checkpoints(self, counts: Mapping[str, int]) -> dict[str, Checkpoint]:
        """Those that are whole and not ahead of so many rows, by the name of their slot."""
        tables = [table.name for table in kept(self.tables)]
        found = read_slots(self.file["checkpoint"], self.tables, lambda name, row: self.rows(name, row, 1)[0])
        return {name: one for name, one in found.items() if all(one.counts[each] <= counts[each] for each in tables)}

    def latest(self, end: float = np.inf) -> tuple[str, Checkpoint | None]:
        """The slot with the checkpoint that is furthest on, but ahead neither of the rows nor of that end."""
        fitting = {name: one for name, one in self.checkpoints(self.counts).items() if one.time <= end}
        name = max(fitting, key=lambda name: (fitting[name].time, *fitting[name].counts.values()), default="0")
        return name, fitting.get(name)

    @property
    def outcome(self) -> Outcome:
        """How it ended; a file without an outcome is one of work that was killed."""
        if self._end["outcome"]:
            return Outcome.of(self._end["outcome"])
        times = self.scales[self.tables[0].name] if self.tables else np.full(1, np.nan)
        last = float(times[-1]) if len(times) else 0.0
        killed = f"the {kind_of(self.path, self.file)} was killed"
        return Outcome(INTERRUPTED, last, killed, "--resume (resume=True) continues it")

    @property
    def provenance(self) -> dict[str, Any]:
        """What made it."""
        if self.columns is None:
            return read_provenance(self.file["provenance"])
        changed = {name: value for name, value in self._end.items() if name != "outcome"}
        return {**self._header["provenance"], **changed}

    def _problem(self) -> Problem:
        text = self.file["provenance/problem"][()]
        if self.columns is not None and text_checksum(text.decode(errors="replace")) != self._header["problem"]:
            raise DamageError(self.path, "its problem")
        try:
            return Problem.model_validate(json.loads(text))
        except (ProblemError, ValueError) as error:
            detail = str(error).splitlines()[0]
            raise MfpdeError(f"the problem in {self.path} is not one of this version of mfpde: {detail}") from None

    def _layout(self) -> Layout:
        if self.columns is not None and text_checksum(self.file.attrs[LAYOUT]) != self._header["layout"]:
            raise DamageError(self.path, "its layout")
        layout = read_layout(self.file)
        if self.columns is not None:
            for axis in layout.axes:
                if axis_checksum(axis) != self._header["axes"][axis.name]:
                    raise DamageError(self.path, axis.name)
            for name, constant in layout.constants.items():
                if array_checksum(name, constant.values) != self._header["constants"][name]:
                    raise DamageError(self.path, name)
        return layout

    def _scale(self, table: Table, least: int = 0, most: int | None = None) -> Float:
        """The committed values of a table's dimension, no fewer than `least`: those before the first NaN."""
        dataset = self.file[table.scale]
        count = dataset.shape[0]
        if self.columns is not None:
            count = min(count, self.file[self.columns.place(table.scale)[0]].shape[0])
        values = np.empty(count if most is None else min(count, most))
        read_rows(dataset, values)
        missing = np.flatnonzero(~np.isfinite(values))
        values = values[: missing[0]] if missing.size else values
        if len(values) < least:
            raise DamageError(self.path, f"{table.scale} at row {len(values)}", len(values))
        self._check(table.scale, values, 0, values if table.timed else np.zeros(0))
        return values

    def _sound_scale(self, table: Table) -> Float:
        try:
            return self._scale(table)
        except DamageError as error:
            return self._scale(table, most=error.row)
        except DAMAGE:
            return np.zeros(0)

    def _sound_rows(self, table: Table, name: str, found: list[str]) -> int:
        """How many rows of a column come before the first one that is damaged or cannot be read."""
        column, count = table.columns[name], len(self.scales[table.name])
        pieces = list(blocks(0, count, column.row_bytes))
        while pieces:
            first, size = pieces.pop(0)
            try:
                self._read(name, np.empty((size, *column.shape), column.dtype), first, self._times(table))
            except DamageError as error:
                found.append(str(error))
                return error.row
            except DAMAGE:
                if size == 1:
                    found.append(f"{self.path} is damaged: {name} at row {first} cannot be read")
                    return first
                pieces = [(row, 1) for row in range(first, count)]
        return count

    def _read(self, name: str, out: AnyArray, first: int, times: Float) -> None:
        read_rows(self.file[name], out, first)
        self._check(name, out, first, times)

    def _check(self, name: str, values: AnyArray, first: int, times: Float) -> None:
        if self.columns is not None:
            check_rows(self.path, self.file, name, self.columns, values, first, times)

    def _times(self, table: Table) -> Float:
        """What tells people which row one is."""
        return self.scales[table.name] if table.timed else np.zeros(0)

    def _said(self, error: BaseException, what: str) -> str:
        return str(error) if isinstance(error, DamageError) else f"{self.path} is damaged: {what} cannot be read"


def check_kind(path: Path, file: Any, kind: str) -> None:
    """Fail for a file that holds something other than that."""
    found = kind_of(path, file)
    if found != kind:
        raise MfpdeError(f"{path} holds a {found}, not a {kind}")


def kind_of(path: Path, file: Any) -> str:
    """What a file holds: `run`, ..."""
    if "mfpde_format" not in file.attrs:
        raise MfpdeError(f"{path} is an HDF5 file, but not one of mfpde's")
    written = int(attribute(file, "mfpde_format"))
    if written > schema.FORMAT:
        raise MfpdeError(f"{path} has format {written}, this mfpde reads up to {schema.FORMAT}: a newer mfpde wrote it")
    return str(file.attrs["mfpde_kind"])
