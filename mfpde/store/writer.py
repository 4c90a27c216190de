"""Rows kept in an HDF5 file that is valid at every moment: data first, then the time that makes a row count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mfpde.geometry import Layout
from mfpde.run import NOT_FINITE, OUTPUT_FAILED, RESOLUTION_LOST, Outcome, Run
from mfpde.store import schema
from mfpde.store.atomic_file import publish, temporary
from mfpde.store.checkpoint import Checkpoint, create_slots, write_slot
from mfpde.store.checksums import GROUP, Rows, record_rows, row_checksums, table_of
from mfpde.store.reader import Contents, load_run
from mfpde.store.recorder import OutputFailed, Row, observed_series, reason
from mfpde.store.rewriting import rewrite
from mfpde.store.schema import Header
from mfpde.store.trail import Trail
from mfpde.store.transaction import Transaction, open_file
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.contracts.solver import Integration

__all__ = ["FileRecorder"]

#: values of axes that grow, by name: the first row, and what goes there
Scales: TypeAlias = dict[str, tuple[int, list[float]]]

_CHECKPOINT_SECONDS = 60.0
_LONGEST_WAIT = 0.5  # commits are promised at most a second apart
_MOST_WAITING = 2**25  # bytes
_PATIENCE = 30  # a commit waits this many times what the last one cost: storing takes a few percent at most


class FileRecorder:
    """Appends rows to an open file. `create` starts one, `continue_file` goes on with one."""

    def __init__(self, path: Path, header: Header, disk: Transaction, file: Any, rows: Rows) -> None:
        self.path = path
        self._header = header
        self._disk = disk
        self._file = file
        self._rows = rows  # in the file
        self._found = Rows(0, 0)  # in the file before a resumed run began
        self._waiting: list[Row] = []  # for the next commit, all on the header's layout
        self._waiting_bytes = 0
        self._closed = False
        self._next_slot = "0"
        self._state_at: tuple[Rows, float] | None = None  # the last state in the file, which nothing new need replace
        self._last_time = self.saved_time = self.observed_time = float("-inf")
        self._trail = Trail(header.layout, rows.steps)
        self.started = self._committed_at = self._saved_at = perf_counter()
        self._earlier_seconds = 0.0
        self._cost = 0.0

    @classmethod
    def create(cls, path: Path, header: Header, first: Row, integration: Integration, *, force: bool) -> FileRecorder:
        """A file with its first row. It appears under its name once it is whole; OSError if it cannot."""
        part = temporary(path)
        disk = Transaction(part, create=True)
        file = None
        try:
            file = open_file(disk, "w")
            schema.create(file, header)
            create_slots(file["checkpoint"], integration.state())
            recorder = cls(path, header, disk, file, Rows(0, 0))
            recorder._wait(first)
            recorder._commit(integration)
            publish(part, path, force=force)
        except BaseException:
            disk.close(file)
            part.unlink(missing_ok=True)
            raise
        return recorder

    @classmethod
    def continue_file(
        cls,
        path: Path,
        header: Header,
        disk: Transaction,
        file: Any,
        rows: Rows,
        found: Rows,
        slot: str,
        earlier: Run,
    ) -> FileRecorder:
        """Go on after `rows` of an earlier run, of which the file has as many as were `found`; the whole slot is kept
        until the next one is."""
        recorder = cls(path, header, disk, file, rows)
        recorder._next_slot = _other(slot)
        recorder._found = found
        recorder._last_time = recorder.saved_time = float(earlier.times[rows.snapshots - 1])
        if rows.observations:
            recorder.observed_time = float(earlier.series_times[rows.observations - 1])
        recorder._earlier_seconds = float(earlier.provenance["timings"]["seconds"])
        return recorder

    @property
    def last_time(self) -> float:
        return self._last_time

    def add(self, row: Row, integration: Integration) -> None:
        try:
            grown = row.fields is not None and self._grow_to(row.layout)
            self._wait(row)
            if row.fields is not None:
                self._trail.gather(integration)
            if grown or self._due():
                self._commit(integration)
        except OSError as error:
            self._fail(error)

    def tick(self, integration: Integration) -> None:
        try:
            if (self._waiting and self._due()) or perf_counter() - self._saved_at > _CHECKPOINT_SECONDS:
                self._commit(integration)
        except OSError as error:
            self._fail(error)

    def finish(self, outcome: Outcome, integration: Integration) -> Run:
        if not self._closed:
            try:
                self._commit(None if outcome.kind in (RESOLUTION_LOST, NOT_FINITE) else integration)
                self._trim()
                self._close_with(outcome, integration.statistics())
                return load_run(self.path)
            except OSError as error:
                with suppress(OutputFailed):
                    self._fail(error)
                outcome = Outcome(OUTPUT_FAILED, self._last_time, f"{reason(error)} at the very end of {outcome.kind}")
        with suppress(OSError):  # a disk that refuses even this leaves the file as it was at the last commit
            self._disk = Transaction(self.path)
            self._file = open_file(self._disk, "r+")
            self._close_with(outcome, {})
        return load_run(self.path)

    def abandon(self) -> None:
        if not self._closed:
            self._closed = True
            self._disk.close(self._file)

    def _close_with(self, outcome: Outcome, statistics: Mapping[str, float]) -> None:
        schema.write_outcome(self._file, outcome, self._effort(statistics))
        try:
            self._file.flush()
            self._disk.commit()
            self._disk.sync()
        finally:
            self._closed = True
            self._disk.close(self._file)

    def _effort(self, statistics: Mapping[str, float]) -> Mapping[str, Any]:
        """What there was to do; without statistics as much as was known before."""
        if not statistics:
            return self._header.provenance
        seconds = self._earlier_seconds + perf_counter() - self.started
        numbers = {name: float(value) for name, value in statistics.items()}
        return {"timings": {"seconds": seconds}, "statistics": numbers}

    def _wait(self, row: Row) -> None:
        """Rows are written many at a time: for h5py one costs as much as a hundred."""
        if row.fields is not None:
            self.saved_time = row.time
            row = replace(row, fields={name: np.array(values) for name, values in row.on(self._header.layout).items()})
            self._waiting_bytes += sum(values.nbytes for values in (row.fields or {}).values())
        if row.values is not None:
            self.observed_time = row.time
        self._waiting.append(row)

    def _due(self) -> bool:
        waited = perf_counter() - self._committed_at
        return waited >= min(_LONGEST_WAIT, _PATIENCE * self._cost) or self._waiting_bytes > _MOST_WAITING

    def _commit(self, integration: Integration | None) -> None:
        """Data, their checksums and the state, flush; then what makes rows count; then that they were counted."""
        start = perf_counter()
        if integration is not None:
            self._trail.gather(integration)
        scales = self._write()
        if integration is not None and self._state_at != (self._rows, integration.time):
            rows = self._rows
            counts = (rows.snapshots, rows.observations, rows.steps)
            state = Checkpoint(*counts, integration.time, integration.state())
            write_slot(self._file["checkpoint"], self._next_slot, state)
            self._next_slot = _other(self._next_slot)
            self._state_at = self._rows, integration.time
        self._flush()
        for scale in scales:  # the trail before the snapshots that need it
            for name, (first, values) in scale.items():
                if values:
                    self._file[name][first : first + len(values)] = values
            if any(values for _, values in scale.values()):
                self._flush()
        if any(values for scale in scales for _, values in scale.values()):
            record_rows(self._file[GROUP], self._safe_rows())
            self._flush()
        if self._waiting:
            self._last_time = self.saved_time
            self._waiting, self._waiting_bytes = [], 0
        self._committed_at = perf_counter()
        self._cost = self._committed_at - start
        if integration is not None and self._committed_at - self._saved_at > _CHECKPOINT_SECONDS:
            self._disk.sync()
            self._saved_at = self._committed_at

    def _write(self) -> list[Scales]:
        """The data that wait. The values of the scales that will make them count are returned, in the order in which
        they may be written."""
        snapshots = [(row.time, row.fields) for row in self._waiting if row.fields is not None]
        observed = [(row.time, row.values) for row in self._waiting if row.values is not None]
        trail = self._trail.take()
        rows = self._rows
        steps = max((len(values) for values in trail.values()), default=0)
        self._rows = Rows(rows.snapshots + len(snapshots), rows.observations + len(observed), rows.steps + steps)
        times: Scales = {"time": (rows.snapshots, [time for time, _ in snapshots])}
        if self._header.own_times:
            times["observe_time"] = (rows.observations, [time for time, _ in observed])
        numbers: Scales = {}
        if self._header.layout.trail:
            numbers["step"] = (rows.steps, [float(step) for step in range(rows.steps, rows.steps + steps)])
        sums: dict[str, AnyArray] = {}
        for name, (first, new) in (numbers | times).items():
            _grow(self._file[name], first + len(new))
            sums[name] = row_checksums(name, first, np.array(new))
        for name in self._header.layout.fields if snapshots else ():
            sums[name] = self._append(name, rows.snapshots, [fields[name] for _, fields in snapshots])
        for name in observed[0][1] if observed else ():
            sums[name] = self._append(name, rows.observations, [values[name] for _, values in observed])
        for name, values in trail.items():
            sums[name] = self._append(name, rows.steps, values)
        self._write_checksums(sums, rows)
        return [numbers, times]

    def _write_checksums(self, sums: Mapping[str, AnyArray], rows: Rows) -> None:
        for table, names in self._header.columns.tables.items():
            first, count = getattr(rows, table), len(sums[names[0]])
            if count:
                dataset = self._file[table_of(table)]
                _grow(dataset, first + count)
                dataset[first : first + count] = np.column_stack([sums[name] for name in names])

    def _append(self, name: str, first: int, values: Sequence[float | Float] | Float) -> AnyArray:
        """Write rows; what comes back are their checksums."""
        dataset, rows = self._file[name], np.asarray(values, dtype=float)
        _grow(dataset, first + len(rows))
        dataset[first : first + len(rows)] = rows
        return row_checksums(name, first, rows)

    def _flush(self) -> None:
        self._file.flush()
        self._disk.commit()

    def _safe_rows(self) -> Rows:
        """In a resumed run, rows ahead of the checkpoint count until they are made again."""
        return Rows(*(max(counts) for counts in zip(astuple(self._rows), astuple(self._found), strict=True)))

    def _trim(self) -> None:
        """Rows beyond the last that counts, left by a kill. Only at the end: freed space must not be used again."""
        rows, header = self._safe_rows(), self._header
        counts = dict.fromkeys([*header.layout.fields, "time"], rows.snapshots)
        counts |= dict.fromkeys(
            observed_series(header.problem), rows.observations if header.own_times else rows.snapshots
        )
        counts |= {"observe_time": rows.observations} if header.own_times else {}
        counts |= dict.fromkeys([*header.layout.trail, "step"], rows.steps) if header.layout.trail else {}
        counts |= {table_of(table): getattr(rows, table) for table in header.columns.tables}
        for name, count in counts.items():
            if self._file[name].shape[0] > count:
                self._file[name].resize(count, axis=0)
        self._flush()

    def _grow_to(self, wanted: Layout) -> bool:
        """Make the file as large as the row needs; True when that was news."""
        larger = self._header.layout.joined(wanted)
        if larger is self._header.layout:
            return False
        self._commit(None)
        header = replace(self._header, layout=larger)
        disk, file = rewrite(self.path, Contents(self.path, self._file), header, self._safe_rows())
        self._disk.close(self._file)
        self._disk, self._file, self._header = disk, file, header
        return True

    def _fail(self, error: OSError) -> None:
        self.abandon()
        raise OutputFailed(reason(error)) from error


def _grow(dataset: Any, rows: int) -> None:
    if dataset.shape[0] < rows:
        dataset.resize(rows, axis=0)


def _other(slot: str) -> str:
    return "1" if slot == "0" else "0"
