"""The equation itself, in its weak form: means of smooth functions change as fast as it says (physics section 1).

No solver computes these integrals: a wrong sign, factor, transpose or strength of noise in one of them shows here.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from mfpde.attention import Law
from mfpde.errors import MfpdeError
from mfpde.measure import Measure, Particles
from mfpde.problem import Problem
from mfpde.run import Run
from mfpde.typing import Float
from mfpde.validation.bounds import radius_of, speed_bound
from mfpde.validation.case import worst
from mfpde.validation.examined import CHANCE_DEVIATIONS, Examined, tokens_unfit
from mfpde.validation.intervals import TimeIntervals
from mfpde.validation.report import Check
from mfpde.validation.waves import Waves, waves_for

__all__ = ["Windows", "checks"]

_SOURCE = "the equation, integrated against smooth functions"
_REDUCED = ("equiangular", "hardmax")
_NODES = 12  # Gauss nodes of a window: order 24
_CHANGE = 0.3  # of a wave in the shortest window at most: its quadrature is then right to rounding
#: where short windows begin, as shares of the time
_BEGINNINGS = (0.0, 0.5, 1.0)
_TOKENS = 300  # drawn to see how fast they move: to a tenth
_SHORTEST = 1e-6  # window, as a share of the time: rounding is left in shorter ones
_MOST_COORDINATES = 20_000_000  # of the snapshots of tokens that windows need, 160 MB
#: points at which the drift is held against its plain sum, and terms of that sum
_POINTS_COMPARED, _MOST_TERMS = 64, 4_000_000
_ROUNDING = 1e-11  # of a drift by its fast path, relative to the largest
_CANCELLED_SHARE = 1e-4  # of the largest speed there can be: drifts of that size have lost as many digits


@dataclass(frozen=True, eq=False)
class Windows:
    """Stretches of time on which the weak form is integrated, with the functions it is held against."""

    waves: Waves
    intervals: tuple[TimeIntervals, ...]

    @classmethod
    def of(cls, problem: Problem, *, quick: bool = False) -> Windows | None:
        """Short ones at the beginning, in the middle and at the end, and doubling ones from the first step to the end
        (the quick form has the last: what a factor changes adds up); None where the equation has another form."""
        equation, until = problem.equation, problem.time.until if problem.time is not None else 0.0
        if not _has_weak_form(problem):
            return None
        initial = equation.initial_measure()
        waves = waves_for(equation.geometry, initial)
        seen = initial if tokens_unfit(equation) else _few_tokens(initial)
        fastest = float(np.abs(waves.rates(seen, equation, 0.0)).max()) + waves.fastest_decay(equation)
        length = max(min(until / 8, _CHANGE / fastest if fastest > 0 else until), _SHORTEST * until)
        breaks = [at for at in (*equation.velocity.breaks(), *equation.noise.breaks()) if 0 < at < until]
        doubled = until * 2.0 ** -np.arange(math.ceil(math.log2(until / length)) + 1)
        edges = np.unique([0.0, *doubled, *breaks])
        starts = [share * (until - length) for share in _BEGINNINGS]
        spans = [(at, at + length) for at in starts if not any(at < place < at + length for place in breaks)]
        size = (getattr(problem.solver, "count", None) or 0) * equation.geometry.ambient_dimension
        if size and equation.noise.strongest:  # chance hides what happens in short ones
            spans = list(itertools.pairwise([0.0, until / 8, until]))
        elif size * _NODES * edges.size <= _MOST_COORDINATES:
            spans += list(itertools.pairwise(edges.tolist()))[-1 if quick else 0 :]
        return cls(waves, tuple(TimeIntervals(list(span), _NODES) for span in spans))

    def times(self) -> list[float]:
        """When the solution must be looked at."""
        return sorted({time for interval in self.intervals for time in interval.times()})


def checks(examined: Examined, windows: Windows | None) -> list[Check]:
    """That the means change as the equation says, and that the drift is what the kernel's formula gives."""
    if windows is None:
        return []
    covered = [each for each in windows.intervals if each.edges[-1] <= examined.run.times[-1] * (1 + 1e-12)]
    found = [_window(examined, windows.waves, each) for each in covered]
    sharp = [check for check in found if check is not None]
    return [*sorted(sharp, key=_severity)[-1:], *_drift(examined)]


def _has_weak_form(problem: Problem) -> bool:
    """Common noise moves the measure at random; normalised tokens follow an equation of their own, in which time may
    be counted otherwise, too; layers are no flow, each of several copies has a measure of its own, and reduced models
    have equations of their own."""
    equation, solver = problem.equation, problem.solver
    if equation.normalization is not None or equation.noise.common is not None or problem.time is None:
        return False
    alone = all(getattr(solver, name, None) is None for name in ("layers", "copies"))
    return problem.time.clock in (None, "physical") and alone and getattr(solver, "kind", "") not in _REDUCED


