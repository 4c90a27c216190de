"""Before the first step: a problem, its solver and its initial measure, made once, and every reason why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from mfpde.coefficients import at_time
from mfpde.contracts import Integration, Observable, Solver
from mfpde.equation import Equation, InitialValueProblem
from mfpde.errors import Fault, MfpdeError, ProblemError, ResumeError
from mfpde.geometry import Layout
from mfpde.observe.output_times import time_of
from mfpde.problem import Problem, Time
from mfpde.ranks import present
from mfpde.solvers.auto import Auto, fitting
from mfpde.specification import Specification
from mfpde.typing import AnyArray

__all__ = ["Prepared", "chosen_solver", "citations_of", "faults", "layout_faults", "prepare", "solver_told"]

_Found = TypeVar("_Found")
_ANOTHER_WAY = "start again, or from its last snapshot with initial: {kind: snapshot}"
_UNKNOWN_VERSION = (
    f"its checkpoint was written by an earlier version of mfpde, which this one cannot continue; {_ANOTHER_WAY}"
)
_OWN_PAPER = "mfpde"  # in references.bib
_NEEDED = {"initial": "where it starts", "time": "until when, e.g. time: {until: 10}"}


@dataclass(frozen=True)
class Prepared:
    """A problem with the solver that will solve it and the initial-value problem that it is for that solver."""

    problem: Problem
    solver: Solver
    task: InitialValueProblem
    choice: str = ""  # why `auto` took this solver, where another one would have ended early

    @classmethod
    def of(cls, problem: Problem) -> Prepared:
        """Without asking whether it can be solved: that of a run which was."""
        return cls(problem, chosen_solver(problem), problem.posed())

    @property
    def time(self) -> Time:
        """When to save and observe, and when to end."""
        return time_of(self.problem)

    def remarks(self) -> tuple[str, ...]:
        """What the solver has to say before the first step, a sentence each."""
        return self._blamed(lambda: self.solver.remarks(self.task))

    def check_scales(self) -> None:
        """Fail where numbers of the initial data, or of how they move at first, overflow for the solver."""
        with np.errstate(all="ignore"):
            self._blamed(lambda: self.solver.check_scales(self.task))

    def start(self) -> Integration:
        """The integration at t = 0; what is wrong is about a block of the problem, whoever notices it."""
        with present().called("start", self.problem):
            return self._blamed(lambda: self.solver.start(self.task))

    def resume(self, state: Mapping[str, AnyArray], version: int = 0) -> Integration:
        """The integration that had this state; a `ResumeError` where its version is not that of the solver.

        States of version 0 are those of releases that did not say: they are continued if they can be.
        """
        if version not in (0, self.solver.state_version):
            raise ResumeError(
                f"its checkpoint holds a state of version {version} of the {self.solver.kind} solver, and this mfpde "
                f"continues version {self.solver.state_version}; {_ANOTHER_WAY}"
            )
        try:
            with present().called("resume", self.problem, version):
                return self._blamed(lambda: self.solver.resume(self.task, state))
        except (LookupError, TypeError, ValueError) as error:
            if version or isinstance(error, MfpdeError):
                raise
            raise ResumeError(_UNKNOWN_VERSION) from error

    def _blamed(self, action: Callable[[], _Found]) -> _Found:
        try:
            return action()
        except ProblemError as error:
            raise ProblemError(_of_block(self.solver, fault) for fault in error.faults) from error


def prepare(problem: Problem) -> Prepared:
    """The problem, ready to be solved; a `ProblemError` with every fault when it cannot be."""
    prepared, found = _looked_at(problem)
    if prepared is None or found:
        raise ProblemError(found)
    prepared.check_scales()
    return _to_the_end(prepared)


def _to_the_end(prepared: Prepared) -> Prepared:
    """With a solver that does not end early, where the choice is left to mfpde and there is one that shows all that is
    asked for. It is then the problem's own: whoever resumes the run, or reads it, makes no choice again."""
    problem, auto = prepared.problem, prepared.problem.solver or Auto()
    beyond = auto.beyond(prepared.task, prepared.solver) if isinstance(auto, Auto) else None
    if beyond is None:
        return prepared
    solver, choice = beyond
    if _unknown_clock(problem, solver) or _observable_faults(problem, solver) or _comparison_faults(problem, solver):
        return prepared
    return Prepared(problem.model_copy(update={"solver": solver}), solver, prepared.task, choice)


def faults(problem: Problem) -> list[Fault]:
    """Everything that keeps the problem from being solved; empty when it can be.

    Blocks that are absent, a solver or observables that do not fit the equation, an initial measure that does not fit
    the geometry.
    """
    return _looked_at(problem)[1]


def chosen_solver(problem: Problem) -> Solver:
    """The problem's solver; without one, or with `kind: auto`, the best that fits the equation."""
    solver = problem.solver or Auto()
    return solver.choose(problem.equation) if isinstance(solver, Auto) else solver


def solver_told(problem: Problem) -> str:
    """The kind of the problem's solver; where `auto` chose it, also from which."""
    taken = chosen_solver(problem).kind
    if problem.solver is not None and not isinstance(problem.solver, Auto):
        return taken
    return f"{taken}, preferred by auto among {', '.join(solver.kind for solver in fitting(problem.equation))}"


def citations_of(problem: Problem, statistics: Mapping[str, Any]) -> list[str]:
    """Keys of everything the problem uses, mfpde first, each once: by a run's statistics, or what it may come to use
    where there are none."""
    found = [key for part in _parts(problem) for key in getattr(type(part), "citations", ())]
    sources = chosen_solver(problem).sources(problem.equation, statistics)
    return list(dict.fromkeys([_OWN_PAPER, *found, *sources]))


