"""Going on where a run was interrupted."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde.errors import MfpdeError, ResumeError
from mfpde.observe.output_times import time_of
from mfpde.run import BLOW_UP, Run
from mfpde.store.atomic_file import companion, is_writable, sweep
from mfpde.store.checkpoint import Checkpoint, read_slots
from mfpde.store.checksums import Rows
from mfpde.store.opening import DAMAGE, first_line
from mfpde.store.reader import Contents
from mfpde.store.recorder import Row, reason
from mfpde.store.rewriting import rewrite
from mfpde.store.salvage import salvaged
from mfpde.store.schema import Header
from mfpde.store.transaction import Transaction, open_file
from mfpde.store.writer import FileRecorder
from mfpde.typing import AnyArray

if TYPE_CHECKING:
    from mfpde.contracts import Integration
    from mfpde.prepare import Prepared
    from mfpde.problem import Problem

__all__ = ["changed_keys", "earlier_run", "reached", "resume_file"]

#: keys that do not change what has been computed so far
_FREE = {"time.until"}


def earlier_run(path: str | Path, problem: Problem) -> tuple[Run, Path, Problem, str]:
    """The run to continue, where it is, the problem as it goes on there, and what of the file is damaged: the run has
    the rows before that. A `ResumeError` when there is none, or it is of another problem."""
    try:
        target = Path(os.path.realpath(path))
        if not target.exists():
            raise ResumeError(f"there is no {path} to resume; without --resume (resume=True) a new run starts")
        run, damage = salvaged(target)
    except ResumeError:
        raise
    except (MfpdeError, OSError, ValueError) as error:
        raise ResumeError(f"cannot resume: {error}") from None
    before = run.problem
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


def changed_keys(before: Problem, after: Problem) -> list[str]:
    """Keys in which two problems differ, dotted, apart from those that a resumed run may change."""
    old, new = dict(_flat(before.canonical())), dict(_flat(after.canonical()))
    return sorted(key for key in old.keys() | new.keys() if key not in _FREE and old.get(key) != new.get(key))


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
    problem = prepared.problem
    with _reading(path) as old:
        with _told_why(path):
            slot, checkpoint = _latest(old.file, run, problem)
            header = Header(problem, run.layout, _history(old), run.provenance)
            state = None if checkpoint is None else _state(old, run, checkpoint)
        integration = _integration(path, prepared, state)
        if checkpoint is None or damage:
            header = replace(header, history=f"{header.history}\n{history}: {_told(path, damage, checkpoint)}")
        elif problem != run.problem:
            header = replace(header, history=f"{header.history}\n{history}")
        if checkpoint is None:
            header, row = replace(header, layout=integration.layout), first(integration)
            with _told_why(path):
                _keep_aside(path)
                return integration, FileRecorder.create(path, header, row, integration, force=True)
        rows = Rows(checkpoint.snapshots, checkpoint.observations, checkpoint.steps)
        kept = rows if damage or problem != run.problem else _counted(run)
        with _told_why(path):
            if damage:
                _keep_aside(path)
            disk, file = rewrite(path, old, header, kept)
    return integration, FileRecorder.continue_file(path, header, disk, file, rows, kept, slot, run)


def _state(old: Contents, run: Run, checkpoint: Checkpoint) -> Mapping[str, AnyArray]:
    """What the solver goes on from."""
    return {**checkpoint.state, **{name: old.rows(name, 0, checkpoint.steps) for name in run.layout.trail}}


def _integration(path: Path, prepared: Prepared, state: Mapping[str, AnyArray] | None) -> Integration:
    try:
        return prepared.start() if state is None else prepared.resume(state)
    except ResumeError as error:
        raise ResumeError(f"cannot resume {path}: {error}") from error


@contextmanager
def _reading(path: Path) -> Iterator[Contents]:
    """The file, which nobody else may write meanwhile, nor do we."""
    with _told_why(path):
        disk = Transaction(path)
    file = None
    try:
        with _told_why(path):
            file = open_file(disk, "r")
            contents = Contents(path, file)
        yield contents
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


def _history(old: Contents) -> str:
    """What is said of how the file came about; nothing where that cannot be read: no number hangs on it."""
    try:
        return str(old.file.attrs["history"])
    except DAMAGE:
        return "unreadable"


def _counted(run: Run) -> Rows:
    """All that the run has."""
    steps = max((len(values) for values in run.trail.values()), default=0)
    return Rows(run.times.size, run.series_times.size, steps)


def _latest(file: Any, run: Run, problem: Problem) -> tuple[str, Checkpoint | None]:
    """The whole slot that is furthest on, but not ahead of what was committed or of the end."""
    rows = _counted(run)
    fitting = {
        name: slot
        for name, slot in read_slots(file["checkpoint"]).items()
        if slot.snapshots <= rows.snapshots
        and slot.observations <= rows.observations
        and slot.steps <= rows.steps
        and slot.time <= time_of(problem).until
    }
    if not fitting:
        return "0", None
    name = max(fitting, key=lambda one: (fitting[one].time, fitting[one].snapshots))
    return name, fitting[name]


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
