"""Gaussian tails of mixtures on the line: far out one component is all that tilts see, and moves by an affine drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mfpde.attention import Attention, Softmax, Velocity
from mfpde.measure import Measure, Normal, Superposition
from mfpde.measure.hermite import normal_nodes
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["MARKERS", "Reach", "Tailed", "Tails", "farthest_tilt", "has_tails", "nodes_between"]

#: nodes without weight that show where the component on the right, and on the left, is: its mean, one deviation beyond
MARKERS = 4
_ACCURACY = 1e-180  # nodes of normal laws reach out to 36 deviations by themselves
_MOST = 4000.0  # deviations
_GROWN = 30.0  # times the first tilt: wider laws are about to become infinite


@dataclass(frozen=True)
class Reach:
    """Nodes stand between `low` and `high` by themselves, so many times as dense as `refinement` says; the tails are
    followed `far` deviations of their components."""

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
    normal = isinstance(initial, Superposition) and all(isinstance(p, Normal) and p.rank == 1 for p in initial.parts)
    if not normal or initial.ambient_dimension > 1 or velocity.pointwise is not None or not velocity.constant:
        return False
    terms = law.terms(1) if isinstance(law, Attention) else []
    return len(terms) == 1 and isinstance(terms[0].head, Softmax) and not terms[0].masked


def farthest_tilt(equation: Equation, variance: float, until: float) -> float:
    """The largest |S A| till then, `S^-1 = S_0^-1 - 2 V A t`, or many times the first where S becomes infinite."""
    query, value = _coefficients(equation.velocity)
    least = max(1 - 2 * value * query * until * variance, 1 / _GROWN)
    return abs(query) * variance * max(1.0, 1 / least)


def nodes_between(initial: Superposition, reach: Reach) -> tuple[Float, Float]:
    """Points `(n, 1)` and weights between the ends, and the markers."""
    points, logs = _lattice(initial, reach)
    inside = (points >= reach.low) & (points <= reach.high) & (np.exp(logs) > 0)
    weights = np.exp(logs[inside])
    ends = _outermost(initial)
    markers = [ends[0][0], ends[0][0] + ends[0][1], ends[1][0], ends[1][0] - ends[1][1]]
    return np.append(points[inside], markers)[:, None], np.append(weights / weights.sum(), np.zeros(MARKERS))


class Tails:
    """What lies beyond the ends, and where it has come to when the markers are somewhere."""

    def __init__(self, initial: Superposition, reach: Reach) -> None:
        points, logs = _lattice(initial, reach)
        self._sides = (points > reach.high, points < reach.low)
        self._logs = logs - np.log(np.exp(logs[(points >= reach.low) & (points <= reach.high)]).sum())
        (right, width), (left, other) = _outermost(initial)
        self._z = [(points[self._sides[0]] - right) / width, (left - points[self._sides[1]]) / other]

    def source(self, places: Float, weights: Float) -> Tailed:
        """Everything, with the nodes at these places, the markers last."""
        pairs = _pairs(places)
        beyond = [first + (second - first) * z for (first, second), z in zip(pairs, self._z, strict=True)]
        logs = [self._logs[side] for side in self._sides]
        points = np.concatenate([places[:-MARKERS], *beyond])[:, None]
        return Tailed(points, np.concatenate([np.log(weights[:-MARKERS]), *logs]), pairs)


@dataclass(frozen=True, eq=False)
class Tailed:
    """Points with logarithms of weights, and the markers."""

    points: Float
    logs: Float
    pairs: tuple[tuple[float, float], tuple[float, float]]

    def drift(self, velocity: Velocity, points: Float) -> Float:
        """`V grad log M(Ax)`."""
        from mfpde.transform import tilted_mean

        query, value = _coefficients(velocity)
        return value * tilted_mean(query * points, self.points, np.ones(self.logs.size), self.logs)[0]

    def divergence(self, velocity: Velocity, points: Float) -> Float:
        """`V A (log M)''(Ax)`."""
        from mfpde.transform import tilted_covariance

        query, value = _coefficients(velocity)
        spread = tilted_covariance(query * points, self.points, np.ones(self.logs.size), self.logs)[2]
        return value * query * spread[:, 0, 0]

    def marker_drift(self, velocity: Velocity) -> Float:
        """`V (m + S A x)` for the component that is seen there."""
        query, value = _coefficients(velocity)
        seen = self.pairs if query > 0 else self.pairs[::-1]
        drifts = [
            [value * (mean + (other - mean) ** 2 * query * x) for x in pair]
            for pair, (mean, other) in zip(self.pairs, seen, strict=True)
        ]
        return np.array(drifts).ravel()


def _coefficients(velocity: Velocity) -> tuple[float, float]:
    assert isinstance(velocity.law, Attention)  # noqa: S101 - for the type checker
    term = velocity.law.terms(1)[0]
    return float(term.head.query_matrix(1)[0, 0]), float(term.value[0, 0])


def _pairs(places: Float) -> tuple[tuple[float, float], tuple[float, float]]:
    right, beyond, left, before = (float(place) for place in places[-MARKERS:])
    return (right, beyond), (left, before)


def _outermost(initial: Superposition) -> list[tuple[float, float]]:
    """Mean and deviation of the widest component, the one farthest to the right, and to the left, of several."""
    parts = [(float(part.mean[0]), float(np.sqrt(part.covariance[0, 0]))) for part in initial.parts]
    return [max(parts, key=lambda part: (part[1], sign * part[0])) for sign in (1, -1)]


def _lattice(initial: Superposition, reach: Reach) -> tuple[Float, Float]:
    """The nodes of all components, continued as far as that, and the logarithms of their weights."""
    z, weights = normal_nodes(1, _ACCURACY, reach.refinement)
    spacing, norm = float(z[1, 0] - z[0, 0]), float(np.log(weights.max()))
    count = int(np.ceil(min(reach.far, _MOST) / spacing))
    line = spacing * np.arange(-count, count + 1)
    parts = [(part.mean[0] + np.sqrt(part.covariance[0, 0]) * line) for part in initial.parts]
    logs = [np.log(share) + norm - 0.5 * line**2 for share in initial.shares]
    return np.concatenate(parts), np.concatenate(logs)
