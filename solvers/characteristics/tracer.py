"""Tracers: points carried by the drift of the nodes through one of their steps, forwards or back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mfpde.errors import ProblemError
from mfpde.measure import Measure
from mfpde.solvers.characteristics.flow import Flow
from mfpde.solvers.steppers.base import OrdinarySystem, Size
from mfpde.solvers.stepping.adaptive_ode import March, Verdict
from mfpde.typing import AnyArray, Float

__all__ = ["Tracer"]

_ATTEMPTS_MAX = 10_000  # at steps of tracers, within one step of the nodes
_HEAVY_WEIGHT = 1e-20  # of the largest weight: lighter nodes do not count in the extent
_PASSED_MAX = 10.0  # extents and ways of the nodes in one of their steps: a faster tracer comes from infinity


@dataclass(frozen=True)
class _Cloud:
    """Some of the tracers: their numbers, the time that has passed within the step of the nodes, their own step, their
    places, the integrals of the divergence, their positions."""

    number: AnyArray
    passed: float
    step: float
    places: Float
    grown: Float
    positions: Float | None

    def only(self, kept: AnyArray) -> _Cloud:
        positions = None if self.positions is None else self.positions[kept]
        return replace(
            self, number=self.number[kept], places=self.places[kept], grown=self.grown[kept], positions=positions
        )


class Tracer:
    """Carries points by the drift between `start` and `end`, where the nodes' state is `nodes(time)`: `onwards`, or
    back in time."""

    def __init__(
        self, flow: Flow, nodes: Callable[[float], Float], start: float, end: float, onwards: bool = False
    ) -> None:
        self._flow, self._nodes, self._start, self._end, self._onwards = flow, nodes, start, end, onwards
        self._last = float(np.nextafter(end, -np.inf))  # at a jump the earlier coefficients end a step
        self._sources: dict[float, Measure] = {}
        self._before: Measure | None = None
        state = nodes(start)
        self._spread, self._rounding = flow.spread(state), flow.rounding(state)
        # a narrow law that moves as a whole, as one far from the origin does, moves by many of its extents
        self._reach = self._spread + self._extent(state) + self._moved_mean(state)

    def carry(self, points: Float, grown: Float, positions: Float | None, tolerance: float) -> tuple[Float, Float]:
        """Points and `int div G` at the other end. Onwards the integral is not asked for; back in time it is infinite
        for points that come from infinity, as strong contractions have them."""
        places, total = points.copy(), grown.copy()
        cloud = _Cloud(np.arange(points.shape[0]), 0.0, self._length, points, grown, positions)
        for _ in range(_ATTEMPTS_MAX):
            away = self._away(cloud)
            total[cloud.number[away]] = np.inf
            cloud = self._moved(cloud.only(~away), tolerance)
            if cloud.number.size == 0 or cloud.passed >= self._length:
                places[cloud.number], total[cloud.number] = cloud.places, cloud.grown
                return places, total
        raise ProblemError.at("points", f"cannot be traced between t = {self._start:g} and {self._end:g}")

    @property
    def _length(self) -> float:
        return self._end - self._start

    def _moved(self, cloud: _Cloud, tolerance: float) -> _Cloud:
        """Integrated to the other end, or until a point moves too fast to have come from a finite place."""
        size, left = cloud.places.size, self._length - cloud.passed
        if size == 0:
            return cloud
        march, now = March(_Carried(self, cloud, left), tolerance, min(cloud.step, left)), cloud
        for tried in march.to(left, _ATTEMPTS_MAX):
            if tried is Verdict.ACCEPTED:
                places = self._flow.geometry.retract(march.state[:size].reshape(cloud.places.shape))
                passed = self._length if march.time == left else cloud.passed + march.time
                now = replace(cloud, passed=passed, step=march.step, places=places, grown=march.state[size:])
                if passed == self._length or self._away(now).any():
                    return now
        raise ProblemError.at("points", f"cannot be traced between t = {self._start:g} and {self._end:g}")

    def speeds(self, cloud: _Cloud, passed: float, places: Float) -> tuple[Float, Float]:
        """How fast places of the cloud move and their integrals grow, when so much of the step has passed."""
        time = self._time(cloud.passed + passed)
        drift = self._drift(time, places, cloud.positions)
        if self._onwards:
            return drift, np.zeros(places.shape[0])
        native = self._flow.geometry.retract(places)
        return -drift, self._flow.velocity(time).divergence(self._source(time), native, cloud.positions)

    def _drift(self, time: float, places: Float, positions: Float | None) -> Float:
        space = self._flow.geometry
        drift = self._flow.velocity(time).drift(self._source(time), space.retract(places), positions)
        return space.extend(places, drift)

    def _time(self, passed: float) -> float:
        time = self._start + passed if self._onwards else self._end - passed
        return min(max(time, self._start), self._last)

    def _source(self, time: float) -> Measure:
        if time not in self._sources:
            if self._before is None:
                self._flow.forget()
            self._sources[time] = self._before = self._flow.source(time, self._nodes(time), self._before)
        return self._sources[time]

    def _away(self, cloud: _Cloud) -> AnyArray:
        """Points that, back in time, would move by many extents of the nodes in one step."""
        none = np.zeros(cloud.number.size, dtype=bool)
        if self._onwards or not self._flow.geometry.flat or cloud.number.size == 0:
            return none
        with np.errstate(all="ignore"):
            speed = np.abs(self._drift(self._time(cloud.passed), cloud.places, cloud.positions)).max(axis=1)
        return ~(speed * self._length <= _PASSED_MAX * self._reach)

    def _extent(self, state: Float) -> float:
        weights = self._flow.weights
        points = state.reshape(weights.size, -1)
        heavy = weights > _HEAVY_WEIGHT * weights.max()
        return float(np.abs(points[heavy] - np.einsum("n,nd->d", weights, points)).max(initial=0.0))

    def _moved_mean(self, state: Float) -> float:
        """How far the mean of the nodes goes in their step."""
        weights = self._flow.weights
        moved = (self._nodes(self._end) - state).reshape(weights.size, -1)
        return float(np.abs(np.einsum("n,nd->d", weights, moved)).max(initial=0.0))

    def size(self, places: Float, grown: Float) -> float:
        """Errors of places relative to the nodes' spread, of the integral as they are."""
        known = max(float(np.abs(places).max(initial=0.0)) - self._rounding, 0.0)
        return max(known / self._spread, float(np.abs(grown).max(initial=0.0)))


class _Carried(OrdinarySystem):
    """A cloud on its way through what is left of a step: its places, one after the other, and its integrals."""

    def __init__(self, tracer: Tracer, cloud: _Cloud, left: float) -> None:
        self._tracer, self._cloud, self.breaks = tracer, cloud, [left]
        self.start = np.concatenate([cloud.places.ravel(), cloud.grown])

    def rhs(self, time: float, state: Float) -> Float:
        places = state[: self._cloud.places.size].reshape(self._cloud.places.shape)
        speed, growth = self._tracer.speeds(self._cloud, time, places)
        return np.concatenate([speed.ravel(), growth])

    def sizes(self, state: Float) -> Size:
        count = self._cloud.places.size
        return lambda error: self._tracer.size(error[:count], error[count:])
