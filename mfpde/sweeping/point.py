"""One point of a sweep, solved in a worker: whatever happens to it is a row."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import perf_counter

import numpy as np

from mfpde.errors import MfpdeError
from mfpde.problem import Problem
from mfpde.run import Run
from mfpde.run_loop import solve
from mfpde.sweeping.collecting import reduced
from mfpde.sweeping.plan import Plan
from mfpde.typing import Float
from mfpde.watching.progress import ProgressReport

__all__ = ["FAILED", "TIMED_OUT", "PointRow", "ready", "run_name", "solve_points"]

FAILED, TIMED_OUT = "failed", "timed out"  # beside the outcomes of runs


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
        return [_solved(plan, number, runs) for number in range(first, stop)]


@lru_cache(maxsize=1)
def _plan(problem: bytes) -> Plan:
    whole = pickle.loads(problem)  # noqa: S301 - of our own parent
    assert isinstance(whole, Problem)  # noqa: S101 - for the type checker
    return Plan(whole)


def _solved(plan: Plan, number: int, runs: str | None) -> PointRow:
    began = perf_counter()
    timeout = plan.block.timeout

    def watch(_: ProgressReport) -> None:
        if timeout is not None and perf_counter() - began > timeout:
            raise _TimedOutError

    output = None if runs is None else Path(runs) / run_name(plan, number)
    try:
        problem = plan.problem(number)
        run = solve(problem, output, progress=False if timeout is None else watch, force=output is not None)
        values = _collected(plan, problem, run)
    except _TimedOutError:
        return PointRow(TIMED_OUT, seconds=perf_counter() - began, message=f"not done after {timeout:g} s")
    except MfpdeError as error:
        return PointRow(FAILED, seconds=perf_counter() - began, message=str(error))
    except Exception as error:  # noqa: BLE001 - a row like any other
        return PointRow(FAILED, seconds=perf_counter() - began, message=f"{type(error).__name__}: {error}")
    outcome, accuracy = run.outcome, run.outcome.accuracy
    estimate = np.nan if accuracy.estimate is None else accuracy.estimate
    message = "" if outcome.complete else str(outcome)
    return PointRow(outcome.kind, estimate, accuracy.kept, perf_counter() - began, message, values)


def _collected(plan: Plan, problem: Problem, run: Run) -> Float:
    assert problem.time is not None  # noqa: S101 - it was solved
    return reduced(plan.variables, run.series, run.series_times, problem.time.until)


def run_name(plan: Plan, number: int) -> str:
    """The file of a point's run: its places on the axes, `3-0.h5`."""
    return "-".join(str(int(place)) for place in np.unravel_index(number, plan.shape)) + ".h5"
