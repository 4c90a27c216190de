"""What theory expects of independent tokens [fournier2015] (physics section 10)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mfpde.attention import Law
from mfpde.measure import Measure
from mfpde.validation.mean_field.limit import Limit

__all__ = ["Expectation", "of_distance", "smooth"]

_GAP = 1e-6  # of the largest density: less between two parts of a measure separates them
_PLACES = 2000  # at which a density is looked at for gaps


@dataclass(frozen=True)
class Expectation:
    """An exponent of n and the power of `log n` beside it, or None and the reason."""

    exponent: float | None
    logarithm: float = 0.0
    why: str = ""


def smooth(limit: Limit) -> Expectation:
    """`n^{-1/2}`, while the tilt is mild."""
    tilt = _tilt(limit)
    if tilt >= 1:
        why = (
            f"|S A| = {tilt:.2g} with tails without end: the average of e^<Ax, y> is that of the extreme token, and "
            "the law of large numbers does not hold at n^-1/2"
        )
        return Expectation(None, why=why)
    return Expectation(-0.5)


def of_distance(kind: str, limit: Limit) -> Expectation:
    """Of Wasserstein distances by the intrinsic dimension; W_2 is slower between separated clusters."""
    general = smooth(limit)
    if general.exponent is None:
        return general
    space = limit.problem.geometry
    dimension = space.ambient_dimension - (0 if space.flat else 1)
    if kind == "energy":
        return Expectation(-0.5)
    if kind == "wasserstein-1":
        if dimension == 1:
            return Expectation(-0.5)
        return Expectation(-0.5, 0.5) if dimension == 2 else Expectation(-1 / dimension)
    separated = _separated(limit.measures[-1]) if kind == "wasserstein-2" else True
    return Expectation(-0.25 if separated else -0.5)


def _tilt(limit: Limit) -> float:
    """Largest `|S_t A|` of a measure with tails under a head with exponential scores; 0 for any other."""
    equation = limit.problem.equation
    law = equation.law
    if law is None or not equation.geometry.flat or equation.initial_measure().compact:
        return 0.0
    found = 0.0
    for index, time in enumerate(limit.times):
        covariance = limit.measures[index].covariance
        found = max(found, *(_tilts(law, covariance, float(time), equation.geometry.ambient_dimension)))
    return found


def _tilts(law: Law, covariance: np.ndarray, time: float, dimension: int) -> list[float]:
    heads = [term.head for term in law.at(time).terms(dimension)]
    matrices = [head.query_matrix(dimension) for head in heads if head.plain]
    return [0.0, *(float(np.linalg.norm(covariance @ matrix, 2)) for matrix in matrices)]


def _separated(measure: Measure) -> bool:
    """Whether a gap parts a density on the line or the circle; True where that is not known."""
    space = measure.space
    if measure.point_masses() is not None or not (space.angular or space.ambient_dimension == 1):
        return True
    if space.angular:
        places = np.linspace(0.0, 2 * math.pi, _PLACES, endpoint=False)
    else:
        low, high = measure.reach(_GAP)
        places = np.linspace(float(low[0]), float(high[0]), _PLACES)
    empty = np.asarray(measure.evaluate(places[:, None])) < _GAP * float(np.max(measure.evaluate(places[:, None])))
    if space.angular:
        return int(np.sum(empty & ~np.roll(empty, 1))) > 1
    return bool(empty[1:-1].any())