def _parts(given: Any) -> Iterator[Specification]:
    """A specification and every one inside it but the solver, which tells itself what it used."""
    if isinstance(given, Specification) and not isinstance(given, Solver):
        yield given
        given = tuple(given.written().values())
    if isinstance(given, tuple):
        for part in given:
            yield from _parts(part)


def _looked_at(problem: Problem) -> tuple[Prepared | None, list[Fault]]:
    """The problem as far as it can be prepared, and all that is wrong with it."""
    other = "bifurcate" if problem.sweep is None else "sweep"
    unlike = f"; mfpde {other} does not" if problem.of_states else ""
    absent = [
        Fault((block,), f"is missing: solving needs to know {why}{unlike}")
        for block, why in _NEEDED.items()
        if getattr(problem, block) is None
    ]
    task = problem.posed()
    found = [*absent, *([] if problem.initial is None else _initial_faults(task))]
    law = _law_faults(problem)
    # a matrix of the wrong shape, or another geometry, would stop the solver and every observable alike
    if law or any(fault.path[:1] == ("geometry",) for fault in found):
        return None, list(dict.fromkeys([*found, *law]))
    solver, unfit = _solver_and_faults(problem)
    found += [*unfit, *_observable_faults(problem, solver), *_comparison_faults(problem, solver)]
    return None if solver is None else Prepared(problem, solver, task), list(dict.fromkeys(found))


def _initial_faults(task: InitialValueProblem) -> list[Fault]:
    with np.errstate(all="ignore"):
        return _collected(lambda: task.initial, "initial")


def _law_faults(problem: Problem) -> list[Fault]:
    assembled = [] if problem.attention is None else problem.attention.faults(("attention",))
    velocity = problem.equation.velocity
    found: list[Fault] = []
    for check in [velocity.check] if problem.clock == "gradient" else [velocity.check, velocity.check_speed]:
        found = found or _collected(partial(check, problem.geometry), "")
    return found + assembled


def _solver_and_faults(problem: Problem) -> tuple[Solver | None, list[Fault]]:
    try:
        solver = chosen_solver(problem)
        reason = solver.refusal(problem.equation) or _unknown_clock(problem, solver) or _no_ranks(problem, solver)
    except ProblemError as error:
        return None, list(error.faults)
    if reason is None:
        return solver, []
    return solver, [Fault(("solver",), f"{solver.kind} cannot solve this: {reason}; {_others(problem, solver)}")]


def _unknown_clock(problem: Problem, solver: Solver) -> str | None:
    clock = None if problem.time is None else problem.time.clock
    return None if clock is None or clock in solver.clocks else f"it has no time.clock: {clock}"


def _no_ranks(problem: Problem, solver: Solver) -> str | None:
    return None if present().size == 1 else solver.ranks_unfit(problem.equation)


def _others(problem: Problem, refused: Solver) -> str:
    able = [
        solver.kind
        for solver in fitting(problem.equation, told=True)
        if solver.kind != refused.kind
        and _unknown_clock(problem, solver) is None
        and _no_ranks(problem, solver) is None
    ]
    return f"solvers that can: {', '.join(able)}" if able else "no solver can, so far"


def _observable_faults(problem: Problem, solver: Solver | None) -> list[Fault]:
    equation = at_time(problem.equation, 0.0)
    found: list[Fault] = []
    for index, observable in enumerate(problem.observe):
        found += _collected(partial(_check_observable, equation, solver, index, observable), "")
    return found + _double_series(problem)


def _check_observable(equation: Equation, solver: Solver | None, index: int, observable: Observable) -> None:
    reason = observable.unfit(equation)
    if reason is None and solver is not None:
        reason = observable.unfit_solver(solver, equation)
    if reason is not None:
        raise ProblemError([Fault(("observe", index), f"{observable.kind} cannot be observed here: {reason}")])


def layout_faults(problem: Problem, layout: Layout) -> list[Fault]:
    """Observables that the snapshots of the run about to start do not give."""
    reasons = [observable.unfit_layout(layout, problem.equation) for observable in problem.observe]
    return [
        Fault(("observe", index), f"{observable.kind} cannot be observed here: {reason}")
        for index, (observable, reason) in enumerate(zip(problem.observe, reasons, strict=True))
        if reason is not None
    ]


def _comparison_faults(problem: Problem, solver: Solver | None) -> list[Fault]:
    compared = problem.compare
    if compared is None or problem.initial is None or solver is None:
        return []
    reason = compared.unfit(problem.equation, solver)
    return [] if reason is None else [Fault(("compare",), f"{compared.kind} cannot be compared with: {reason}")]


def _double_series(problem: Problem) -> list[Fault]:
    """Two observables must not write series of one name."""
    found = []
    owners: dict[str, int] = {}
    for index, observable in enumerate(problem.observe):
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
        inside = [not block or fault.path[:1] in ((block,), ("geometry",)) for fault in error.faults]
        return [
            fault if there else Fault((block, *fault.path), fault.message)
            for fault, there in zip(error.faults, inside, strict=True)
        ]
    return []


def _of_block(solver: Solver, fault: Fault) -> Fault:
    """The fault as one of a block of the problem."""
    if not fault.path or fault.path[0] in Problem.written_keys():
        return fault
    return Fault(("solver",), f"{solver.kind} cannot start: {Fault(fault.path, fault.message)}")
