"""Solutions that are known: Gaussians, means under sinkhorn attention, and what the problem is compared with (physics
section 4)."""

from __future__ import annotations

import math

import numpy as np

from mfpde.contracts import BLOW_UP
from mfpde.problem import Problem
from mfpde.run import Run
from mfpde.typing import Float
from mfpde.validation.case import worst
from mfpde.validation.examined import CHANCE_DEVIATIONS, Examined
from mfpde.validation.report import Check

__all__ = ["checks"]

_SOURCE = "Gaussians under attention [castin2025]"
#: relative error of closed forms that take the exponential of a matrix
_ROUNDING = 1e-12


def checks(examined: Examined) -> list[Check]:
    """Where there is something to compare with."""
    return [*_agreement(examined), *_gaussian(examined), *_sinkhorn(examined)]


def _agreement(examined: Examined) -> list[Check]:
    """What the problem itself wants to be held against."""
    agreement = examined.run.agreement
    if agreement is None:
        return []
    claim = f"{agreement.distance} distance from {agreement.kind} is as small as the problem wants it"
    return [Check.equal(claim, "the problem", expected=0.0, measured=agreement.worst, tolerance=agreement.tolerance)]


def _gaussian(examined: Examined) -> list[Check]:
    """A Gaussian that stays one: held against the formula where there is one, otherwise against its moment equations,
    which another solver integrates."""
    run, problem = examined.run, examined.run.problem
    dimension = problem.geometry.ambient_dimension
    if not examined.flat or problem.equation.initial_measure().normal is None:
        return []
    if problem.equation.velocity.at(0.0).gaussian_unfit(dimension) is not None:
        return []
    exact = _formula(problem, run)
    if exact is not None:
        words = "the closed form"
    elif examined.shows != "gaussian":
        exact, words = _moment_equations(problem, run), "the moment equations of a Gaussian"
    if exact is None:
        return []
    return [*_poles(run, exact), _covariances(examined, exact, words)]


class _Exact:
    """Covariances of the snapshots as far as they are known, and the time of the blow-up."""

    def __init__(self, covariances: Float, pole: float) -> None:
        self.covariances, self.pole = covariances, pole


def _formula(problem: Problem, run: Run) -> _Exact | None:
    """`S = X Y^{-1}` under softmax attention with V = v I and constant coefficients."""
    from mfpde.validation.cases.gaussian_closed_form import softmax_covariance, softmax_pole

    equation, dimension = problem.equation, problem.geometry.ambient_dimension
    if not equation.velocity.constant or not isinstance(problem.noise.kappa, float | int) or problem.drift is not None:
        return None
    terms = () if equation.law is None else equation.law.terms(dimension)
    if len(terms) != 1 or not (terms[0].head.plain and terms[0].head.normalised):
        return None
    V, A = terms[0].value, terms[0].head.query_matrix(dimension)
    start = equation.initial_measure().covariance
    if not np.array_equal(V, V[0, 0] * np.eye(dimension)) or np.linalg.eigvalsh(start)[0] <= 0:
        return None
    factor, kappa = float(V[0, 0]), float(problem.noise.kappa)
    exact = np.array([softmax_covariance(start, A, factor, kappa, float(time)) for time in run.times])
    return _Exact(exact, softmax_pole(start, A, factor) if kappa == math.inf else math.nan)


def _moment_equations(problem: Problem, run: Run) -> _Exact | None:
    from mfpde.run_loop import solve

    data = problem.canonical()
    data = {name: value for name, value in data.items() if name not in ("compare", "observe")}
    times = [float(time) for time in run.times]
    data |= {"solver": {"kind": "gaussian"}, "time": {"until": data["time"]["until"], "save_at": times}}
    other = solve(Problem.from_dict(data))
    known = other.times <= run.times[-1] * (1 + 1e-12)
    covariances = [other.measure(int(index)).covariance for index in np.flatnonzero(known)]
    pole = other.outcome.time if other.outcome.kind == BLOW_UP else math.inf
    return _Exact(np.array(covariances[: run.times.size]), pole)


def _covariances(examined: Examined, exact: _Exact, words: str) -> Check:
    """The relative error, over the growth of the covariance: near a pole it multiplies what went before."""
    run = examined.run
    errors = []
    first = float(np.linalg.norm(exact.covariances[0], 2))
    for index, known in enumerate(exact.covariances):
        size = float(np.linalg.norm(known, 2))
        apart = float(np.linalg.norm(run.measure(index).covariance - known, 2))
        errors.append(apart / size / max(1.0, size / first))
    claim = f"the covariance is that of {words}, relative to its size"
    tolerance = examined.promise + _ROUNDING + _of_sample(examined, len(exact.covariances[0]))
    return Check.equal(claim, _SOURCE, expected=0.0, measured=worst(errors), tolerance=tolerance)


def _of_sample(examined: Examined, dimension: int) -> float:
    """The relative error that the covariance of independent tokens has by chance."""
    if examined.shows != "particles":
        return 0.0
    share = float(np.sum(examined.run.measure(0).nodes()[1] ** 2))
    return CHANCE_DEVIATIONS * math.sqrt(2 * dimension * share)


def _poles(run: Run, exact: _Exact) -> list[Check]:
    if math.isnan(exact.pole) or (exact.pole == math.inf and run.outcome.kind != BLOW_UP):
        return []
    until = float(run.problem.time.until) if run.problem.time is not None else math.inf
    if run.outcome.kind != BLOW_UP and exact.pole > until:
        return []
    measured = run.outcome.time if run.outcome.kind == BLOW_UP else math.inf
    tolerance = 10 * float(run.outcome.uncertainty or 0.0) + _POLE_ERROR * exact.pole
    claim = "the blow-up comes when the closed form has it"
    return [Check.equal(claim, _SOURCE, expected=exact.pole, measured=measured, tolerance=tolerance)]


#: of the time of a blow-up, relative
_POLE_ERROR = 1e-6


def _sinkhorn(examined: Examined) -> list[Check]:
    """Under sinkhorn attention the mean is `e^{tV} m_0`, whatever the measure."""
    from scipy.linalg import expm

    run, problem = examined.run, examined.run.problem
    law, constant = problem.equation.law, problem.equation.velocity.constant
    if not examined.flat or law is None or not constant or problem.drift is not None:
        return []
    terms = law.terms(problem.geometry.ambient_dimension)
    if not terms or not all(term.head.keeps_mean and not term.masked for term in terms):
        return []
    V = np.sum([term.value for term in terms], axis=0)
    start = problem.equation.initial_measure().mean
    errors = []
    for index in examined.looks:
        measure = run.measure(index)
        exact = expm(float(run.times[index]) * V) @ start
        size = math.sqrt(float(np.trace(measure.covariance) + exact @ exact)) or 1.0
        errors.append(float(np.linalg.norm(measure.mean - exact)) / size)
    claim = "sinkhorn attention moves the mean by e^{tV}, relative to the tokens' size"
    tolerance = examined.promise + _ROUNDING
    return [Check.equal(claim, _SOURCE, expected=0.0, measured=worst(errors), tolerance=tolerance)]
