"""How fast tokens may move, how far they may come (physics section 9), and energies that may not fall (section 3)."""

from __future__ import annotations

import itertools
import math
from typing import Any, cast

import numpy as np

from mfpde.attention import Law
from mfpde.contracts import BLOW_UP
from mfpde.equation import Equation
from mfpde.measure import Measure
from mfpde.typing import Float
from mfpde.validation.case import worst
from mfpde.validation.examined import Examined
from mfpde.validation.report import Check

__all__ = ["checks", "radius_of", "speed_bound"]

_SOURCE = "bounds of drift and support [castin2025]"
#: whose speed is compared with the bound
_TOKENS_CHECKED = 400
#: width of an edge on a grid, in cells
_EDGE_CELLS = 4.0
#: Gauss nodes between two breaks of a coefficient
_NODES_PER_INTERVAL = 20


def checks(examined: Examined) -> list[Check]:
    """Where the kernels are bounded on bounded support."""
    return [*_speed(examined), *_support(examined), *_no_blow_up(examined), *_energy(examined)]


# -- speed
# -----------------------------------------------------------------------------------------------------------------


def _speed(examined: Examined) -> list[Check]:
    """`|G| <= |V| R sup k`, at tokens of a few snapshots; measured relative to that bound."""
    run, law = examined.run, examined.run.problem.equation.law
    if law is None or examined.shows == "gaussian":
        return []
    ratios = []
    for index in examined.looks:
        present, measure = law.at(float(run.times[index])), run.measure(index)
        bound = speed_bound(present, examined.run.problem.equation, radius_of(measure))
        if not 0 < bound < math.inf:
            return []
        points, positions = _tokens(measure, run.layout.axes)
        drift = np.asarray(present.any_drift(measure, points, positions))
        ratios.append(float(np.linalg.norm(drift.reshape(len(points), -1), axis=1).max()) / bound)
    claim = "no token moves faster than |V| R times the largest kernel, relative to that"
    slack = examined.promise + _ROUNDING
    return [Check.at_most(claim, _SOURCE, bound=1.0, measured=worst(ratios), tolerance=slack)]


#: of a drift, relative
_ROUNDING = 1e-12


def speed_bound(law: Law, equation: Equation, radius: float) -> float:
    """What the drift of tokens within that radius never exceeds; infinite where no bound is known."""
    convolution = law.convolution(equation.geometry)
    if convolution is not None:
        return convolution.bound
    dimension = equation.geometry.ambient_dimension
    sizes = [_norm(term.value) * term.head.largest(dimension, radius) for term in law.terms(dimension)]
    return radius * float(sum(sizes)) if sizes else math.inf


def _norm(matrix: Float) -> float:
    return float(np.linalg.norm(matrix, 2))


def _tokens(measure: Measure, axes: tuple[Any, ...]) -> tuple[Float, Float | None]:
    """Points of the measure, evenly many, with their positions where they have some."""
    if measure.space.angular and axes and measure.positions is None:
        return axes[0].values, None  # on the circle
    along = np.eye(measure.space.ambient_dimension)[0]
    points, weights = measure.nodes_towards(along) or measure.nodes()
    there = np.flatnonzero(weights > 0)
    chosen = there[np.unique(np.linspace(0, there.size - 1, _TOKENS_CHECKED).astype(int))]
    positions = measure.positions
    return points[chosen], None if positions is None else positions[chosen]


def radius_of(measure: Measure) -> float:
    """Of a ball about 0 that holds all tokens: of cells, their corners."""
    if not measure.space.flat:
        return 1.0
    points, masses, halves = measure.places()
    return float((np.linalg.norm(points, axis=1) + halves)[masses > 0].max())


# -- support
# -----------------------------------------------------------------------------------------------------------------


def _bounded(initial: Measure) -> bool:
    """Whether no token starts beyond some ball."""
    return initial.compact or initial.pointlike


def _averages_alone(examined: Examined) -> bool:
    """Whether every token moves towards means of others, `|V|` times as far: softmax, l2 and sinkhorn attention."""
    problem = examined.run.problem
    law = problem.equation.law
    if problem.drift is not None or law is None or not examined.noiseless:
        return False
    terms = law.at(0.0).terms(problem.geometry.ambient_dimension)
    return bool(terms) and all(term.head.normalised for term in terms)


def _support(examined: Examined) -> list[Check]:
    run = examined.run
    if "support-radius" not in examined.series or not _averages_alone(examined):
        return []
    initial = run.problem.equation.initial_measure()
    if not _bounded(initial):
        return []
    start = float(np.linalg.norm(np.max(np.abs(initial.reach(0.0)), axis=0)))
    law = cast("Law", run.problem.equation.law)
    dimension = run.problem.geometry.ambient_dimension
    ratios = []
    for index, time in enumerate(run.times):
        place = int(np.argmin(np.abs(run.series_times - time)))
        smeared = _EDGE_CELLS * 2 * float(run.measure(index).places()[2].max())
        allowed = start * math.exp(_growth(law, dimension, float(time)))
        ratios.append(max(float(np.max(run["support-radius"][place])) - smeared, 0.0) / allowed)
    claim = "the support stays in the ball of radius R_0 exp(int |V| dt), relative to that"
    return [Check.at_most(claim, _SOURCE, bound=1.0, measured=worst(ratios), tolerance=examined.promise)]


def _growth(law: Law, dimension: int, time: float) -> float:
    """`int_0^t sum_h |V_h| dt`."""
    edges = np.array([0.0, *(at for at in law.breaks() if 0 < at < time), time])
    nodes, weights = np.polynomial.legendre.leggauss(_NODES_PER_INTERVAL)
    total = 0.0
    for start, end in itertools.pairwise(edges.tolist()):
        half = 0.5 * (end - start)
        sizes = [sum(_norm(term.value) for term in law.at(start + half * (1 + x)).terms(dimension)) for x in nodes]
        total += half * float(weights @ sizes)
    return total


def _no_blow_up(examined: Examined) -> list[Check]:
    run = examined.run
    if run.outcome.kind != BLOW_UP or not _averages_alone(examined):
        return []
    if not _bounded(run.problem.equation.initial_measure()):
        return []
    claim = "what has bounded support does not blow up under this attention"
    return [Check(claim, "bounded support stays bounded [castin2025]", math.inf, run.outcome.time, 0.0, passed=False)]


# -- energy
# -----------------------------------------------------------------------------------------------------------------


def _energy(examined: Examined) -> list[Check]:
    """Without noise exponential attention with A = a I, V = v I never lowers its energy: dE/dt is `int Z |v|^2 dmu`
    under softmax attention, `int |v|^2 dmu` under unnormalized."""
    problem = examined.run.problem
    if "energy" not in examined.series or not examined.noiseless or not problem.equation.velocity.constant:
        return []
    # the energy of unbounded tails is infinite, or what a grid makes of them
    if problem.drift is not None or not _bounded(problem.equation.initial_measure()):
        return []
    energy = np.asarray(examined.run["energy"])
    with np.errstate(invalid="ignore"):
        falls = -np.diff(energy, axis=0)  # of every copy
    known = np.isfinite(falls)
    if not known.any():
        return []
    size = max(float(np.abs(energy[np.isfinite(energy)]).max()), 1e-300)
    fall = max(float(falls[known].max()), 0.0) / size
    claim = "energy never falls, relative to its size"
    return [
        Check.at_most(claim, "a gradient flow [rigollet2025]", bound=0.0, measured=fall, tolerance=examined.promise)
    ]
