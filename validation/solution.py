"""What theory says of every solution, checked on the solution of any problem (physics sections 1, 3 and 9)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mfpde.feasibility import chosen_solver
from mfpde.observe.energy import not_a_gradient_flow
from mfpde.problem import Equation, Problem
from mfpde.run import Run
from mfpde.typing import Float
from mfpde.validation.case import UnfinishedError, finished, merged, solved, worst
from mfpde.validation.panels import Panels
from mfpde.validation.report import Check, Drawing, Report

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

__all__ = ["examine_solution"]

_DEFAULT_TOLERANCE = 1e-8
_ROUNDS, _ROUNDS_QUICK = 8, 3


def examine_solution(problem: Problem, title: str, *, quick: bool = False) -> Report:
    """Solve a problem and check mass, positivity, free energy and bounds of the drift."""
    problem.need("initial", "time")
    flow = not_a_gradient_flow(problem.equation) is None
    promise = 10 * float(getattr(chosen_solver(problem), "tolerance", _DEFAULT_TOLERANCE))
    try:
        run, panels = _resolved(problem, promise, quick) if flow else (solved(_observed(problem, None)), None)
    except UnfinishedError as error:
        return Report(title, "what theory says of every solution", (finished(error.run),))
    checks = [finished(run), *_conserved(run, promise), *_bounded(run, promise)]
    if panels is not None:
        checks += _descending(run, panels, promise)
    return Report(title, "what theory says of every solution", tuple(checks), _drawing(run, flow))


def _observed(problem: Problem, times: list[float] | None) -> Problem:
    """The same equation and solver, observed as the checks need it."""
    names = ["mass", "minimum", *(["free-energy", "dissipation"] if times else [])]
    data = problem.canonical()
    time = {"until": data["time"]["until"], **({"save_at": times} if times else {})}
    return Problem.from_dict({**merged(data, {"observe": names}), "time": time})


def _resolved(problem: Problem, promise: float, quick: bool) -> tuple[Run, Panels]:
    """A run observed at times between which the dissipation is integrated to the promised accuracy.

    Panels on which it is not smooth enough are cut and the problem is solved again.
    """
    panels = _first_panels(problem)
    for attempt in range(_ROUNDS):
        run = solved(_observed(problem, panels.times()))
        scale = _size(panels.at_edges(run, "free-energy"), run.problem.equation)
        allowed = promise * scale / panels.edges.size
        excess = panels.uncertainty(panels.at_nodes(run, "dissipation")) / allowed
        if excess.max() <= 1 or attempt == (_ROUNDS_QUICK if quick else _ROUNDS) - 1:
            break
        panels = panels.cut(2 * excess)
    return run, panels


def _first_panels(problem: Problem) -> Panels:
    """Doubling panels from the fastest time of the linear problem to the end."""
    assert problem.time is not None  # noqa: S101 - for the type checker
    zonal = None if problem.law is None else problem.law.zonal(problem.geometry)
    fastest = problem.noise.diffusion + (0.0 if zonal is None else float(np.abs(zonal.growth_rates()).max()))
    until = problem.time.until
    doublings = max(1, math.ceil(math.log2(4 * until * fastest + 2)))
    return Panels(until * np.concatenate([[0.0], 2.0 ** np.arange(-doublings, 1)]))


def _identity(run: Run, panels: Panels) -> tuple[Float, float]:
    """`F(b) - F(a) + int_a^b dissipation dt` on each panel, and the size it is measured by."""
    energy = panels.at_edges(run, "free-energy")
    lost = panels.integrals(panels.at_nodes(run, "dissipation"))
    return np.diff(energy) + lost, _size(energy, run.problem.equation)


def _size(energy: Float, equation: Equation) -> float:
    """Free energies are differences of terms of this size, whatever is left of them."""
    law = equation.law
    zonal = None if law is None else law.zonal(equation.geometry)
    attraction = 0.0 if zonal is None else float(np.abs(zonal.potential[1:]).max())
    return max(float(np.abs(energy).max()), equation.noise.diffusion, attraction)


def _conserved(run: Run, promise: float) -> list[Check]:
    mass = worst(abs(value - 1) for value in run["mass"])
    top = np.abs(run.density).reshape(run.times.size, -1).max(axis=1)
    lowest = float((run["minimum"] / np.interp(run.series_times, run.times, top)).min())
    return [
        Check.equal("mass is conserved", "physics section 1", expected=1.0, measured=1 + mass, tolerance=1e-12),
        Check.at_least(
            "the density is positive, relative to its maximum",
            "physics section 1",
            bound=0.0,
            measured=lowest,
            tolerance=promise,
        ),
    ]


def _bounded(run: Run, promise: float) -> list[Check]:
    equation = run.problem.equation
    zonal = None if equation.law is None else equation.law.zonal(equation.geometry)
    if equation.law is None or zonal is None or not math.isfinite(zonal.bound):
        return []
    angles = run.axis("theta")
    chosen = np.unique(np.linspace(0, run.times.size - 1, 5).astype(int))
    fastest = worst(float(np.abs(equation.law.drift(run.measure(int(index)), angles)).max()) for index in chosen)
    claim = "no token moves faster than |V| R times the largest kernel"
    slack = promise * zonal.bound
    return [Check.at_most(claim, "physics section 9", bound=zonal.bound, measured=fastest, tolerance=slack)]


def _descending(run: Run, panels: Panels, promise: float) -> list[Check]:
    gap, size = _identity(run, panels)
    unknown = float(panels.uncertainty(panels.at_nodes(run, "dissipation")).sum()) / size
    rise = worst(np.maximum(np.diff(panels.at_edges(run, "free-energy")), 0.0).tolist())
    defect = worst(np.abs(np.cumsum(gap)).tolist())
    return [
        Check.at_most(
            "free energy never rises", "physics section 3", bound=0.0, measured=rise / size, tolerance=promise
        ),
        Check.equal(
            "free energy is lost as fast as it is dissipated",
            "physics section 3",
            expected=0.0,
            measured=defect / size,
            tolerance=promise + unknown,
        ),
    ]


def _drawing(run: Run, flow: bool) -> Drawing:
    def draw(figure: FigureBase) -> None:
        left, right = figure.subplots(1, 2)
        angles = run.axis("theta")
        for index in np.unique(np.linspace(0, run.times.size - 1, 5).astype(int)):
            left.plot(angles, run.density[index], label=f"t = {run.times[index]:.3g}")
        left.set(xlabel="theta", ylabel="density", xlim=(0, 2 * np.pi))
        left.legend(fontsize="small")
        name = "free-energy" if flow else "minimum"
        right.plot(run.series_times, run[name])
        right.set(xlabel="t", ylabel=name.replace("-", " "))

    return draw
