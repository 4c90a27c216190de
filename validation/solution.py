"""What theory says of every solution, checked on the solution of any problem (physics sections 1, 3, 4 and 9)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfpde.errors import ProblemError
from mfpde.prepare import chosen_solver, faults
from mfpde.problem import Problem
from mfpde.registry import lookup
from mfpde.run import BLOW_UP, INTERRUPTED, Run
from mfpde.validation import bounds, closed_forms, conservation, descent
from mfpde.validation.case import UnfinishedError, finished, merged, solved
from mfpde.validation.examined import Examined, can_observe
from mfpde.validation.report import Check, Drawing, Report

__all__ = ["examine_solution"]

_TITLE = "what theory says of every solution"
#: besides the last, where the solution descends no free energy
_TIMES_CHECKED = 20
#: what the checks look at where it can be observed
_OBSERVED = ("mass", "minimum", "support-radius", "energy")
#: relative distance from a blow-up at which a run has followed it
_POLE_DISTANCE = 1e-2
#: on the tolerance of the second solution
_LOOSER_FACTOR = 10.0
_MAX_TOLERANCE = 1e-2  # of the second solution
#: what solvers show whose tolerance governs all of the error; cells that are given leave errors of their own
_GOVERNED = ("gaussian", "characteristics")


def examine_solution(problem: Problem, title: str, *, quick: bool = False) -> Report:
    """Solve a problem and check what theory says of its solution, up to where the run came.

    Which claims there are to check depends on the equation, the solver and how the run ended; each says nothing where
    it has no meaning.
    """
    found = faults(problem)
    if found:
        raise ProblemError(found)
    flow = descent.descends(problem)
    run, panels = descent.resolved(problem, _solved, quick) if flow else (_solved(_observed(problem)), None)
    examined = Examined(run, chosen_solver(problem))
    checks = [_end(run), *conservation.checks(examined), *bounds.checks(examined), *closed_forms.checks(examined)]
    if panels is not None:
        checks += descent.checks(examined, panels)
    checks += [] if quick else _second_solution(examined)
    return Report(title, _TITLE, tuple(checks), _drawing(run))


def _solved(problem: Problem) -> Run:
    """The run as far as it comes."""
    try:
        run: Run = solved(problem)
    except UnfinishedError as error:
        run = error.run
    if run.outcome.kind == INTERRUPTED:
        raise KeyboardInterrupt
    return run


def _observed(problem: Problem) -> Problem:
    """The same equation and solver, observed as the checks need it."""
    names = [name for name in _OBSERVED if can_observe(problem, name)]
    data = problem.canonical()
    until = data["time"]["until"]
    times = np.linspace(0.0, until, _TIMES_CHECKED + 1).tolist()
    return Problem.from_dict({**merged(data, {"observe": names}), "time": {"until": until, "save_at": times}})


def _end(run: Run) -> Check:
    """That the run came to its end: until it was told to, or a blow-up, which some equations have."""
    outcome, last, pole = run.outcome, float(run.times[-1]), run.outcome.time
    if outcome.complete:
        return finished(run)
    reach = f"all else is checked up to t = {last:.6g}"
    if outcome.kind != BLOW_UP:
        return replace(finished(run), claim=f"the run comes to its end, but: {outcome.message}; {reach}")
    claim = f"the run follows the solution to its blow-up; {reach}"
    return Check.at_least(claim, "outcome of the run", bound=pole, measured=last, tolerance=_POLE_DISTANCE * abs(pole))


def _second_solution(examined: Examined) -> list[Check]:
    """The same problem solved with a looser tolerance: what the tolerance promises shows in the difference."""
    run, solver = examined.run, examined.solver
    tolerance = getattr(solver, "tolerance", None)
    if tolerance is None or solver.shows not in _GOVERNED or not run.outcome.complete:
        return []
    looser = min(_LOOSER_FACTOR * float(tolerance), _MAX_TOLERANCE)
    data = run.problem.canonical()
    data["solver"] = {**solver.canonical(), "tolerance": looser}
    data["time"] = {"until": data["time"]["until"], "save": False}
    other = _solved(Problem.from_dict({**data, "observe": []}))
    apart = _apart(run, other) if other.outcome.complete else np.inf
    claim = f"mean and covariance at the end are those found with tolerance {looser:g}, relative to the tokens' size"
    allowed = examined.promise * (1 + looser / float(tolerance))
    return [Check.equal(claim, "physics section 1", expected=0.0, measured=apart, tolerance=allowed)]


def _apart(run: Run, other: Run) -> float:
    first, second = run.measure(-1), other.measure(-1)
    size = float(np.trace(first.covariance) + first.mean @ first.mean) or 1.0
    means = float(np.linalg.norm(first.mean - second.mean)) / np.sqrt(size)
    return max(means, float(np.linalg.norm(first.covariance - second.covariance, 2)) / size)


def _drawing(run: Run) -> Drawing:
    def draw(figure: object) -> None:
        lookup("view", "snapshots")(run, figure)

    return draw
