"""Going on where a run was interrupted."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.contracts import BLOW_UP
from mfpde.errors import MfpdeError, ResumeError, shown
from mfpde.observe.output_times import time_of
from mfpde.ranks import present
from mfpde.run import Run
from mfpde.solvers.auto import Auto
from mfpde.store.atomic_file import companion, is_writable, reason, sweep
from mfpde.store.checkpoint import Checkpoint
from mfpde.store.opening import DAMAGE, first_line, opened
from mfpde.store.reader import run_in, stored_run
from mfpde.store.result_file import ResultFile
from mfpde.store.run_tables import OBSERVATIONS, SNAPSHOTS, STEPS, Row, run_header
from mfpde.store.stored_tables import StoredTables
from mfpde.store.transaction import Transaction, open_file
from mfpde.store.writer import FileRecorder
from mfpde.typing import AnyArray

if TYPE_CHECKING:
    from mfpde.contracts import Integration
    from mfpde.prepare import Prepared
    from mfpde.problem import Problem

__all__ = ["changed_keys", "changes", "earlier_run", "reached", "resume_file"]

#: keys that do not change what has been computed so far
_FREE = {"time.until"}


def earlier_run(path: str | Path, problem: Problem) -> tuple[Run, Path, Problem, str]:
    """The run to continue, where it is, the problem as it goes on there, and what of the file is damaged: the run has
    the rows before that. A `ResumeError` when there is none, or it is of another problem."""
    try:
        target = Path(os.path.realpath(path))
        if not target.exists():
            raise ResumeError(f"there is no {path} to resume; without --resume (resume=True) a new run starts")
        run, damage = _salvaged(target)
    except ResumeError:
        raise
    except (MfpdeError, OSError, ValueError) as error:
        raise ResumeError(f"cannot resume: {error}") from None
    before = run.problem
    problem = _as_chosen(problem, before)
    if _keeps_spacing(problem, before):
        spacing = time_of(before).spacing
        problem, before = _spaced(problem, spacing), _spaced(before, spacing)
    changed = changed_keys(before, problem)
    if changed:
        raise ResumeError(
            f"cannot resume {path}: it holds another problem, different in {', '.join(changed)}; "
            "only time.until may change, to a later time"
        )
    if time_of(problem).until < time_of(run.problem).until:
        raise ResumeError(
            f"cannot resume {path}: it runs to t = {time_of(run.problem).until:g}, and time.until may only become "
            f"later, not {time_of(problem).until:g}"
        )
    sweep(target)
    return run, target, problem, damage


def _as_chosen(problem: Problem, before: Problem) -> Problem:
    """With the solver that was taken when the run began, where the choice is left to mfpde."""
    auto, taken = problem.solver or Auto(), before.solver
    if not isinstance(auto, Auto) or taken is None or isinstance(taken, Auto):
        return problem
    same = auto.tolerance in (None, taken.model_dump().get("tolerance"))
    return problem.model_copy(update={"solver": taken}) if same else problem


def _salvaged(path: Path) -> tuple[Run, str]:
    """The run before its first damaged row, and what is damaged."""
    with opened(path) as file:
        stored = stored_run(path, file)
        found = stored.read_sound()
        return run_in(stored), "; ".join(found)


def _keeps_spacing(problem: Problem, before: Problem) -> bool:
    """Whether snapshots are to stay as far apart as they were: where that is left to mfpde it is a share of the run,
    which would be more when the end is a later one."""
    time, earlier = time_of(problem), time_of(before)
    return time.default_spacing and earlier.save and earlier.save_at is None and earlier != time


def _spaced(problem: Problem, spacing: float) -> Problem:
    """With the spacing of its snapshots written down."""
    return problem.model_copy(update={"time": time_of(problem).model_copy(update={"save_every": spacing})})


def reached(run: Run, problem: Problem) -> bool:
    """True when there is nothing left to compute."""
    until = time_of(problem).until
    ended = run.outcome.complete and until <= time_of(run.problem).until
    return float(run.times[-1]) >= until or ended or run.outcome.kind == BLOW_UP


def changed_keys(before: Problem, after: Problem, free: Collection[str] = _FREE) -> list[str]:
    """Keys in which two problems differ, dotted, apart from those that are free to change."""
    return [key for key, _, _ in _differences(before, after, free)]


def changes(before: Problem, after: Problem, free: Collection[str]) -> list[str]:
    """The same in words, with the values of both."""
    told = _differences(before, after, free)
    return [f"{key} was {_shown(old)} and is {_shown(new)}" for key, old, new in told]


def _shown(value: Any) -> str:
    return "absent" if value is None else shown(value)


def _differences(before: Problem, after: Problem, free: Collection[str]) -> list[tuple[str, Any, Any]]:
    old, new = dict(_flat(before.canonical())), dict(_flat(after.canonical()))
    keys = sorted(key for key in old.keys() | new.keys() if key not in free and old.get(key) != new.get(key))
    return [(key, old.get(key), new.get(key)) for key in keys]


def _flat(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _flat(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, data


def resume_file(
    run: Run, path: Path, prepared: Prepared, history: str, damage: str, first: Callable[[Integration], Row]
) -> tuple[Integration, FileRecorder]:
    """The integration where the file's checkpoint left it, and what appends its rows, to a file made anew.

    HDF5 may fall over when it writes into a file of which it has not noticed that it is damaged. So the old one is only
    read, and what is copied is held against its checksums: rows after the checkpoint, too, which are overwritten by
    themselves. Of a damaged file, or with a later end, only the rows before the checkpoint are; without a checkpoint
    the run begins again with its `first` row. The damaged one is kept beside it.
    """
    if not is_writable(path):
        raise ResumeError(f"cannot resume {path}: the file is read-only")
    problem, version = prepared.problem, prepared.solver.state_version
    with _reading(path, run) as old:
        with _told_why(path):
            slot, checkpoint = old.latest(time_of(problem).until)
            steps = 0 if checkpoint is None else checkpoint.counts[STEPS]
            trail = {name: old.rows(name, 0, steps) for name in run.layout.trail}
        integration = _integration(path, prepared, checkpoint, trail)
        told = _history(old)
        if checkpoint is None or damage:
            told = f"{told}\n{history}: {_told(path, damage, checkpoint)}"
        elif problem != run.problem:
            told = f"{told}\n{history}"
        if checkpoint is None:
            header, row = run_header(problem, integration.layout, told, run.provenance), first(integration)
            with _told_why(path):
                _keep_aside(path)
                return integration, FileRecorder.create(path, header, row, integration, version, force=True)
        header = run_header(problem, run.layout, told, run.provenance)
        found = checkpoint.counts if damage or problem != run.problem else old.counts
        with _told_why(path):
            if damage:
                _keep_aside(path)
            result = ResultFile.continued(path, old, header, (slot, checkpoint), found)
    return integration, FileRecorder.continue_file(path, result, version, run)


def _integration(
    path: Path, prepared: Prepared, checkpoint: Checkpoint | None, trail: Mapping[str, AnyArray]
) -> Integration:
    try:
        if checkpoint is None:
            return prepared.start()
        state = {**checkpoint.state, **trail}
        if present().size == 1:  # rank 0 hands it out in pieces
            state = {name: np.asarray(array) for name, array in state.items()}
        return prepared.resume(state, checkpoint.version)
    except ResumeError as error:
        raise ResumeError(f"cannot resume {path}: {error}") from error


@contextmanager
def _reading(path: Path, run: Run) -> Iterator[StoredTables]:
    """The file with the rows that the run has; nobody else may write it meanwhile, nor do we."""
    with _told_why(path):
        disk = Transaction(path)
    file = None
    try:
        with _told_why(path):
            file = open_file(disk, "r")
            stored = stored_run(path, file)
            steps = max((len(values) for values in run.trail.values()), default=0)
            stored.scales = {SNAPSHOTS: run.times, OBSERVATIONS: run.series_times, STEPS: np.arange(float(steps))}
        yield stored
    finally:
        with suppress(*DAMAGE):
            disk.close(file)


@contextmanager
def _told_why(path: Path) -> Iterator[None]:
    """What goes wrong with a file, as a `ResumeError`."""
    try:
        yield
    except ResumeError:
        raise
    except MfpdeError as error:
        raise ResumeError(f"cannot resume: {error}") from error
    except DAMAGE as error:
        why = reason(error) if isinstance(error, OSError) and error.errno else first_line(error)
        raise ResumeError(f"cannot resume {path}: {why}") from error


def _history(old: StoredTables) -> str:
    """What is said of how the file came about; nothing where that cannot be read: no number hangs on it."""
    try:
        return str(old.file.attrs["history"])
    except DAMAGE:
        return "unreadable"


def _told(path: Path, damage: str, checkpoint: Checkpoint | None) -> str:
    """What is made anew, and why; whoever listens to the log is told, too."""
    why = damage or f"{path} holds no whole checkpoint"
    since = 0.0 if checkpoint is None else checkpoint.time
    told = f"{why}; everything after t = {since:g} is made anew, the damaged file is kept as {_aside(path)}"
    logging.getLogger("mfpde").warning("%s", told)
    return told


def _aside(path: Path) -> Path:
    return companion(path, ".damaged.h5")


def _keep_aside(path: Path) -> None:
    """Before another file takes its place."""
    aside = _aside(path)
    aside.unlink(missing_ok=True)
    try:
        os.link(path, aside)
    except OSError:  # a file system without hard links
        shutil.copyfile(path, aside)
