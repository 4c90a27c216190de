"""Solving for what claims rest on: whole runs, or as far as they come; a signal ends the validation, not one run."""

from __future__ import annotations

from pathlib import Path

from mfpde.contracts import INTERRUPTED
from mfpde.errors import MfpdeError
from mfpde.problem import Problem
from mfpde.run import Run

__all__ = ["UnfinishedError", "solved", "solved_so_far"]


class UnfinishedError(MfpdeError):
    """A run that a claim rests on ended early."""

    def __init__(self, run: Run) -> None:
        super().__init__(str(run.outcome))
        self.run = run


def solved_so_far(problem: Problem, output: Path | None = None) -> Run:
    """The run as far as it comes; one that was interrupted is no verdict."""
    from mfpde.run_loop import solve

    run: Run = solve(problem, output)
    if run.outcome.kind == INTERRUPTED:
        raise KeyboardInterrupt
    return run


def solved(problem: Problem, output: Path | None = None) -> Run:
    """The finished run; one that ended early is `UnfinishedError`."""
    run = solved_so_far(problem, output)
    if not run.outcome.complete:
        raise UnfinishedError(run)
    return run
