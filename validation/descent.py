"""Energies: free energy falls as fast as it is dissipated, energy without noise rises (physics section 3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from mfpde.equation import Equation
from mfpde.prepare import chosen_solver
from mfpde.problem import Problem
from mfpde.run import Run
from mfpde.typing import Float
from mfpde.validation.case import merged, worst
from mfpde.validation.examined import Examined, can_observe
from mfpde.validation.intervals import TimeIntervals
from mfpde.validation.report import Check

__all__ = ["checks", "descends", "resolved"]

_SOURCE = "the free energy of a gradient flow [carrillo2020]"
_ROUNDS, _ROUNDS_QUICK = 8, 3  # of halving the time intervals
_NEEDED = ("free-energy", "dissipation")


def descends(problem: Problem) -> bool:
    """Whether the equation is the gradient flow of a free energy, the same at all times, that the solver can give."""
    moves = problem.equation.law is not None or problem.noise != type(problem.noise)()
    return moves and problem.equation.autonomous and all(can_observe(problem, name) for name in _NEEDED)


def resolved(
    problem: Problem, solve: Callable[[Problem], Run], quick: bool, also: Sequence[float] = ()
) -> tuple[Run, TimeIntervals]:
    """A run observed at times between which the dissipation is integrated to the promised accuracy, and `also` at those
    times.

    Intervals on which it is not smooth enough are cut and the problem is solved again. A run that ends early has
    intervals up to there.
    """
    intervals = _first_intervals(problem)
    for attempt in range(_ROUNDS):
        run = solve(_observed(problem, sorted({*intervals.times(), *also})))
        if not run.outcome.complete:
            return run, intervals.until(float(run.series_times[-1]))
        promise = Examined(run, chosen_solver(problem)).promise
        scale = _size(intervals.at_edges(run, "free-energy"), run.problem.equation)
        allowed = promise * scale / intervals.edges.size
        excess = intervals.uncertainty(intervals.at_nodes(run, "dissipation")) / allowed
        if excess.max() <= 1 or attempt == (_ROUNDS_QUICK if quick else _ROUNDS) - 1:
            break
        intervals = intervals.cut(2 * excess)
    return run, intervals


def checks(examined: Examined, intervals: TimeIntervals) -> list[Check]:
    """That free energy never rises, and is lost as fast as it is dissipated."""
    if intervals.edges.size < 2:
        return []
    run, promise = examined.run, examined.promise
    gap, size = _identity(run, intervals)
    unknown = float(intervals.uncertainty(intervals.at_nodes(run, "dissipation")).sum()) / size
    rise = worst(np.maximum(np.diff(intervals.at_edges(run, "free-energy")), 0.0).tolist())
    defect = worst(np.abs(np.cumsum(gap)).tolist())
    return [
        Check.at_most("free energy never rises", _SOURCE, bound=0.0, measured=rise / size, tolerance=promise),
        Check.equal(
            "free energy is lost as fast as it is dissipated",
            _SOURCE,
            expected=0.0,
            measured=defect / size,
            tolerance=promise + unknown,
        ),
    ]


def _observed(problem: Problem, times: list[float]) -> Problem:
    data = problem.canonical()
    time = {"until": data["time"]["until"], "save_at": times}
    return Problem.from_dict({**merged(data, {"observe": ["mass", "minimum", *_NEEDED]}), "time": time})


def _first_intervals(problem: Problem) -> TimeIntervals:
    """Doubling intervals from the fastest time of the linear problem to the end."""
    assert problem.time is not None  # noqa: S101 - for the type checker
    convolution = None if problem.equation.law is None else problem.equation.law.convolution(problem.geometry)
    fastest = problem.noise.diffusion + (
        0.0 if convolution is None else float(np.abs(convolution.growth_rates()).max())
    )
    if convolution is not None and convolution.external is not None:
        fastest += convolution.bound
    until = problem.time.until
    doublings = max(1, math.ceil(math.log2(4 * until * fastest + 2)))
    return TimeIntervals(until * np.concatenate([[0.0], 2.0 ** np.arange(-doublings, 1)]))


def _identity(run: Run, intervals: TimeIntervals) -> tuple[Float, float]:
    """`F(b) - F(a) + int_a^b dissipation dt` on each interval, and the size it is measured by."""
    energy = intervals.at_edges(run, "free-energy")
    lost = intervals.integrals(intervals.at_nodes(run, "dissipation"))
    return np.diff(energy) + lost, _size(energy, run.problem.equation)


def _size(energy: Float, equation: Equation) -> float:
    """Free energies are differences of terms of this size, whatever is left of them."""
    law = equation.law
    convolution = None if law is None else law.convolution(equation.geometry)
    attraction = 0.0 if convolution is None else float(np.abs(convolution.potential[1:]).max())
    if convolution is not None and convolution.external is not None:
        attraction = max(attraction, float(np.sqrt(convolution.external.powers()[1:].max())))
    return max(float(np.abs(energy).max()), equation.noise.diffusion, attraction)
