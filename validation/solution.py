"""What theory says of every solution, checked on the solution of any problem (physics sections 1, 3, 4 and 9)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mfpde.contracts import BLOW_UP
from mfpde.prepare import chosen_solver
from mfpde.problem import Problem
from mfpde.registry import lookup
from mfpde.run import Run
from mfpde.validation import bounds, closed_forms, conservation, descent, symmetry, weak_form
from mfpde.validation.case import finished, merged
from mfpde.validation.examined import Examined, can_observe
from mfpde.validation.report import Check, Drawing, Report
from mfpde.validation.second import Apart, none_foreseen, second_method
from mfpde.validation.solving import solved_so_far

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

__all__ = ["examine_solution"]

_HEIGHT_INCHES, _HEIGHT_OF_SECOND_INCHES = 4.5, 2.5  # of the figures of the solution, and of the second method
#: where a second method was foreseen: it cannot begin, or tokens are too many
_NOT_FOLLOWED = "no second method can follow this solution"
_TITLE = "what theory says of every solution"
#: besides the last, where the solution descends no free energy
_TIMES_CHECKED = 20
#: what the checks look at where it can be observed
_OBSERVED = ("mass", "minimum", "support-radius", "energy")
#: relative distance from a blow-up at which a run has followed it
_POLE_DISTANCE = 1e-2


def examine_solution(problem: Problem, title: str, *, quick: bool = False) -> Report:
    """Solve a problem and check what theory says of its solution, up to where the run came.

    Which claims there are to check depends on the equation, the solver and how the run ended; each says nothing where
    it has no meaning.
    """
    flow = descent.descends(problem)
    windows = weak_form.Windows.of(problem, quick=quick)
    also = [] if windows is None else windows.times()
    if flow:
        run, panels = descent.resolved(problem, solved_so_far, quick, also)
    else:
        run, panels = solved_so_far(_observed(problem, also)), None
    examined = Examined(run, chosen_solver(problem))
    checks = [_end(run), *weak_form.checks(examined, windows), *conservation.checks(examined)]
    checks += [*symmetry.checks(examined), *bounds.checks(examined), *closed_forms.checks(examined)]
    if panels is not None:
        checks += descent.checks(examined, panels)
    apart = second_method(examined, quick=quick)
    checks += [] if apart is None else [apart.check()]
    height = _HEIGHT_INCHES + (0 if apart is None else _HEIGHT_OF_SECOND_INCHES)
    alone = none_foreseen(problem, examined.solver) or _NOT_FOLLOWED
    notes = () if apart is not None else (alone,)
    drawing = _drawing(run, apart)
    return Report(title, _TITLE, tuple(checks), drawing, height, own_notes=notes, own_second=apart)


def _observed(problem: Problem, also: list[float]) -> Problem:
    """The same equation and solver, observed as the checks need it, `also` at those times."""
    names = [name for name in _OBSERVED if can_observe(problem, name)]
    data = problem.canonical()
    until = data["time"]["until"]
    times = sorted({*np.linspace(0.0, until, _TIMES_CHECKED + 1).tolist(), *also})
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


def _drawing(run: Run, apart: Apart | None) -> Drawing:
    """The solution, and below it how far a second method is from it."""

    def draw(figure: FigureBase) -> None:
        if apart is None:
            lookup("view", "snapshots")(run, figure)
            return
        above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[_HEIGHT_INCHES, _HEIGHT_OF_SECOND_INCHES])[
            :, 0
        ]
        lookup("view", "snapshots")(run, above)
        apart.draw(below)

    return draw
