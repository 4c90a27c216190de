"""The solution by a second method, which shares nothing with the first but the problem."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.comparing import ComparedSolution, SecondSolution
from mfpde.contracts import PROMISED, Solver
from mfpde.equation import Equation
from mfpde.errors import MfpdeError
from mfpde.prepare import Prepared
from mfpde.problem import Problem
from mfpde.registry import lookup, members
from mfpde.validation.examined import Examined
from mfpde.validation.plain_tokens import PlainTokens, may_be_plain, plain_tokens
from mfpde.validation.report import Check, plain
from mfpde.validation.waves import waves_for

__all__ = ["Apart", "none_foreseen", "second_method"]

_SOURCE = "a second method"
#: tolerances of the second method, where the first has a smaller one: characteristics take long for less
_TOLERANCE, _TOLERANCE_QUICK = 1e-7, 1e-5


@dataclass(frozen=True)
class Apart:
    """How far two methods are apart at the `times` of both, in what is `compared`, and what both promise: the first and
    the other one."""

    method: str
    compared: str
    times: tuple[float, ...]
    distances: tuple[float, ...]
    promises: tuple[float, float]

    def check(self) -> Check:
        """That they agree."""
        claim = f"the solution is that of {self.method} ({self.compared}, {len(self.times)} times)"
        measured = max(self.distances, default=math.nan)
        return Check.equal(claim, _SOURCE, expected=0.0, measured=measured, tolerance=sum(self.promises))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        run, method = self.promises
        return {
            "method": self.method,
            "compared": self.compared,
            "times": list(self.times),
            "distances": [plain(each) for each in self.distances],
            "promises": {"run": plain(run), "method": plain(method)},
        }

    def draw(self, figure: Any) -> None:
        """Over time, beside the promises."""
        promises = list(zip(("the run", self.method), self.promises, strict=True))
        title = f"{self.compared}, against {self.method}"
        lookup("view", "second-method")(self.times, np.array(self.distances), promises, title, figure)


def none_foreseen(problem: Problem, solver: Solver) -> str | None:
    """Why there is no second method, as far as that is known before anything runs, or None."""
    if may_be_plain(problem, solver) or (solver.shows != "particles" and _references(problem.equation, solver)):
        return None
    return f"no second method shares nothing with solver: {solver.kind} and can do this equation"


def second_method(examined: Examined, *, quick: bool) -> Apart | None:
    """The run held against another solver, or tokens against a plain program; None where there is no second method, and
    particles alone can be asked (the mean-field limit)."""
    run = examined.run
    if examined.solver.shows != "particles":
        tolerance = max(examined.promise / PROMISED, _TOLERANCE_QUICK if quick else _TOLERANCE)
        for reference in _references(run.problem.equation, examined.solver):
            with suppress(MfpdeError):  # it cannot start
                other = reference.start(Prepared.of(run.problem).task, tolerance)
                return _against(examined, other, reference.called, reference.promise(tolerance))
    tokens = plain_tokens(run, examined.solver)
    return None if tokens is None else _against_tokens(examined, tokens)


def _references(equation: Equation, solver: Solver) -> list[ComparedSolution]:
    """What else knows the solution and is no relative of the solver, the best first."""
    known = [each() for each in members("comparison").values() if issubclass(each, ComparedSolution)]
    able = [each for each in known if each.by != solver.kind and each.refusal(equation) is None]
    return sorted(able, key=lambda each: -each.preference)


def _against(examined: Examined, other: SecondSolution, called: str, promised: float) -> Apart:
    """Side by side, as far as both come."""
    run, times, apart = examined.run, [], []
    waves = waves_for(run.problem.geometry, run.measure(0))
    for index in examined.looks:
        other.follow(float(run.times[index]))
        if other.end and not run.outcome.complete:
            break
        there = other.measure()
        gap = math.inf if other.end else np.abs(waves.means(run.measure(index)) - waves.means(there)).max()
        times.append(float(run.times[index]))
        apart.append(float(gap))
    return Apart(called, "means of smooth functions", tuple(times), tuple(apart), (examined.promise, promised))


def _against_tokens(examined: Examined, plain: PlainTokens) -> Apart:
    """Waves of the tokens one by one would hide which token is which: their positions are compared."""
    run = examined.run
    apart = []
    for index, tokens in zip(plain.indices, plain.tokens, strict=True):
        points = run.problem.geometry.embed(run.positions[index])
        apart.append(float(np.abs(points - tokens).max()) / max(float(np.abs(tokens).max()), 1.0))
    times = tuple(float(run.times[index]) for index in plain.indices)
    promises = examined.promise, plain.promise
    return Apart("a plain program of all pairs of tokens", "positions of tokens", times, tuple(apart), promises)
