"""What is to be measured: how many tokens, how often, when, against which limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mfpde.arguments import need_memory, number, whole
from mfpde.contracts import Solver
from mfpde.errors import ProblemError
from mfpde.prepare import chosen_solver
from mfpde.problem import Problem
from mfpde.registry import lookup
from mfpde.solvers.auto import fitting
from mfpde.typing import Float

__all__ = ["LEAST_COUNTS", "Plan", "no_limit"]

#: numbers of tokens
_COUNTS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
_REPEATS = 32  # systems of each
#: of the quick form
_COUNTS_QUICK = (100, 300, 900, 3600)
_REPEATS_QUICK = 24  # systems of each
#: where systems of some hundred take too long: the law of large numbers hardly shows with fewer
_COUNTS_SPARE = (25, 50)
#: of processor time on each core for the measurements, where counts are not given: what does not fit is left out
_SECONDS, _SECONDS_QUICK = 60.0, 10.0
_LEAST_REPEATS = 4  # of which a deviation can be made
_FEWER_REPEATS = (8, _LEAST_REPEATS)  # tried in turn where nobody asks for a number and systems take long
#: of which a slope with its uncertainty can be made: so many are measured however long it takes
LEAST_COUNTS = 3
#: shares of the time at which tokens are looked at; the first for files whose times are long for their fast tokens
_TIME_SHARES = (0.0, 1 / 256, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0)
_TOLERANCE = 1e-6  # of tokens without noise, and of the limit: far below the errors of chance
_TOKENS_FOR_LIMIT = 10  # times the most tokens measured, where nothing else knows the limit
_SEED_OF_LIMIT = 999_999_937  # no repeat has it
#: solvers of equations that are limits themselves
_REDUCED = ("hardmax", "equiangular")
#: what would be read from the file otherwise, and has no meaning for other numbers of tokens
_OF_OTHER_RUNS = ("count", "copies", "seed", "sampling", "tolerance")


@dataclass(frozen=True)
class Plan:
    """The tokens' problem, the limit's, and the numbers of tokens and of repeats."""

    tokens: dict[str, Any]
    limit: Problem | None  # None: there is no solver for it
    counts: tuple[int, ...]
    repeats: int
    seconds: float  # of processor time on each core; infinite where counts are given
    fewer: tuple[int, ...]  # repeats, where there is no time for all: as many, where they are given
    spare: tuple[int, ...] = ()  # fewer tokens than the counts, for systems that take long; none where counts are given

    @classmethod
    def of(
        cls, problem: Problem, counts: Sequence[int] | None, repeats: int | None, *, quick: bool, seconds: float | None
    ) -> Plan:
        """With what is usual for whatever is None."""
        reason = no_limit(problem)
        if reason is not None:
            raise ProblemError.at("", f"there is no mean-field limit to look for: {reason}")
        given = None if counts is None else _counts(counts, problem.geometry.ambient_dimension)
        data = {name: value for name, value in problem.canonical().items() if name not in ("compare", "observe")}
        until = float(data["time"]["until"])
        data["time"] = {"until": until, "save_at": [share * until for share in _TIME_SHARES]}
        times = _repeats(repeats, _REPEATS_QUICK if quick else _REPEATS)
        usual = (_SECONDS_QUICK if quick else _SECONDS) if given is None else math.inf
        return cls(
            {**data, "solver": _as_tokens(problem)},
            _of_limit(problem, data),
            given or (_COUNTS_QUICK if quick else _COUNTS),
            times,
            usual if seconds is None else _positive(seconds),
            _FEWER_REPEATS if repeats is None else (times,),
            _COUNTS_SPARE if given is None else (),
        )

    @property
    def asked(self) -> bool:
        """Whether the counts are those that somebody asked for."""
        return not self.spare

    def until(self, time: float) -> Plan:
        """The same for a shorter time."""
        shorter = {"time": {"until": time, "save_at": [share * time for share in _TIME_SHARES]}}
        limit = None if self.limit is None else Problem.from_dict({**self.limit.canonical(), **shorter})
        return replace(self, tokens={**self.tokens, **shorter}, limit=limit)

    @property
    def systems(self) -> list[tuple[int, int]]:
        """Numbers of tokens and of the repeat."""
        return [(count, repeat) for count in self.counts for repeat in range(1, self.repeats + 1)]

    @property
    def subject(self) -> dict[str, Any]:
        """What is measured, however often."""
        return {"problem": self.tokens, "limit": self.limit_problem.canonical()}

    @property
    def tokens_for_limit(self) -> int:
        """Where nothing else knows it, in place of the most tokens measured."""
        return 0 if self.limit is not None else _TOKENS_FOR_LIMIT

    def for_limit(self, limit: dict[str, Any]) -> Plan:
        """The counts that a limit of that many tokens was made for."""
        most = limit["solver"]["count"] // _TOKENS_FOR_LIMIT
        return replace(self, counts=tuple(count for count in (*self.spare, *self.counts) if count <= most))

    @property
    def limit_problem(self) -> Problem:
        """What the tokens are held against: the solution, or many more tokens where no solver has it."""
        if self.limit is not None:
            return self.limit
        solver = {**self.tokens["solver"], "count": _TOKENS_FOR_LIMIT * max(self.counts), "seed": _SEED_OF_LIMIT}
        return Problem.from_dict({**self.tokens, "solver": solver})

    @property
    def times(self) -> Float:
        """When tokens are looked at."""
        return np.array(self.tokens["time"]["save_at"])


def no_limit(problem: Problem) -> str | None:
    """Why tokens of this problem tend to no measure, or None."""
    if problem.time is None or problem.initial is None:
        return "the problem needs the blocks time and initial"
    solver = chosen_solver(problem)
    reasons = {
        "layers are no flow": getattr(solver, "layers", None) is not None,
        f"solver: {solver.kind} is a limit of its own, of tokens that are given": solver.kind in _REDUCED,
        "gradient time depends on the tokens themselves": problem.time.clock == "gradient",
        "common noise leaves the measure random, however many tokens there are": problem.noise.common is not None,
        "the initial points are the tokens themselves, and more cannot be drawn": (
            problem.equation.initial_measure().pointlike
        ),
    }
    for reason, holds in reasons.items():
        if holds:
            return reason
    refusal = lookup("solver", "particles")(count=_LEAST_REPEATS).refusal(problem.equation)
    return None if refusal is None else f"particles cannot do this: {refusal}"


def _counts(given: Sequence[int], dimension: int) -> tuple[int, ...]:
    counts = tuple(sorted({whole("counts", each, least=2) for each in given}))
    if len(counts) < LEAST_COUNTS:
        raise ProblemError.at(
            "counts",
            f"must be at least {LEAST_COUNTS} numbers of tokens, not {len(counts)}: a rate has no interval otherwise",
        )
    need_memory("counts", counts[-1] * dimension)
    return counts


def _positive(seconds: float) -> float:
    given = number("seconds", seconds)
    if not given > 0:
        raise ProblemError.at("seconds", f"must be a positive number, not {given:g}")
    return given


def _repeats(given: int | None, usual: int) -> int:
    repeats = usual if given is None else whole("repeats", given, least=1)
    if repeats < _LEAST_REPEATS:
        raise ProblemError.at(
            "repeats", f"must be at least {_LEAST_REPEATS}, not {repeats}: chance has no size otherwise"
        )
    return repeats


def _as_tokens(problem: Problem) -> dict[str, Any]:
    """The solver of independent tokens, with what the file says of steps."""
    solver = problem.solver
    settings: dict[str, Any] = {"kind": "particles"}
    if solver is not None and solver.kind == "particles":
        settings |= {name: value for name, value in solver.canonical().items() if name not in _OF_OTHER_RUNS}
    return settings | {"sampling": "plain", "tolerance": _TOLERANCE}


def _of_limit(problem: Problem, data: dict[str, Any]) -> Problem | None:
    """The problem for a solver of measures: its own, or the best that fits."""
    solver = chosen_solver(problem)
    if solver.shows == "particles":
        able = [each for each in fitting(problem.equation) if each.shows != "particles"]
        if not able:
            return None
        solver = _with_tolerance(able[0])
    return Problem.from_dict({**data, "solver": solver.canonical()})


def _with_tolerance(solver: Solver) -> Solver:
    settings = {"tolerance": _TOLERANCE} if "tolerance" in type(solver).model_fields else {}
    return type(solver).model_validate(settings)
