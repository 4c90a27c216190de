"""The solution by a second method, which shares nothing with the first but the problem."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.comparing import ComparedSolution
from mfpde.contracts import PROMISED, Solver
from mfpde.equation import Equation
from mfpde.errors import MfpdeError
from mfpde.problem import Problem
from mfpde.registry import lookup, members
from mfpde.run import Run
from mfpde.validation.examined import Examined
from mfpde.validation.plain_tokens import PlainTokens, plain_tokens
from mfpde.validation.report import Check
from mfpde.validation.solving import solved_so_far
from mfpde.validation.waves import waves_for

__all__ = ["Apart", "second_method"]

_SOURCE = "a second method"
#: tolerances of the second method, where the first has a smaller one: characteristics take long for less
_TOLERANCE, _TOLERANCE_QUICK = 1e-7, 1e-5


@dataclass(frozen=True)
class Apart:
    """How far two methods are apart at the `times` of both, and what both promise: the first and the other one."""

    method: str
    times: tuple[float, ...]
    distances: tuple[float, ...]
    promises: tuple[float, float]

    def check(self) -> Check:
        """That they agree."""
        claim = f"the solution is that of {self.method} (means of smooth functions, {len(self.times)} times)"
        measured = max(self.distances, default=math.nan)
        return Check.equal(claim, _SOURCE, expected=0.0, measured=measured, tolerance=sum(self.promises))

    def draw(self, figure: Any) -> None:
        """Over time, beside the promises."""
        promises = list(zip(("the run", self.method), self.promises, strict=True))
        lookup("view", "second-method")(self.times, np.array(self.distances), promises, self.method, figure)


def second_method(examined: Examined, *, quick: bool) -> Apart | None:
    """The run held against another solver, or tokens against a plain program; None where there is no second method, and
    particles alone can be asked (the mean-field limit)."""
    run, equation = examined.run, examined.run.problem.equation
    if examined.solver.shows != "particles":
        tolerance = max(examined.promise / PROMISED, _TOLERANCE_QUICK if quick else _TOLERANCE)
        for solver in _others(equation, examined.solver, tolerance):
            times = [float(run.times[index]) for index in examined.looks]
            other = _solved(run.problem, solver, times)
            if other is not None:
                return _against(examined, other, solver, PROMISED * tolerance)
    tokens = plain_tokens(run, examined.solver)
    return None if tokens is None else _against_tokens(examined, tokens)


def _others(equation: Equation, solver: Solver, tolerance: float) -> Iterator[Solver]:
    """Solvers of comparisons that can do the equation and are no relatives of the one that did, the best first."""
    found = []
    for comparison in members("comparison").values():
        if not issubclass(comparison, ComparedSolution) or comparison.by == solver.kind:
            continue
        other: Solver = lookup("solver", comparison.by)(tolerance=tolerance)
        if other.refusal(equation) is None:
            found.append(other)
    return iter(sorted(found, key=lambda each: -each.preference))


def _solved(problem: Problem, solver: Solver, times: list[float]) -> Run | None:
    """The problem by another solver, as far as it comes; None where it cannot start."""
    data = {name: value for name, value in problem.canonical().items() if name not in ("compare", "observe")}
    until = max(times)
    if until == 0:
        return None
    data |= {"solver": solver.canonical(), "time": {"until": until, "save_at": times}}
    try:
        return solved_so_far(Problem.from_dict(data))
    except MfpdeError:
        return None


def _against(examined: Examined, other: Run, solver: Solver, promised: float) -> Apart:
    run = examined.run
    waves = waves_for(run.problem.geometry, run.measure(0))
    nearest = [int(np.argmin(np.abs(run.times - time))) for time in other.times]
    pairs = [(i, j) for j, i in enumerate(nearest) if abs(run.times[i] - other.times[j]) <= 1e-9 * run.times[-1]]
    apart = [float(np.abs(waves.means(run.measure(i)) - waves.means(other.measure(j))).max()) for i, j in pairs]
    if not other.outcome.complete and other.times[-1] < run.times[-1] * (1 - 1e-9) and run.outcome.complete:
        apart[-1] = math.inf  # it has ended where the first goes on
    words = f"solver: {solver.kind}"
    times = tuple(float(other.times[j]) for _, j in pairs)
    return Apart(words, times, tuple(apart), (examined.promise, promised))


def _against_tokens(examined: Examined, plain: PlainTokens) -> Apart:
    """Waves of the tokens one by one would hide which token is which: their positions are compared."""
    run = examined.run
    apart = []
    for index, tokens in zip(plain.indices, plain.tokens, strict=True):
        points = run.problem.geometry.embed(run.positions[index])
        apart.append(float(np.abs(points - tokens).max()) / max(float(np.abs(tokens).max()), 1.0))
    times = tuple(float(run.times[index]) for index in plain.indices)
    promises = examined.promise, plain.promise
    return Apart("a plain program of all pairs of tokens", times, tuple(apart), promises)
