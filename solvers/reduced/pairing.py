"""One pair after the other on its geodesic, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mfpde.contracts import Accuracy, Progress, State
from mfpde.errors import ProblemError
from mfpde.solvers.reduced.physical_time import PhysicalTime
from mfpde.solvers.reduced.tokens import ReducedIntegration
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.reduced.hardmax import Hardmax

__all__ = ["PairingIntegration"]

#: tokens whose distances are kept, n^2 numbers
_MOST_TOKENS = 4096
#: from opposite points, at which the direction between two is unknown
_OPPOSITE = 1e-9


@dataclass(frozen=True, eq=False)
class _Meeting:
    """The closest pair of clusters, from the time on at which it began to move, until it is one cluster at `end`, in
    the run's own clock; `duration` is that in s of the limit."""

    start: float
    end: float
    duration: float
    pair: tuple[int, int]
    #: of the geodesic from the first to the second: its start, and the unit tangent there
    place: Float
    tangent: Float
    angle: float
    #: c of `phi' = -c sin phi`, and the share of the way that the first of them goes
    rate: float
    share: float
    physical: PhysicalTime | None

    def angle_at(self, time: float) -> float:
        """phi with `tan(phi / 2) = tan(phi_0 / 2) e^{-c s}`."""
        passed = time - self.start
        if self.physical is not None:
            passed = self.physical.passed(self.angle, self.rate, passed, self.duration)
        return 2 * float(np.arctan(np.tan(self.angle / 2) * np.exp(-self.rate * passed)))

    def turning_at(self, time: float) -> float:
        """`-phi'`."""
        angle = self.angle_at(time)
        pace = 0.0 if self.physical is None else self.physical.log_pace(angle)
        return self.rate * float(np.sin(angle) * np.exp(-pace))

    def on_geodesic(self, angle: float) -> Float:
        return np.cos(angle) * self.place + np.sin(angle) * self.tangent

    def places(self, time: float) -> tuple[Float, Float]:
        """Where the two are."""
        gone = self.angle - self.angle_at(time)
        return self.on_geodesic(self.share * gone), self.on_geodesic(self.angle - (1 - self.share) * gone)


class _Clusters:
    """Clusters of tokens, with the distances between all that are left."""

    def __init__(self, vectors: Float, weights: Float) -> None:
        self.places, self.masses = vectors.copy(), weights.copy()
        self.of_token = np.arange(len(weights))
        self.distances = np.array([_angles(place, vectors) for place in vectors])
        np.fill_diagonal(self.distances, np.inf)
        self._partner = self.distances.argmin(axis=1)
        self._nearest = self.distances.min(axis=1)

    def closest(self) -> tuple[int, int]:
        """The first of the closest pairs."""
        first = int(np.argmin(self._nearest))
        return first, int(self._partner[first])

    def merge(self, pair: tuple[int, int], place: Float) -> None:
        """The second becomes part of the first, which moves there."""
        first, second = pair
        self.masses[first] += self.masses[second]
        self.places[first] = place
        self.of_token[self.of_token == second] = first
        gone = ~np.isfinite(self.distances[first])
        gone[[first, second]] = True
        beside = np.where(gone, np.inf, _angles(place, self.places))
        self.distances[second, :] = self.distances[:, second] = np.inf
        self.distances[first, :] = self.distances[:, first] = beside
        nearer = beside < self._nearest
        self._partner[nearer], self._nearest[nearer] = first, beside[nearer]
        stale = np.isin(self._partner, pair) & ~nearer
        stale[list(pair)] = True
        self._partner[stale] = self.distances[stale].argmin(axis=1)
        self._nearest[stale] = self.distances[stale].min(axis=1)


def _angles(vector: Float, others: Float) -> Float:
    """Between unit vectors, `(n,)`, to rounding of the small ones and of those near pi."""
    apart, together = vector - others, vector + others
    squares = np.einsum("nd,nd->n", apart, apart), np.einsum("nd,nd->n", together, together)
    return 2 * np.arctan2(np.sqrt(squares[0]), np.sqrt(squares[1]))


