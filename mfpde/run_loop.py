"""From a problem to a run: advance, observe, keep, watch, stop."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from time import perf_counter

import numpy as np

from mfpde.activity import doing
from mfpde.arguments import file_path, instance, truth
from mfpde.contracts import (
    BLOW_UP,
    FINISHED,
    INTERRUPTED,
    NOT_FINITE,
    OUTPUT_FAILED,
    RESOLUTION_LOST,
    Integration,
    Outcome,
    Progress,
    State,
)
from mfpde.errors import OutputError, ProblemError, ResumeError
from mfpde.observe.output_times import Event, events, following, time_of
from mfpde.observe.steady import at_rest
from mfpde.prepare import Prepared, layout_faults, prepare
from mfpde.problem import Problem
from mfpde.ranks import Ranks, present
from mfpde.ranks.base import Calls
from mfpde.ranks.spread import finite
from mfpde.run import Run
from mfpde.run_rows import Observing, unobserved
from mfpde.store.atomic_file import cannot_write, check_target
from mfpde.store.provenance import history_line, provenance_of
from mfpde.store.recorder import MemoryRecorder, OutputFailed, Recorder
from mfpde.store.recording_of_ranks import recorded_by_one
from mfpde.store.resuming import earlier_run, reached, resume_file
from mfpde.store.run_tables import Row, run_header
from mfpde.store.writer import FileRecorder
from mfpde.typing import Float
from mfpde.watching.watch import Show, Watch, check_progress

__all__ = ["solve"]

_SLICE_MICROSECONDS = 50_000  # of work between two looks at the clock and the signals
_OUTCOMES = {State.BLOW_UP: BLOW_UP, State.RESOLUTION_LOST: RESOLUTION_LOST, State.NOT_FINITE: NOT_FINITE}
_CONTINUE = "--resume (resume=True) continues it"


def solve(
    problem: Problem | str | Path,
    output: str | Path | None = None,
    *,
    progress: Show = False,
    resume: bool = False,
    force: bool = False,
) -> Run:
    """`d_t mu + div(mu G_mu) = (1/kappa) Lap mu` from its initial measure to `time.until`.

    problem: a `Problem`, or the path of its YAML file. output: the HDF5 file to write; without it the run stays in
    memory. progress: True shows a line on stderr, a function gets a `ProgressReport` up to ten times a second, which
    says what is being done before the first step. resume: continue the interrupted run in `output`, bit for bit; only
    `time.until` may have become later (the row at the old end stays, the steps go on from there, snapshots stay as far
    apart as they were). force: overwrite `output`.

    The solution does not depend on output, progress or the clock. How the run ended is in `run.outcome`: Ctrl-C and
    SIGTERM end it cleanly, a second one at once; before the first step the first one does, and nothing is left behind.

    Fails, before the first step: `ProblemError` for a problem that cannot be solved as written, `OutputError` for a
    file that cannot be written, `ResumeError` for one that cannot be continued.

    >>> import mfpde
    >>> run = mfpde.solve(mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "noise": {"kappa": 1},
    ...     "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta)"},
    ...     "time": {"until": 1, "save_every": 0.5},
    ... }))
    >>> run.times
    array([0. , 0.5, 1. ])
    """
    task = _task(problem, progress)
    resume, force = truth("resume", resume), truth("force", force)
    if output is not None:
        file_path("output", output, "run.h5")
    began = perf_counter()
    with Watch(0.0 if task.time is None else task.time.until, progress) as watch:
        course = _resumed(task, output, watch, force=force) if resume else _begun(task, output, watch, force=force)
        if isinstance(course, Run):
            return course
        course.recorder.started = began
        return course.run()


def _begun(problem: Problem, output: str | Path | None, watch: Watch, *, force: bool) -> _Course:
    """A run with the row of t = 0 in it."""
    doing("reading the problem")
    prepared, ranks = prepare(problem), present()
    target = None if output is None else ranks.led(lambda: check_target(output, force=force))
    if target is not None and ranks.leads:
        watch.write_status(target)
    _tell(prepared)
    integration = prepared.start()
    lacking = layout_faults(problem, integration.layout)
    if lacking:
        raise ProblemError(lacking)
    observing = Observing(prepared)
    doing("looking at the initial data")
    first = observing.row(integration, Event(integration.time, save=True, observe=True))
    recorder = recorded_by_one(
        ranks, problem, integration, lambda: _recorder(prepared, integration, first, target, force=force)
    )
    return _Course(prepared, integration, recorder, watch, observing)


def _tell(prepared: Prepared) -> None:
    """What there is to know before the first step."""
    for remark in prepared.remarks():
        logging.getLogger("mfpde").warning("%s", remark)


def _resumed(problem: Problem, output: str | Path | None, watch: Watch, *, force: bool) -> _Course | Run:
    """A run as it was left, of a problem that was found good when it began; itself when there is nothing left to do."""
    if output is None or force:
        raise ResumeError("resume needs the output to continue, and goes without force")
    doing("reading the earlier run")
    ranks, taken = present(), _Taken()
    told = ranks.led(lambda: taken.up(ranks, problem, output, watch), taken.calls)
    if isinstance(told, Run):
        return told
    problem, missed = told
    recorder = recorded_by_one(ranks, problem, taken.integration, lambda: taken.recorder)
    prepared = Prepared.of(problem)
    return _Course(prepared, taken.integration, recorder, watch, Observing(prepared, taken.integration.time, missed))


class _Taken:
    """A run that is taken up again: its integration on every rank, by what rank 0 reads of the file."""

    integration: Integration
    recorder: FileRecorder

    def up(
        self, ranks: Ranks, problem: Problem, output: str | Path, watch: Watch
    ) -> Run | tuple[Problem, dict[int, Float]]:
        """On rank 0: the run where there is nothing left to do, or the problem as it goes on, and what was
        `unobserved`."""
        earlier, place, problem, damage = earlier_run(output, problem)
        if not damage and reached(earlier, problem):
            return earlier
        watch.write_status(place)
        if time_of(problem).until > time_of(earlier.problem).until:
            _tell(Prepared.of(problem))
        missed = unobserved(earlier)  # read before the file changes

        def first(integration: Integration) -> Row:
            with ranks.called("first", problem):
                return _first_row(problem, integration)

        files = earlier, place, Prepared.of(problem), history_line(), damage
        self.integration, self.recorder = resume_file(*files, first)
        return problem, missed

    @property
    def calls(self) -> Calls:
        """What the other ranks do meanwhile."""
        return {
            "start": lambda problem: self._begin(Prepared.of(problem).start()),
            "resume": lambda problem, version: self._begin(Prepared.of(problem).resume({}, version)),
            "first": lambda problem: _first_row(problem, self.integration),
            "state": lambda: self.integration.state(),  # noqa: PLW0108 - it is there when it is called
        }

    def _begin(self, integration: Integration) -> None:
        self.integration = integration


def _first_row(problem: Problem, integration: Integration) -> Row:
    return Observing(Prepared.of(problem)).row(integration, Event(integration.time, save=True, observe=True))


def _task(problem: Problem | str | Path, progress: object) -> Problem:
    check_progress(progress)
    if isinstance(problem, Problem):
        return problem
    instance(
        "problem", problem, str | PathLike, "a Problem (Problem.from_dict makes one of a dict) or the name of its file"
    )
    return Problem.from_yaml(problem)


def _recorder(
    prepared: Prepared, integration: Integration, first: Row, target: Path | None, *, force: bool
) -> Recorder:
    """With the row of t = 0 in it."""
    problem = prepared.problem
    if target is None:
        memory = MemoryRecorder(problem, integration.layout)
        memory.add(first, integration)
        return memory
    provenance = provenance_of(problem, integration.statistics())
    header = run_header(problem, integration.layout, history_line(), provenance)
    try:
        return FileRecorder.create(target, header, first, integration, prepared.solver.state_version, force=force)
    except OutputError:
        raise
    except OSError as error:
        raise cannot_write(target, error) from error


@dataclass(frozen=True)
class _Advancing:
    """An integration, as those who watch it see it."""

    integration: Integration
    end: float
    counted: Sequence[str]
    label: str = "t ="

    @property
    def position(self) -> float:
        """Its time."""
        return self.integration.time

    def counts(self) -> dict[str, int]:
        """What its solver counts that people are told."""
        known = self.integration.counts()
        return {name: int(known[name]) for name in self.counted if name in known}


@dataclass
class _Course:
    """One run on its way."""

    prepared: Prepared
    integration: Integration
    recorder: Recorder
    watch: Watch
    observing: Observing
    message: str = ""  # what the integration said last

    def run(self) -> Run:
        """To the end, whichever it is."""
        counted = self.prepared.solver.counts
        try:
            self.watch.begin(_Advancing(self.integration, self.prepared.time.until, counted))
            outcome = self._told(self._outcome())
            with self.watch.interruption.shield():
                return self.recorder.finish(outcome, self.integration)
        except BaseException:
            self.recorder.abandon()
            raise
        finally:
            self.watch.done()

    def _told(self, outcome: Outcome) -> Outcome:
        """With what could not be measured, beside what the solver says, and whether it has kept its promise."""
        told = [outcome.message, self.prepared.choice, self.observing.message]
        message = "; ".join(filter(None, told))
        return replace(outcome, message=message, accuracy=self.integration.accuracy())

    def _outcome(self) -> Outcome:
        start, schedule = self.integration.time, events(self.prepared.time)
        try:
            outcome = None
            if any(event.time == start for event in schedule):  # a resumed run may have been about to stop here
                outcome = self._look()
            for event in following(schedule, start):
                if outcome is None:
                    outcome = self._to(event)
            if outcome is None:
                return Outcome(FINISHED, self.integration.time, self.message, residual=self._residual())
            if outcome.complete or outcome.kind == BLOW_UP:
                self._keep_end()
        except OutputFailed as error:
            return Outcome(OUTPUT_FAILED, self.recorder.last_time, str(error), f"make room; {_CONTINUE}")
        except ProblemError as error:  # what has a meaning at the start may lose it on the way: a drift that overflows
            return Outcome(NOT_FINITE, self.integration.time, "; ".join(fault.message for fault in error.faults))
        return outcome

    def _to(self, event: Event) -> Outcome | None:
        """Advance to an event and keep its row; an outcome when the run ends on the way or there."""
        while True:
            progress = self.integration.advance(event.time, _SLICE_MICROSECONDS)
            if progress.state in _OUTCOMES:
                return self._ended(progress)
            if progress.state is State.REACHED:
                self.message = progress.message
                break
            with self.watch.interruption.shield():
                self.recorder.tick(self.integration)
            self.watch.see()
            if self._asked():
                return self._interrupted()
        row = self.observing.row(self.integration, event)
        if not _finite(row):
            return Outcome(NOT_FINITE, self.integration.time, "the solution holds values that are not finite")
        with self.watch.interruption.shield():
            self.recorder.add(row, self.integration)
        outcome = self._look()
        asked = self._asked()
        if outcome is None and asked and event.time < self.prepared.time.until:
            return self._interrupted()
        return outcome

    def _asked(self) -> bool:
        """Whether any of the ranks was asked to stop."""
        return bool(present().most(int(self.watch.interruption.asked)))

    def _look(self) -> Outcome | None:
        """At a save or observe time, where a run may end because it has come to rest."""
        self.watch.see()
        return at_rest(self.integration, self.prepared.time.until, self.prepared.time.stop_when_steady)

    def _ended(self, progress: Progress) -> Outcome:
        """By itself. A blow-up comes after the last time that could be reached."""
        time = self.integration.time if progress.time is None else progress.time
        kind = _OUTCOMES[progress.state]
        return Outcome(kind, time, progress.message, progress.advice, uncertainty=progress.uncertainty)

    def _interrupted(self) -> Outcome:
        time = self.recorder.rows.saved_time
        return Outcome(INTERRUPTED, time, "stopped when asked to", _CONTINUE, residual=self._residual())

    def _keep_end(self) -> None:
        """A run that ends before its time keeps its last state, whatever the schedule says."""
        time = self.integration.time
        missing = Event(
            time, save=self.recorder.rows.saved_time < time, observe=self.recorder.rows.observed_time < time
        )
        own_times = self.prepared.time.observe_every is not None
        if missing.save or (missing.observe and own_times and self.prepared.problem.series()):
            row = self.observing.row(self.integration, missing)
            if _finite(row):
                with self.watch.interruption.shield():
                    self.recorder.add(row, self.integration)

    def _residual(self) -> float | None:
        residual = float(self.integration.residual())
        return residual if np.isfinite(residual) else None


def _finite(row: Row) -> bool:
    return bool(present().least(int(all(finite(values) for values in (row.fields or {}).values()))))
