"""Going on where a run was interrupted."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde.errors import MfpdeError, ResumeError
from mfpde.observe.schedule import time_of
from mfpde.run import BLOW_UP, Run
from mfpde.store import schema
from mfpde.store.checkpoint import Checkpoint, read_slots, sound
from mfpde.store.checksums import Rows
from mfpde.store.opening import DAMAGE
from mfpde.store.placing import companion, is_writable, sweep
from mfpde.store.reader import Contents
from mfpde.store.recorder import Row, reason
from mfpde.store.rewriting import rewrite
from mfpde.store.salvage import salvaged
from mfpde.store.schema import Header
from mfpde.store.transaction import Transaction, open_file
from mfpde.store.writer import FileRecorder

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
    """The integration where the file's checkpoint left it, and what appends its rows.

    Rows after that, which a kill between two writes may leave, stay and are overwritten by themselves. A damaged file
    is made anew from the rows before the checkpoint; without a checkpoint the run begins again with its `first` row.
    The damaged one is kept beside it.
    """
    problem = prepared.problem
    if not is_writable(path):
        raise ResumeError(f"cannot resume {path}: the file is read-only")
    try:
        disk = Transaction(path)
    except OSError as error:
        raise ResumeError(f"cannot resume {path}: {reason(error)}") from None
    file = None
    try:
        file = open_file(disk, "r+")
        slot, checkpoint = _latest(file, run, problem)
        header = Header(problem, run.layout, str(file.attrs["history"]), run.provenance)
        if checkpoint is None or damage:
            header = replace(header, history=f"{header.history}\n{history}: {_told(path, damage, checkpoint)}")
            _keep_aside(path)
        if checkpoint is None:
            integration = prepared.start()
            header = replace(header, layout=integration.layout)
            begun = FileRecorder.create(path, header, first(integration), integration, force=True)
            disk.close(file)
            return integration, begun
        trail = {name: file[name][: checkpoint.steps] for name in run.layout.trail}
        integration = prepared.resume({**checkpoint.state, **trail})
        rows = Rows(checkpoint.snapshots, checkpoint.observations, checkpoint.steps)
        old = Contents(path, file)
        rewritten = bool(damage) or problem != run.problem or old.columns is None or not sound(file["checkpoint"])
        if rewritten:
            if problem != run.problem:
                header = replace(header, history=f"{header.history}\n{history}")
            old_disk, old_file = disk, file
            disk, file = rewrite(path, old, header, rows)
            old_disk.close(old_file)
        schema.mark_running(file, run.provenance)
        file.flush()
        disk.commit()
    except BaseException as error:
        disk.close(file)
        if isinstance(error, DAMAGE):
            raise ResumeError(f"cannot resume {path}: {error}") from error
        raise
    recorder = FileRecorder.continue_file(path, header, disk, file, rows, slot, run, rewritten=rewritten)
    return integration, recorder


def _latest(file: Any, run: Run, problem: Problem) -> tuple[str, Checkpoint | None]:
    """The whole slot that is furthest on, but not ahead of what was committed or of the end."""
    steps = max((len(values) for values in run.trail.values()), default=0)
    fitting = {
        name: slot
        for name, slot in read_slots(file["checkpoint"]).items()
        if slot.snapshots <= run.times.size
        and slot.observations <= run.series_times.size
        and slot.steps <= steps
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
