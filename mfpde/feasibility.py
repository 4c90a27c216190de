"""Can this problem be solved as it is written? Asked before anything runs, and every reason why not at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np

from mfpde.errors import Fault, ProblemError
from mfpde.geometry import Layout
from mfpde.observe.base import Observable
from mfpde.problem import Problem
from mfpde.schedule import at_time
from mfpde.solvers.auto import Auto, fitting
from mfpde.solvers.base import Solver
from mfpde.store.recorder import comparison, observables

__all__ = ["chosen_solver", "faults", "layout_faults"]

_NEEDED = {"initial": "where it starts", "time": "until when, e.g. time: {until: 10}"}


def faults(problem: Problem) -> list[Fault]:
    """Everything that keeps the problem from being solved; empty when it can be.

    Blocks that are absent, a solver or observables that do not fit the equation, an initial measure that does not fit
    the geometry.
    """
    absent = [
        Fault((block,), f"is missing: solving needs to know {why}")
        for block, why in _NEEDED.items()
        if getattr(problem, block) is None
    ]
    found = [*absent, *_initial_faults(problem)]
    law = _law_faults(problem)  # a matrix of the wrong shape would stop the solver and every observable alike
    found += law or [*_solver_faults(problem), *_observable_faults(problem), *_comparison_faults(problem)]
    return list(dict.fromkeys(found))


def chosen_solver(problem: Problem) -> Solver:
    """The problem's solver; without one, or with `kind: auto`, the best that fits the equation."""
    solver = problem.solver or Auto()
    if isinstance(solver, Auto):
        return solver.choose(problem.equation)
    return cast("Solver", solver)


def _initial_faults(problem: Problem) -> list[Fault]:
    initial = problem.initial
    if initial is None:
        return []
    with np.errstate(all="ignore"):
        return _collected(problem.initial_measure, "initial")


def _law_faults(problem: Problem) -> list[Fault]:
    assembled = [] if problem.attention is None else problem.attention.faults(("attention",))
    return _collected(lambda: problem.velocity.check(problem.geometry), "") + assembled


def _solver_faults(problem: Problem) -> list[Fault]:
    def check() -> None:
        solver = chosen_solver(problem)
        reason = solver.unfit(problem.equation)
        if reason is not None:
            raise ProblemError([Fault(("solver",), f"{_kind(solver)} cannot solve this: {reason}; {_others(problem)}")])

    return _collected(check, "")


def _others(problem: Problem) -> str:
    able = [_kind(solver) for solver in fitting(problem.equation)]
    return f"solvers that can: {', '.join(able)}" if able else "no solver can, so far"


def _observable_faults(problem: Problem) -> list[Fault]:
    try:
        solver = chosen_solver(problem)
    except ProblemError:  # told elsewhere
        solver = None
    found: list[Fault] = []
    for index, observable in enumerate(observables(problem)):
        found += _collected(partial(_check_observable, problem, solver, index, observable), "")
    return found + _double_series(problem)


def _check_observable(problem: Problem, solver: Solver | None, index: int, observable: Observable) -> None:
    equation = at_time(problem.equation, 0.0)
    reason = observable.unfit(equation)
    if reason is None and solver is not None:
        reason = observable.unfit_solver(solver, equation)
    if reason is not None:
        raise ProblemError([Fault(("observe", index), f"{_kind(observable)} cannot be observed here: {reason}")])


def layout_faults(problem: Problem, layout: Layout) -> list[Fault]:
    """What the snapshots of the run about to start lack that an observable needs."""
    return [
        Fault(("observe", index), f"{_kind(observable)} cannot be observed here: snapshots have no {observable.needs}")
        for index, observable in enumerate(observables(problem))
        if observable.needs is not None and observable.needs not in layout.fields
    ]


def _comparison_faults(problem: Problem) -> list[Fault]:
    compared = comparison(problem)
    if compared is None or problem.initial is None:
        return []
    try:
        reason = compared.unfit(problem, chosen_solver(problem))
    except ProblemError:  # told elsewhere
        return []
    message = f"{_kind(compared)} cannot be compared with: {reason}"
    return [] if reason is None else [Fault(("compare",), message)]


def _double_series(problem: Problem) -> list[Fault]:
    """Two observables must not write series of one name."""
    found = []
    owners: dict[str, int] = {}
    for index, observable in enumerate(observables(problem)):
        for name in observable.series(problem.geometry):
            if name in owners:
                message = f"gives the series {name!r}, and so does entry {owners[name]}"
                found.append(Fault(("observe", index), message))
                break
            owners[name] = index
    return found


def _collected(action: Callable[[], object], block: str) -> list[Fault]:
    """The faults an action raises, each under the block it is about."""
    try:
        action()
    except ProblemError as error:
        inside = [not block or fault.path[:1] == (block,) for fault in error.faults]
        return [
            fault if there else Fault((block, *fault.path), fault.message)
            for fault, there in zip(error.faults, inside, strict=True)
        ]
    return []


def _kind(specification: Any) -> str:
    return str(specification.kind)
