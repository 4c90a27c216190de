"""One point of a sweep, solved in a worker: whatever happens to it is a row."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import perf_counter

import numpy as np

from mfpde.contracts import Outcome
from mfpde.errors import MfpdeError
from mfpde.problem import Problem
from mfpde.run_loop import solve
from mfpde.sweeping.collecting import reduced
from mfpde.sweeping.plan import Plan
from mfpde.typing import Float
from mfpde.watching.progress import ProgressReport
from mfpde.watching.watch import Show
from mfpde.workers.worker import ended_after

__all__ = [
    "FAILED",
    "TIMED_OUT",
    "TRANSIENT",
    "WORKER_DIED",
    "PointRow",
    "hard_limit",
    "ready",
    "run_name",
    "solve_points",
]

FAILED, TIMED_OUT, WORKER_DIED = "failed", "timed out", "worker died"  # beside the outcomes of runs
#: outcomes that another time, or another machine, may change
TRANSIENT = (TIMED_OUT, WORKER_DIED)
_CALL_SECONDS_MIN = 20.0  # beyond the timeout that one call may take: compiling does, on a busy machine


@dataclass(frozen=True)
class PointRow:
    """What became of a point: how its run ended, the estimate of its error and whether that is what was promised (None:
    unknown), how long it took, why it ended early, and its collected values, one after another; none if it failed."""

    outcome: str
    accuracy: float = np.nan
    kept: bool | None = None
    seconds: float = 0.0
    message: str = ""
    values: Float = field(default_factory=lambda: np.zeros(0))


class _TimedOutError(Exception):
    """A point has had its time."""


def ready() -> None:
    """Nothing: a worker that is asked has loaded what it needs."""


def solve_points(problem: bytes, first: int, stop: int, runs: str | None) -> list[PointRow]:
    """The points of that sweep, a pickled `Problem`, from `first` to before `stop`; with `runs` the full run of each in
    that folder."""
    plan = _plan(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # what overflows is told by the outcome, not by numpy
        return [_within_limit(plan, number, runs) for number in range(first, stop)]


def hard_limit(timeout: float) -> float:
    """Seconds after which the worker of a point is ended: a call that does not come back cannot be asked to stop."""
    return timeout + max(timeout, _CALL_SECONDS_MIN)


@lru_cache(maxsize=1)
def _plan(problem: bytes) -> Plan:
    whole = pickle.loads(problem)  # noqa: S301 - of our own parent
    assert isinstance(whole, Problem)  # noqa: S101 - for the type checker
    return Plan(whole)


def _within_limit(plan: Plan, number: int, runs: str | None) -> PointRow:
    timeout = plan.block.timeout
    with ended_after(None if timeout is None else hard_limit(timeout)):
        return _solved(plan, number, runs)


def _solved(plan: Plan, number: int, runs: str | None) -> PointRow:
    began = perf_counter()
    timeout = plan.block.timeout

    def watch(_: ProgressReport) -> None:
        if timeout is not None and perf_counter() - began > timeout:
            raise _TimedOutError

    output = None if runs is None else Path(runs) / run_name(plan, number)
    try:
        progress: Show = False if timeout is None else watch
        outcome, values = (_of_states if plan.of_states else _of_run)(plan, plan.problem(number), output, progress)
    except _TimedOutError:
        return PointRow(TIMED_OUT, seconds=perf_counter() - began, message=f"not done after {timeout:g} s")
    except MfpdeError as error:
        return PointRow(FAILED, seconds=perf_counter() - began, message=str(error))
    except Exception as error:  # noqa: BLE001 - a row like any other
        return PointRow(FAILED, seconds=perf_counter() - began, message=f"{type(error).__name__}: {error}")
    accuracy = outcome.accuracy
    estimate = np.nan if accuracy.estimate is None else accuracy.estimate
    message = "" if outcome.complete else str(outcome)
    return PointRow(outcome.kind, estimate, accuracy.kept, perf_counter() - began, message, values)


def _of_run(plan: Plan, problem: Problem, output: Path | None, progress: Show) -> tuple[Outcome, Float]:
    run = solve(problem, output, progress=progress, force=output is not None)
    assert problem.time is not None  # noqa: S101 - it was solved
    return run.outcome, reduced(plan.variables, run.series, run.series_times, problem.time.until, plan.observed)


def _of_states(plan: Plan, problem: Problem, output: Path | None, progress: Show) -> tuple[Outcome, Float]:
    from mfpde.bifurcation.bifurcating import bifurcate  # what runs do not need is not loaded for them
    from mfpde.sweeping.stationary import stationary_values

    diagram = bifurcate(problem, output, progress=progress, force=output is not None)
    return diagram.outcome, stationary_values(plan.variables, diagram)


def run_name(plan: Plan, number: int) -> str:
    """The file of a point's run: its places on the axes, `3-0.h5`."""
    return "-".join(str(int(place)) for place in np.unravel_index(number, plan.shape)) + ".h5"
