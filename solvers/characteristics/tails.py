"""Gaussian tails of mixtures on the line: far out one component dominates, and its drift is affine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.attention import Velocity
from mfpde.geometry import Line, Queries
from mfpde.measure import Measure, Particles
from mfpde.measure.damping import LogFactors, Pair
from mfpde.measure.hermite import normal_nodes
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["MARKERS", "Cutoff", "Tailed", "Tails", "farthest_tilt", "has_tails", "marker_drift", "nodes_between"]

#: nodes without weight that show where the component on the right, and on the left, is: its mean, one deviation beyond
MARKERS = 4
_NORMAL_ACCURACY = 1e-180  # nodes of normal laws then extend to 36 deviations
_MAX_DEVIATIONS = 4000.0  # to which tails are continued at most
_MAX_TILT_GROWTH = 30.0  # times the first tilt: wider laws are near their blow-up


@dataclass(frozen=True)
class Cutoff:
    """Nodes lie between `low` and `high`, `refinement` times as dense as a measure's own; beyond them tails are
    continued to `far` deviations of their components."""

    low: float
    high: float
    refinement: float
    far: float

    @property
    def numbers(self) -> Float:
        """As an array."""
        return np.array([self.low, self.high, self.refinement, self.far])


def has_tails(equation: Equation, initial: Measure) -> bool:
    """Whether tails are of that kind: mixtures of normal laws on the line, one softmax kernel that does not change."""
    velocity, law = equation.velocity, equation.velocity.law
    normal = all(part.normal is not None and part.normal.rank == 1 for _, part in initial.summands)
    if (
        not normal
        or initial.normal is not None
        or initial.ambient_dimension > 1
        or velocity.pointwise is not None
        or not velocity.constant
    ):
        return False
    terms = () if law is None else law.terms(1)
    return len(terms) == 1 and terms[0].head.plain and terms[0].head.normalised and not terms[0].masked


def farthest_tilt(equation: Equation, variance: float, until: float) -> float:
    """The largest |S A| till then, `S^-1 = S_0^-1 - 2 V A t`, or many times the first where S becomes infinite."""
    query, value = _coefficients(equation.velocity)
    least = max(1 - 2 * value * query * until * variance, 1 / _MAX_TILT_GROWTH)
    return abs(query) * variance * max(1.0, 1 / least)


def nodes_between(initial: Measure, cutoff: Cutoff) -> tuple[Float, Float]:
    """Points `(n, 1)` and weights between the ends, and the markers."""
    points, logs = _lattice(initial, cutoff)
    inside = (points >= cutoff.low) & (points <= cutoff.high) & (np.exp(logs) > 0)
    weights = np.exp(logs[inside])
    ends = _outermost(initial)
    markers = [ends[0][0], ends[0][0] + ends[0][1], ends[1][0], ends[1][0] - ends[1][1]]
    return np.append(points[inside], markers)[:, None], np.append(weights / weights.sum(), np.zeros(MARKERS))


class Tails:
    """Nodes beyond the cut-off, whose places follow from those of the markers."""

    def __init__(self, initial: Measure, cutoff: Cutoff) -> None:
        points, logs = _lattice(initial, cutoff)
        self._sides = (points > cutoff.high, points < cutoff.low)
        self._logs = logs - np.log(np.exp(logs[(points >= cutoff.low) & (points <= cutoff.high)]).sum())
        (right, width), (left, other) = _outermost(initial)
        self._z = [(points[self._sides[0]] - right) / width, (left - points[self._sides[1]]) / other]

    def source(self, places: Float, weights: Float) -> Tailed:
        """Everything, with the nodes at these places, the markers last."""
        pairs = _pairs(places)
        beyond = [first + (second - first) * z for (first, second), z in zip(pairs, self._z, strict=True)]
        logs = [self._logs[side] for side in self._sides]
        points = np.concatenate([places[:-MARKERS], *beyond])[:, None]
        return Tailed(points, np.concatenate([np.log(weights[:-MARKERS]), *logs]))


class Tailed(Particles):
    """Points whose weights are too small for doubles and known by their logarithms."""

    pointlike: ClassVar[bool] = False  # sums over weights would lose the tails

    def __init__(self, points: Float, logs: Float) -> None:
        super().__init__(points, np.exp(logs), Line())
        self._logs, self._ones = logs, np.ones(logs.size)

    def tilt(self, queries: Queries, matrix: Float | None = None, log_factors: LogFactors = None) -> Pair:
        from mfpde.transform import tilted_mean

        w = queries if matrix is None else queries.mapped(matrix)
        mean, value = tilted_mean(w.points(), self.points, self._ones, self._logs)
        return value, w.laid(mean)

    def tilted_covariance(self, w: Float, log_factors: LogFactors = None) -> tuple[Float, Float, Float]:
        from mfpde.transform import tilted_covariance

        return tilted_covariance(w, self.points, self._ones, self._logs)


def marker_drift(places: Float, velocity: Velocity) -> Float:
    """`V (m + S A x)` at the markers, the last of the places, for the component that is seen there."""
    query, value = _coefficients(velocity)
    pairs = _pairs(places)
    drifts = [
        [value * (mean + (other - mean) ** 2 * query * x) for x in pair]
        for pair, (mean, other) in zip(pairs, pairs if query > 0 else pairs[::-1], strict=True)
    ]
    return np.array(drifts).ravel()


def _coefficients(velocity: Velocity) -> tuple[float, float]:
    assert velocity.law is not None  # noqa: S101 - for the type checker
    term = velocity.law.terms(1)[0]
    return float(term.head.query_matrix(1)[0, 0]), float(term.value[0, 0])


def _pairs(places: Float) -> tuple[tuple[float, float], tuple[float, float]]:
    right, beyond, left, before = (float(place) for place in places[-MARKERS:])
    return (right, beyond), (left, before)


def _outermost(initial: Measure) -> list[tuple[float, float]]:
    """Mean and deviation of the widest component, the one farthest to the right, and to the left, of several."""
    parts = [(float(part.mean[0]), float(np.sqrt(part.covariance[0, 0]))) for _, part in initial.summands]
    return [max(parts, key=lambda part: (part[1], sign * part[0])) for sign in (1, -1)]


def _lattice(initial: Measure, cutoff: Cutoff) -> tuple[Float, Float]:
    """The nodes of all components, continued as far as that, and the logarithms of their weights."""
    z, weights = normal_nodes(1, _NORMAL_ACCURACY, cutoff.refinement)
    spacing, norm = float(z[1, 0] - z[0, 0]), float(np.log(weights.max()))
    count = int(np.ceil(min(cutoff.far, _MAX_DEVIATIONS) / spacing))
    line = spacing * np.arange(-count, count + 1)
    parts = [(part.mean[0] + np.sqrt(part.covariance[0, 0]) * line) for _, part in initial.summands]
    logs = [np.log(share) + norm - 0.5 * line**2 for share, _ in initial.summands]
    return np.concatenate(parts), np.concatenate(logs)