def _few_tokens(initial: Measure) -> Measure:
    """Enough of them to say how fast they move."""
    points, positions = initial.sample(_TOKENS), initial.sample_positions(_TOKENS)
    return Particles(points, geometry=initial.space, positions=positions)


def _severity(check: Check) -> float:
    """Largest for the check that says most against the solution."""
    return check.error / check.tolerance if math.isfinite(check.error) else math.inf


def _window(examined: Examined, waves: Waves, window: TimeIntervals) -> Check | None:
    """`int phi dmu(b) - int phi dmu(a) = int_a^b int (<grad phi, G> + D Lap phi) dmu dt`; None where the change is too
    quick to be integrated."""
    run, equation = examined.run, examined.run.problem.equation
    begin, end = (waves.means(run.measure(_index(run, time))) for time in window.edges)
    rates = np.array([waves.rates(run.measure(_index(run, t)), equation, t) for t in window.nodes.ravel()])
    gained = np.array([window.integrals(row.reshape(window.nodes.shape))[0] for row in rates.T])
    left = [float(window.uncertainty(part(rates).T.reshape(-1, _NODES)).max()) for part in (np.real, np.imag)]
    chance = _chance(examined, waves, window)
    if math.hypot(*left) > max(examined.promise, float(chance.max())):
        return None
    span = f"{window.edges[0]:.4g} to {window.edges[-1]:.4g}"
    words = f"means of smooth functions change as the equation says, worst from t = {span}"
    allowed = 2 * examined.promise + math.hypot(*left) + chance
    defects = np.abs(end - begin - gained)
    most = int(np.argmax(np.where(np.isfinite(defects), defects / allowed, np.inf)))
    return Check.equal(words, _SOURCE, expected=0.0, measured=float(defects[most]), tolerance=float(allowed[most]))


def _chance(examined: Examined, waves: Waves, window: TimeIntervals) -> Float:
    """What noise on finitely many tokens adds to each of the means."""
    run, equation = examined.run, examined.run.problem.equation
    if examined.noiseless or examined.shows != "particles":
        return np.zeros(len(waves.vectors))
    index = _index(run, float(window.nodes[0, -1]))
    measure = run.measure(index)
    length = float(window.edges[-1] - window.edges[0])
    share = float(np.sum(measure.nodes()[1] ** 2))
    variance = waves.variances(measure, equation, float(run.times[index])) * length * share
    deviations: Float = CHANCE_DEVIATIONS * np.sqrt(variance)
    return deviations


def _index(run: Run, time: float) -> int:
    return int(np.argmin(np.abs(run.times - time)))


def _drift(examined: Examined) -> list[Check]:
    """The fast sums against the plain one, at some tokens of the first and the last snapshot."""
    run, law = examined.run, examined.run.problem.equation.law
    convolution = None if law is None else law.at(0.0).convolution(run.problem.geometry)
    cut = convolution is not None and convolution.cut  # nodes are too far apart for a kink between them
    if law is None or examined.shows == "gaussian" or (cut and examined.shows == "density"):
        return []
    errors = []
    for index in {0, run.times.size - 1}:
        present, measure = law.at(float(run.times[index])), run.measure(index)
        if not present.sums_nodes(measure):
            return []
        try:
            points = measure.nodes()[0]
        except MfpdeError:  # too many of them in so many dimensions
            return []
        count = min(_POINTS_COMPARED, _MOST_TERMS // len(points))
        if count < 1:
            return []
        chosen = np.unique(np.linspace(0, len(points) - 1, count).astype(int))
        positions = None if measure.positions is None else measure.positions[chosen]
        plain = np.asarray(present.drift_by_quadrature(measure, points[chosen], positions))
        quick = np.asarray(present.any_drift(measure, points[chosen], positions))
        size = max(float(np.abs(plain).max()), _cancelling(present, examined, measure)) or 1.0
        errors.append(float(np.abs(quick - plain).max()) / size)
    claim = "the drift is the plain sum over all tokens, relative to its size"
    return [Check.equal(claim, "the kernel's formula", expected=0.0, measured=worst(errors), tolerance=_ROUNDING)]


def _cancelling(law: Law, examined: Examined, measure: Measure) -> float:
    """Drifts this small are what is left of terms that cancel: about the uniform state it is rounding."""
    bound = speed_bound(law, examined.run.problem.equation, radius_of(measure))
    return _CANCELLED_SHARE * bound if math.isfinite(bound) else 0.0