class PairingIntegration(ReducedIntegration):
    """Meetings of pairs are found when the time comes to them."""

    def __init__(self, settings: Hardmax, task: InitialValueProblem) -> None:
        points, weights = task.initial.nodes()
        super().__init__(task, weights)
        if len(weights) > _MOST_TOKENS:
            wanted = f"{len(weights):,} tokens: distances are kept between up to {_MOST_TOKENS:,}"
            raise ProblemError.at("initial", wanted)
        geometry, law = task.equation.geometry, task.equation.attention
        term = None if law is None else law.terms(geometry.ambient_dimension)[0]
        self._speed = 1.0 if term is None else float(term.value[0, 0])
        self._by_mass = term is not None and term.head.normalised
        self._physical = None
        if term is not None and task.clock == "physical":
            beta = float(term.head.query_matrix(geometry.ambient_dimension)[0, 0])
            self._physical = PhysicalTime(beta, self._by_mass)
        self._settings, self._time = settings, 0.0
        self._clusters = _Clusters(geometry.embed(points), weights)
        self._merged = 0
        self._meeting = self._next_meeting(0.0)

    def _next_meeting(self, start: float) -> _Meeting | None:
        """That of the closest pair; None where all are one, or opposite."""
        clusters = self._clusters
        first, second = clusters.closest()
        angle = float(clusters.distances[first, second])
        if not angle < np.pi - _OPPOSITE:
            return None
        place, other = clusters.places[first], clusters.places[second]
        across = other - (other @ place) * place
        length = float(np.linalg.norm(across))
        tangent = across / length if length > 0 else across
        mass, beside = float(clusters.masses[first]), float(clusters.masses[second])
        speeds = (beside / mass, mass / beside) if self._by_mass else (beside, mass)
        rate = self._speed * sum(speeds)
        ratio = np.tan(angle / 2) / np.tan(self._settings.merge / 2)
        duration = float(np.log(ratio)) / rate if ratio > 1 else 0.0
        share, took = speeds[0] / sum(speeds), duration
        if self._physical is not None and duration > 0:
            with np.errstate(over="ignore"):
                took = float(np.exp(self._physical.log_duration(angle, rate, duration)))
        pair, physical = (first, second), self._physical
        return _Meeting(start, start + took, duration, pair, place, tangent, angle, rate, share, physical)

    @property
    def time(self) -> float:
        return self._time

    def advance(self, target: float, budget: int) -> Progress:
        while self._meeting is not None and self._meeting.end <= target:
            meeting = self._meeting
            self._clusters.merge(meeting.pair, meeting.on_geodesic(meeting.share * meeting.angle))
            self._merged += 1
            self._meeting = self._next_meeting(meeting.end)
        self._time = target
        return Progress(State.REACHED)

    def vectors(self) -> Float:
        places = self._clusters.places.copy()
        if self._meeting is not None:
            first, second = self._meeting.pair
            places[first], places[second] = self._meeting.places(self._time)
        return places[self._clusters.of_token]

    def residual(self) -> float:
        """`(sum_i w_i |x_i'|^2)^{1/2}`."""
        if self._meeting is None:
            return 0.0
        meeting, masses = self._meeting, self._clusters.masses
        speed = meeting.turning_at(self._time)
        first, second = (masses[number] for number in meeting.pair)
        return float(speed * np.sqrt(first * meeting.share**2 + second * (1 - meeting.share) ** 2))

    def state(self) -> dict[str, AnyArray]:
        """The time: all else follows from where tokens began."""
        return {"time": np.array(self._time)}

    def accuracy(self) -> Accuracy:
        return Accuracy(kept=True)

    def statistics(self) -> dict[str, float]:
        return {"particles": float(len(self._weights)), "merged": float(self._merged)}
