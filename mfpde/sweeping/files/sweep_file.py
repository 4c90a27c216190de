"""The file of a sweep: points in any order, all that were committed whenever it is left, and a sweep again."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import numpy as np

from mfpde.contracts import INTERRUPTED, Outcome
from mfpde.errors import MfpdeError, ResumeError
from mfpde.geometry import Layout
from mfpde.problem import Problem
from mfpde.registry import register
from mfpde.store import schema
from mfpde.store.atomic_file import cannot_write, is_writable
from mfpde.store.opening import opened, typed
from mfpde.store.provenance import history_line, provenance_of
from mfpde.store.resuming import changes
from mfpde.store.schema import Header
from mfpde.store.stored_tables import StoredTables, check_kind
from mfpde.store.transaction import Transaction, open_file
from mfpde.sweeping.axes import axes_of
from mfpde.sweeping.batches import ranges_of
from mfpde.sweeping.columns import FINISHED_MARK, ROW_COLUMNS, columns_of_rows, empty, layout_of
from mfpde.sweeping.files.sweep_datasets import (
    CHECKSUMS,
    create_datasets,
    damaged,
    point_checksums,
    times_of,
    write_flat,
)
from mfpde.sweeping.plan import Plan
from mfpde.sweeping.point import TRANSIENT, PointRow
from mfpde.sweeping.result import Sweep
from mfpde.typing import AnyArray, Float, Integers, Truths

__all__ = ["KIND", "SweepFile", "begun_file", "load_sweep", "resumed_file"]

KIND = "sweep"
_SECONDS_BETWEEN_COMMITS = 1.0  # promised
#: keys of the file that change no value of a point that is finished
_FREE_KEYS = {"sweep.timeout"}


class SweepFile:
    """Takes rows of points, and commits them at most a second later: their values first, then that they count."""

    def __init__(
        self, plan: Plan, layout: Layout, disk: Transaction, file: Any, finished: Truths, seconds: float = 0.0
    ) -> None:
        """`seconds` are those that earlier sessions took."""
        self._shape, self._layout = plan.shape, layout
        self._disk, self._file = disk, file
        self._pending: dict[int, PointRow] = {}
        self._committed = monotonic()
        self.finished = finished
        self.started = perf_counter() - seconds

    def add(self, first: int, rows: Sequence[PointRow]) -> None:
        """Rows of consecutive points."""
        self._pending.update(enumerate(rows, first))
        self.tick()

    def tick(self) -> None:
        """Commit if it is time; called at least once a second."""
        if monotonic() - self._committed >= _SECONDS_BETWEEN_COMMITS:
            self.commit()

    def commit(self) -> None:
        """Values of all points that wait, and their checksums, flush; then that they count, flush."""
        self._committed = monotonic()
        batches = list(ranges_of(sorted(self._pending)))
        if not batches:
            return
        for batch in batches:
            columns = columns_of_rows([self._pending[number] for number in batch], self._layout)
            for name, values in columns.items():
                write_flat(self._file[name], batch.start, values, self._shape)
            write_flat(self._file[CHECKSUMS], batch.start, point_checksums(batch.start, columns), self._shape)
        self._flush()
        for batch in batches:
            write_flat(self._file[FINISHED_MARK], batch.start, np.ones(len(batch), "i1"), self._shape)
        self._flush()
        self.finished.reshape(-1)[list(self._pending)] = True
        self._pending.clear()

    def values(self, name: str) -> Float:
        """What was collected under that name, of all points so far."""
        self.commit()
        found: Float = self._file[name][()]
        return found

    def finish(self, outcome: Outcome, statistics: Mapping[str, float]) -> None:
        """What is left, and how it ended."""
        self.commit()
        effort = {"timings": {"seconds": perf_counter() - self.started}, "statistics": dict(statistics)}
        schema.write_outcome(self._file, outcome, effort)
        self._flush()
        self._disk.sync()
        self.close()

    def close(self) -> None:
        """Let go; what was committed stays."""
        self._disk.close(self._file)

    def _flush(self) -> None:
        self._file.flush()
        self._disk.commit()


@register("archive", "begin-sweep")
def begun_file(path: Path, plan: Plan, *, force: bool) -> SweepFile:
    """The file of a sweep that begins."""
    layout = layout_of(plan)
    header = Header(KIND, plan.whole, layout, (), history_line(), provenance_of(plan.whole, {"points": 0.0}))
    try:
        with schema.making(path, header, force=force) as (disk, file, _):
            create_datasets(file, plan.axes, layout, plan.observed)
            file.flush()
            disk.commit()
    except OSError as error:
        raise error if isinstance(error, MfpdeError) else cannot_write(path, error) from error
    return SweepFile(plan, layout, disk, file, np.zeros(plan.shape, bool))


@register("archive", "resume-sweep")
def resumed_file(path: Path, plan: Plan) -> SweepFile:
    """The file of an earlier sweep with the points that it has; `ResumeError` where it is of another one."""
    if not path.exists():
        raise ResumeError(f"there is no {path} to resume; without --resume (resume=True) a new sweep starts")
    if not is_writable(path):
        raise ResumeError(f"cannot resume {path}: the file is read-only")
    with opened(path) as file:
        stored = _stored(path, file)
        _need_same(path, stored.problem, plan.whole)
        finished = _finished(file, plan.shape)
        stored.read_end()
        seconds = float(stored.provenance["timings"]["seconds"])
        bad = np.array(list(damaged(file, [*stored.layout.fields, *ROW_COLUMNS], finished)), dtype=np.int64)
        again = _to_retry(np.asarray(typed(file["outcome"])[()]), finished)
    if bad.size:
        logging.getLogger("mfpde").warning("%s is damaged: %d of its points are made anew", path, bad.size)
    try:
        disk = Transaction(path)
        made = open_file(disk, "r+")
        anew = np.union1d(bad, again)
        if anew.size:
            finished.reshape(-1)[anew] = False
            made[FINISHED_MARK][...] = finished  # before their values are written over
            made.flush()
            disk.commit()
    except OSError as error:
        raise cannot_write(path, error) from error
    return SweepFile(plan, stored.layout, disk, made, finished, seconds)


def _to_retry(outcomes: AnyArray, finished: Truths) -> Integers:
    """Numbers of the points that another try may bring further."""
    found = np.flatnonzero(finished & np.isin(outcomes, [kind.encode() for kind in TRANSIENT]))
    if found.size:
        counted = Counter(outcomes.reshape(-1)[found].astype(str).tolist())
        told = ", ".join(f"{count} {kind}" for kind, count in counted.items())
        logging.getLogger("mfpde").warning("points that are tried again: %s", told)
    return found


def _need_same(path: Path, before: Problem, now: Problem) -> None:
    told = changes(before, now, _FREE_KEYS)
    if told:
        raise ResumeError(f"cannot resume {path}: it is another sweep: {'; '.join(told)}")
    order = [[axis.name for axis in axes_of(one.sweep)] for one in (before, now) if one.sweep is not None]
    if order[0] != order[1]:
        raise ResumeError(f"cannot resume {path}: its axes are {', '.join(order[0])}, not {', '.join(order[1])}")


@register("archive", KIND)
def load_sweep(path: str | Path) -> Sweep:
    """A sweep with the points that were committed; values that are not what was written are a `MfpdeError`."""
    place = Path(path)
    with opened(place) as file:
        stored = _stored(place, file)
        stored.read_end()
        assert stored.problem.sweep is not None  # noqa: S101  nothing else makes such a file
        axes = axes_of(stored.problem.sweep)
        shape = tuple(map(len, axes))
        finished = _finished(file, shape)
        names = [*stored.layout.fields, *ROW_COLUMNS]
        bad = next(damaged(file, names, finished), None)
        if bad is not None:
            raise MfpdeError(f"{place} is damaged: point {bad} is not what was written; --resume makes it anew")
        columns = {name: np.asarray(typed(file[name])[()]) for name in names}
        times, outcome = times_of(file), _outcome(stored, finished)
    made = Sweep(stored.problem, axes, stored.layout, _blank(columns, finished), finished, outcome, times)
    return replace(made, provenance=stored.provenance, path=place)


def _blank(columns: dict[str, AnyArray], finished: Truths) -> dict[str, AnyArray]:
    """Without what a kill left of points that do not count."""
    for values in columns.values():
        values[~finished] = empty(values.dtype.str)
    return columns


def _outcome(stored: StoredTables, finished: Truths) -> Outcome:
    found = stored.outcome
    if found.complete or found.kind != INTERRUPTED:
        return replace(found, time=np.nan)
    left = f"{int(finished.sum())} of {finished.size} points are there"
    message = found.message if left in found.message else f"{found.message}; {left}"
    return replace(found, time=np.nan, message=message)


def _stored(path: Path, file: Any) -> StoredTables:
    check_kind(path, file, KIND)
    return StoredTables(path, file, lambda *_: ())


def _finished(file: Any, shape: Sequence[int]) -> Truths:
    found = np.asarray(typed(file[FINISHED_MARK])[()])
    if found.shape != tuple(shape):
        raise ValueError(f"{FINISHED_MARK} has the shape {found.shape}, the axes {tuple(shape)}")
    return found == 1
