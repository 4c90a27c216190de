"""`mfpde.sweep`: the points of a problem, wherever there are workers."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from mfpde.activity import doing
from mfpde.arguments import amount, truth
from mfpde.contracts import FINISHED, INTERRUPTED, OUTPUT_FAILED, Outcome
from mfpde.errors import OutputError, ResumeError
from mfpde.problem import Problem
from mfpde.registry import lookup
from mfpde.store.atomic_file import check_target, companion, made_folder, reason
from mfpde.sweeping.batches import Batches, ranges_of
from mfpde.sweeping.checking import check_sweep
from mfpde.sweeping.cluster import Cluster, ClusterLostError
from mfpde.sweeping.columns import FINISHED_MARK, columns_of_rows, empty_columns, layout_of
from mfpde.sweeping.plan import Plan
from mfpde.sweeping.point import FAILED, TIMED_OUT, WORKER_DIED, PointRow, hard_limit
from mfpde.sweeping.refining import coarse_points, halved_cells
from mfpde.sweeping.result import Sweep
from mfpde.typing import Float, Integers, Truths
from mfpde.watching.watch import Show, Watch, check_progress
from mfpde.workers import Answer, Task, Workers, usable_processors, workers_for

__all__ = ["WORKERS_LOST", "sweep"]

WORKERS_LOST = "workers lost"  # how a sweep ends whose cluster went away

_CONTINUE = "--resume (resume=True) continues it"
_SECONDS_BETWEEN_LOOKS = 0.5  # at the clock while no answer comes: commits are at most a second late
_SOLVE, _READY = "mfpde.sweeping.point:solve_points", Task("mfpde.sweeping.point:ready", ())


class Keeper(Protocol):
    """Where rows go: a file, or memory."""

    @property
    def finished(self) -> Truths:
        """Which points are there."""

    def add(self, first: int, rows: Sequence[PointRow]) -> None:
        """Rows of consecutive points."""

    def tick(self) -> None:
        """Called every second or so."""

    def values(self, name: str) -> Float:
        """What was collected under that name, of all points so far."""

    def finish(self, outcome: Outcome, statistics: Mapping[str, float]) -> None:
        """No row comes any more."""

    def close(self) -> None:
        """Let go."""


def sweep(
    problem: Problem | str | Path,
    output: str | Path | None = None,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Show = False,
    resume: bool = False,
    force: bool = False,
) -> Sweep:
    """Every combination of the values that the block `sweep` of a problem names, and what `collect` keeps of each.

    output: the HDF5 file; without it the sweep stays in memory. workers: processes of this machine, of one thread each;
    as many as there are processors by default. scheduler: the address of a Dask cluster that does it instead.
    progress: True shows a line on stderr, a function gets a `ProgressReport`. resume: solve the points that `output`
    does not have yet; force: overwrite it, and solve more points than the limit.

    A point that fails, blows up, times out or kills its worker twice is a row with a message. Ctrl-C and SIGTERM end
    the sweep: what was solved is there. The values of a point depend neither on where nor on when it is solved.

    >>> import mfpde
    >>> found = mfpde.sweep(mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta)"},
    ...     "time": {"until": 1},
    ...     "sweep": {"noise.kappa": {"from": 1, "to": 4, "count": 3, "scale": "log"}},
    ...     "collect": ["order-parameter", {"observe": "mass", "reduce": "max"}],
    ... }), workers=1)
    >>> found.shape, found.names, str(found.outcome)
    ((3,), ('order-parameter', 'mass-max'), 'finished')
    """
    check_progress(progress)
    resume, force = truth("resume", resume), truth("force", force)
    count = usable_processors() if workers is None else amount("workers", workers, least=1)
    read = problem if isinstance(problem, Problem) else Problem.from_yaml(problem)
    if resume and (output is None or force):
        raise ResumeError("resume needs the output to continue, and goes without force")
    with Watch(0.0, progress) as watch:
        doing("checking the points")
        plan = check_sweep(read, force=force)
        if plan.keeps_runs and output is None:
            raise OutputError("keep: runs needs the output beside which they are kept")
        target = None if output is None else check_target(output, force=force or resume)
        with _workers(min(count, plan.size), scheduler) as where:
            for note in where.notes:
                logging.getLogger("mfpde").warning(note)
            if target is not None:
                watch.write_status(target)
            keeper = _keeper(plan, target, resume=resume, force=force)
            course = _Course(plan, keeper, where, watch, target)
            return course.run() if course.missing().size or plan.refinement else course.complete()


def _workers(count: int, scheduler: str | None) -> Workers:
    if scheduler is None:
        return workers_for(count)
    return Cluster(scheduler)


def _keeper(plan: Plan, target: Path | None, *, resume: bool, force: bool) -> Keeper:
    if target is None:
        return _Memory(plan)
    found: Keeper = (
        lookup("archive", "resume-sweep")(target, plan)
        if resume
        else lookup("archive", "begin-sweep")(target, plan, force=force)
    )
    return found


class _Memory:
    """Rows of a sweep without a file."""

    def __init__(self, plan: Plan) -> None:
        self.layout = layout_of(plan)
        self.columns = empty_columns(plan.shape, self.layout)
        self.outcome: Outcome | None = None
        self._points = len(plan.shape)

    @property
    def finished(self) -> Truths:
        return self.columns[FINISHED_MARK]

    def add(self, first: int, rows: Sequence[PointRow]) -> None:
        stop = first + len(rows)
        for name, values in columns_of_rows(rows, self.layout).items():
            whole = self.columns[name]
            whole.reshape(-1, *whole.shape[self._points :])[first:stop] = values
        self.finished.reshape(-1)[first:stop] = True

    def tick(self) -> None:
        """Nothing: there is no file."""

    def values(self, name: str) -> Float:
        return self.columns[name]

    def finish(self, outcome: Outcome, statistics: Mapping[str, float]) -> None:
        self.outcome = outcome

    def close(self) -> None:
        """Nothing: there is no file."""


class _Course:
    """One sweep on its way."""

    label = "point"

    def __init__(self, plan: Plan, keeper: Keeper, where: Workers, watch: Watch, target: Path | None) -> None:
        self.plan, self.keeper, self.where, self.watch, self.target = plan, keeper, where, watch, target
        self.done = int(keeper.finished.sum())
        self.early = 0
        self.expected = self.done + self.missing().size
        self.deaths: list[int] = []  # points of batches that came to nothing: each is tried once more, alone
        self.runs = self._runs_folder()

    @property
    def position(self) -> float:
        """Points that are there."""
        return self.done

    @property
    def end(self) -> float:
        """Points that will be there, as far as that is known."""
        return self.expected

    def counts(self) -> dict[str, int]:
        """Points that did not come to their end."""
        return {"ended early": self.early} if self.early else {}

    def run(self) -> Sweep:
        """To the end, or to an interrupt, or until the disk takes no more."""
        self.watch.begin(self, patient=False)
        try:
            outcome = self._outcome()
            with self.watch.interruption.shield():
                self.keeper.finish(outcome, {"points": float(self.done)})
        except BaseException:
            self.keeper.close()
            raise
        finally:
            self.watch.done()
        return self._result(outcome)

    def complete(self) -> Sweep:
        """What is there, when nothing is left to do."""
        self.keeper.close()
        return self._result(_ended(self.early))

    def _outcome(self) -> Outcome:
        try:
            self._solve_all(self.missing(), _READY)
            refinement = self.plan.refinement
            for level in range(0 if refinement is None else refinement.levels):
                values = self.keeper.values(refinement.where) if refinement is not None else np.zeros(0)
                self._solve_all(halved_cells(self.plan, values, self.keeper.finished, level), None)
        except KeyboardInterrupt:
            told = f"stopped when asked to; {self.done} of {self.expected} points are there"
            return Outcome(INTERRUPTED, np.nan, told, _CONTINUE if self.target else "")
        except ClusterLostError as error:
            return Outcome(WORKERS_LOST, np.nan, str(error), _CONTINUE if self.target else "")
        except OSError as error:
            return Outcome(OUTPUT_FAILED, np.nan, reason(error), f"make room; {_CONTINUE}")
        return _ended(self.early)

    def missing(self) -> Integers:
        """Numbers of the points that are not there yet, before any refinement."""
        wanted = coarse_points(self.plan) & ~self.keeper.finished
        return np.flatnonzero(wanted)

    def _solve_all(self, numbers: Integers, ready: Task | None) -> None:
        """In batches, and what was in batches that came to nothing each alone."""
        self.expected = self.done + numbers.size
        self._solve(numbers, ready, alone=False)
        lost, self.deaths = np.array(sorted(self.deaths), dtype=np.int64), []
        self._solve(lost, None, alone=True)

    def _solve(self, numbers: Integers, ready: Task | None, *, alone: bool) -> None:
        if not numbers.size:
            return
        before = (pickle.dumps(self.plan.whole),)
        todo = ranges_of(numbers.tolist())
        batches = Batches(_SOLVE, before, (self.runs,), todo, self.where.processes)
        batches.alone = alone
        batches.ready = ready
        for answer in self.where.awaited(batches, _SECONDS_BETWEEN_LOOKS):
            with self.watch.interruption.shield():
                if answer is None:
                    self.keeper.tick()
                else:
                    self._keep(batches, answer)
            if batches.under_way:
                self.watch.see()
            else:
                doing("the first point, which compiles what all share")

    def _keep(self, batches: Batches, answer: Answer) -> None:
        batch = batches.sent[answer.number]
        rows: list[PointRow] = answer.value or []
        if answer.error and len(batch) > 1:
            self.deaths += batch
            batches.learn(0.0, 0)
            return
        if answer.error and batch:
            rows = [self._lost(answer)]
        if batch:
            batches.learn(sum(row.seconds for row in rows), len(rows))
            self.keeper.add(batch.start, rows)
            self.done += len(rows)
            self.early += sum(bool(row.message) for row in rows)

    def _lost(self, answer: Answer) -> PointRow:
        """The row of a point whose worker did not answer."""
        timeout = self.plan.block.timeout
        if answer.late and timeout is not None:
            return PointRow(TIMED_OUT, seconds=hard_limit(timeout), message=f"one call took longer than {timeout:g} s")
        return PointRow(WORKER_DIED if answer.died else FAILED, message=answer.error)

    def _runs_folder(self) -> str | None:
        if not self.plan.keeps_runs or self.target is None:
            return None
        return os.fspath(made_folder(companion(self.target, ".runs")))

    def _result(self, outcome: Outcome) -> Sweep:
        if self.target is not None:
            found: Sweep = lookup("archive", "sweep")(self.target)
            return found
        assert isinstance(self.keeper, _Memory)  # noqa: S101 - there is no file
        columns = {name: values for name, values in self.keeper.columns.items() if name != FINISHED_MARK}
        made = Sweep(self.plan.whole, self.plan.axes, self.keeper.layout, columns, self.keeper.finished, outcome)
        return replace(made, observe_times=self.plan.observed)


def _ended(early: int) -> Outcome:
    """Of a sweep whose points are all there."""
    return Outcome(FINISHED, np.nan, f"{early} points ended early" if early else "")
