"""Whether the initial data, and how they move at first, are of a size that products of them do not overflow."""

from __future__ import annotations

import numpy as np

from mfpde.equation import InitialValueProblem
from mfpde.errors import ProblemError
from mfpde.measure import Measure, Particles
from mfpde.typing import Float

__all__ = ["ADVICE", "ADVICE_ON_RATES", "PLACE_MAX", "RATE_MAX", "SPREAD_MAX", "check_scales"]

SPREAD_MAX = 1e60  # standard deviation: products of two covariances and two matrices do not overflow
PLACE_MAX = 1e100  # component of the mean
RATE_MAX = 1e100  # of the first motion over the size of the data, per unit time

ADVICE = "measure x in another unit"
ADVICE_ON_NOISE = "measure x or time in another unit, or take a larger kappa"
ADVICE_ON_RATES = "measure x or time in another unit, or scale coefficients down"


def check_scales(task: InitialValueProblem) -> None:
    """Refuse what no steps could follow, on flat spaces; without looking at more than mean and covariance."""
    measure = task.initial
    if not measure.space.flat:
        return
    place, spread = float(np.abs(measure.mean).max()), float(np.sqrt(np.trace(measure.covariance)))
    if not place < PLACE_MAX:
        raise ProblemError.at("initial", f"has a mean beyond 1e100; {ADVICE}")
    if not spread < SPREAD_MAX:
        raise ProblemError.at("initial", f"is wider than 1e60; {ADVICE}")
    if not task.equation.noise.strongest < RATE_MAX * spread**2 and spread > 0:
        raise ProblemError.at("noise", f"widens the initial data faster than at a rate of 1e100; {ADVICE_ON_NOISE}")
    size = max(place, spread)
    if size > 0 and not _first_speed(task, measure) < RATE_MAX * size:
        moving = next(
            name for name in ("attention", "interaction", "drift") if getattr(task.equation, name) is not None
        )
        raise ProblemError.at(moving, f"moves the initial data faster than at a rate of 1e100; {ADVICE_ON_RATES}")


def _first_speed(task: InitialValueProblem, measure: Measure) -> float:
    """The largest component of the velocity at t = 0 among tokens one deviation from the mean: of a normal law of
    those moments where it is known, elsewhere of those tokens."""
    velocity, tokens = task.equation.velocity.at(0.0), _deviations(measure.mean, measure.covariance)
    try:
        drift = velocity.gaussian_drift(measure.mean, measure.covariance)
        found = drift.c + (tokens - measure.mean) @ drift.B.T
    except ProblemError:
        positions = None if measure.positions is None else np.zeros(len(tokens))
        law = Particles(tokens, None, measure.space, positions)
        parts = [] if velocity.law is None else [velocity.law.drift_by_quadrature(law, tokens, positions)]
        parts += [] if velocity.pointwise is None else [velocity.pointwise.outputs(tokens)]
        found = sum(parts, np.zeros(tokens.shape))
    return float(np.abs(found).max())


def _deviations(mean: Float, covariance: Float) -> Float:
    """The points `mean +- a`, a the axes of the covariance, as long as its deviations along them."""
    variances, axes = np.linalg.eigh(covariance)
    a = (axes * np.sqrt(np.maximum(variances, 0.0))).T
    return np.concatenate([mean + a, mean - a])
