"""Rows of a run kept in a file: when they are committed, and what is done when the disk refuses."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mfpde.contracts import NOT_FINITE, OUTPUT_FAILED, RESOLUTION_LOST, Outcome
from mfpde.ranks import Spread
from mfpde.store.atomic_file import reason
from mfpde.store.checkpoint import Checkpoint
from mfpde.store.reader import load_run
from mfpde.store.recorder import OutputFailed
from mfpde.store.result_file import ResultFile
from mfpde.store.run_tables import OBSERVATIONS, STEPS, Row, RunRows, run_header
from mfpde.store.transaction import Transaction, open_file

if TYPE_CHECKING:
    from mfpde.contracts import Integration
    from mfpde.geometry import Layout
    from mfpde.run import Run
    from mfpde.store.schema import Header

__all__ = ["FileRecorder"]

_CHECKPOINT_SECONDS = 60.0  # between states on the device, which even a loss of power leaves whole
_COMMIT_SECONDS = 0.5  # that rows wait at most; a second is promised
_COMMIT_BYTES = 2**25  # of snapshots that wait at most: 32 MiB
_COMMIT_SHARE = 1 / 30  # of the wall time spent on commits, where these are slow


class FileRecorder:
    """Appends rows to an open file. `create` starts one, `continue_file` goes on with one."""

    def __init__(self, path: Path, file: ResultFile, version: int) -> None:
        """`version` is that of the states that checkpoints hold."""
        self.path = path
        header = file.header
        self.rows = RunRows(header.problem, header.layout, file.counts[STEPS])
        self._file, self._version = file, version
        self._closed = False
        self._state_time: float | None = None  # of the last state in the file, which nothing new need replace
        self.started = self._committed_at = self._synced_at = perf_counter()
        self._earlier_seconds = 0.0
        self._cost = 0.0

    @classmethod
    def create(
        cls, path: Path, header: Header, first: Row, integration: Integration, version: int, *, force: bool
    ) -> FileRecorder:
        """A file with its first row. It appears under its name once it is whole; OSError if it cannot."""
        rows = RunRows(header.problem, header.layout)
        rows.add(first)
        rows.follow(integration)
        state = Checkpoint(integration.time, version, integration.state())
        recorder = cls(path, ResultFile.create(path, header, rows.take(), state, force=force), version)
        recorder.rows, recorder._state_time = rows, integration.time
        return recorder

    @classmethod
    def continue_file(cls, path: Path, file: ResultFile, version: int, earlier: Run) -> FileRecorder:
        """Go on after the rows that the file counts of an earlier run."""
        recorder = cls(path, file, version)
        rows, observed = recorder.rows, file.counts[OBSERVATIONS]
        rows.saved_time = file.reached
        rows.observed_time = float(earlier.series_times[observed - 1]) if observed else rows.saved_time
        recorder._earlier_seconds = float(earlier.provenance["timings"]["seconds"])
        return recorder

    @property
    def last_time(self) -> float:
        return self._file.reached

    def add(self, row: Row, integration: Integration) -> None:
        try:
            grown = row.fields is not None and self._grow_to(row.layout)
            self.rows.add(row)
            if row.fields is not None:
                self.rows.follow(integration)
            spread = any(isinstance(values, Spread) for values in (row.fields or {}).values())
            if grown or spread or self._due():  # other ranks keep no row that waits
                self._commit(integration)
            else:
                self.rows.keep()
        except OSError as error:
            self._fail(error)

    def tick(self, integration: Integration) -> None:
        try:
            if (self.rows and self._due()) or perf_counter() - self._synced_at > _CHECKPOINT_SECONDS:
                self._commit(integration)
        except OSError as error:
            self._fail(error)

    def finish(self, outcome: Outcome, integration: Integration) -> Run:
        if not self._closed:
            try:
                self._commit(None if outcome.kind in (RESOLUTION_LOST, NOT_FINITE) else integration)
                self._file.trim()
                self._closed = True
                self._file.finish(outcome, self._effort(integration.statistics()))
                return load_run(self.path)
            except OSError as error:
                with suppress(OutputFailed):
                    self._fail(error)
                outcome = Outcome(OUTPUT_FAILED, self.last_time, f"{reason(error)} at the very end of {outcome.kind}")
        with suppress(OSError):  # a disk that refuses even this leaves the file as it was at the last commit
            disk = Transaction(self.path)
            ResultFile(self._file.header, disk, open_file(disk, "r+")).finish(outcome, self._effort({}))
        return load_run(self.path)

    def abandon(self) -> None:
        if not self._closed:
            self._closed = True
            self._file.close()

    def _effort(self, statistics: Mapping[str, float]) -> Mapping[str, Any]:
        """What there was to do; without statistics as much as was known before."""
        if not statistics:
            return self._file.header.provenance
        seconds = self._earlier_seconds + perf_counter() - self.started
        numbers = {name: float(value) for name, value in statistics.items()}
        return {"timings": {"seconds": seconds}, "statistics": numbers}

    def _due(self) -> bool:
        """Whether what waits is to be written: rows are written many at a time, for h5py one costs as much as a
        hundred."""
        waited = perf_counter() - self._committed_at
        return waited >= min(_COMMIT_SECONDS, self._cost / _COMMIT_SHARE) or self.rows.bytes > _COMMIT_BYTES

    def _commit(self, integration: Integration | None) -> None:
        """What waits and, where there is an integration, its state."""
        start, state = perf_counter(), None
        if integration is not None:
            self.rows.follow(integration)
            if self.rows or integration.time != self._state_time:
                state = Checkpoint(integration.time, self._version, integration.state())
        self._file.commit(self.rows.take(), state)
        self._state_time = self._state_time if state is None else state.time
        self._committed_at = perf_counter()
        self._cost = self._committed_at - start
        if integration is not None and self._committed_at - self._synced_at > _CHECKPOINT_SECONDS:
            self._file.sync()
            self._synced_at = self._committed_at

    def _grow_to(self, wanted: Layout) -> bool:
        """Make the file as large as the row needs; True when that was news."""
        old = self._file.header
        larger = old.layout.joined(wanted)
        if larger is old.layout:
            return False
        self._commit(None)
        header = run_header(old.problem, larger, old.history, old.provenance)
        self._file = self._file.rewritten(self.path, header)
        self.rows.grow(larger)
        return True

    def _fail(self, error: OSError) -> None:
        self.abandon()
        raise OutputFailed(reason(error)) from error
