"""The way the nodes went, and other points carried along it, forwards and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mfpde.errors import ProblemError
from mfpde.measure import Particles
from mfpde.solvers.characteristics.flow import Flow, carried
from mfpde.solvers.march import Attempt, March, Size, before
from mfpde.solvers.steppers.dop853 import Dop853, Slope, Step, interpolate
from mfpde.typing import Float

__all__ = ["Path"]

_AT_ONCE = 1 << 15  # points carried together
_MOST_ATTEMPTS = 10_000  # for one step of the nodes


class Path:
    """Ends of steps, from t = 0 on. Inside a step the nodes are where `dop853` puts them, which is found again from its
    ends when somebody asks: the same bits for whoever has the same ends."""

    def __init__(self, flow: Flow, tolerance: float, times: Sequence[float], states: Sequence[Float]) -> None:
        self.flow, self._tolerance = flow, tolerance
        self.times, self.states = list(times), list(states)
        self._shapes: dict[int, Float] = {}

    def add(self, time: float, state: Float) -> None:
        """One more end of a step."""
        self.times.append(time)
        self.states.append(state)

    def keep(self, step: Step) -> None:
        """The last step as it was done, so that it need not be done again."""
        self._shapes[len(self.times) - 2] = step.shape(self._slope_of(len(self.times) - 2))

    def nodes(self, time: float) -> Float:
        """The nodes' state at a time up to the last end."""
        number = self._number(time)
        if time in (self.times[number], self.times[-1]):
            return self.states[number if time == self.times[number] else -1]
        return self._inside(number, time)

    def back(self, points: Float, time: float, positions: Float | None = None) -> tuple[Float, Float]:
        """Where native points `(m, c)` were at t = 0, and `int div G` along their way."""
        return self._carried(points, positions, list(reversed(self._pieces(time))))

    def forward(self, points: Float, time: float, positions: Float | None = None) -> Float:
        """Where points of t = 0 are at that time."""
        return self._carried(points, positions, self._pieces(time), onwards=True)[0]

    # -- the nodes in between
    # ---------------------------------------------------------------------------------------------------------

    def _number(self, time: float) -> int:
        """Of the step that holds a time."""
        return max(0, min(int(np.searchsorted(self.times, time, side="right")) - 1, len(self.times) - 2))

    def _slope_of(self, number: int) -> Slope:
        following = (each for each in self.flow.breaks if each > self.times[number])
        return before(self.flow.slope, next(following, np.inf))

    def _inside(self, number: int, time: float) -> Float:
        start, end = self.times[number], self.times[number + 1]
        if number not in self._shapes:
            self.flow.cold()
            slope = self._slope_of(number)
            self._shapes[number] = Dop853.step(slope, start, self.states[number], end - start).shape(slope)
        return interpolate(self._shapes[number], (time - start) / (end - start))

    def _pieces(self, time: float) -> list[tuple[int, float, float]]:
        """Steps up to a time: number, start and end."""
        if time <= 0:
            return []
        last = self._number(time)
        ends = [*self.times[1 : last + 1], time]
        return [(k, start, end) for k, (start, end) in enumerate(zip(self.times, ends, strict=False)) if end > start]

    # -- other points
    # ---------------------------------------------------------------------------------------------------------

    def _carried(
        self, points: Float, positions: Float | None, pieces: list[tuple[int, float, float]], onwards: bool = False
    ) -> tuple[Float, Float]:
        places, grown = np.array(points, dtype=float), np.zeros(points.shape[0])
        for number, start, end in pieces:
            fields = _Fields(self, number, start, end, onwards)
            for first in range(0, places.shape[0], _AT_ONCE):
                here = slice(first, first + _AT_ONCE)
                own = None if positions is None else positions[here]
                places[here], grown[here] = fields.carry(places[here], grown[here], own, self._tolerance)
        return places, grown


class _Fields:
    """The drift during one step of the nodes, and points that move by it from one end to the other."""

    def __init__(self, path: Path, number: int, start: float, end: float, onwards: bool) -> None:
        self._path, self._number, self._start, self._end, self._onwards = path, number, start, end, onwards
        self._flow = path.flow
        self._measures: dict[float, Particles] = {}
        self._flow.cold()
        self._before: Particles | None = None

    def _measure(self, time: float) -> Particles:
        if time not in self._measures:
            measure = self._flow.measure(self._path._inside(self._number, time))
            self._flow.velocity(time).prepare(measure, self._before)
            self._measures[time] = self._before = measure
        return self._measures[time]

    def carry(self, points: Float, grown: Float, positions: Float | None, tolerance: float) -> tuple[Float, Float]:
        """Points and `int div G` at the other end; the integral is not asked for onwards."""
        shape, length = points.shape, self._end - self._start
        last = float(np.nextafter(self._end, -np.inf))

        def slope(passed: float, state: Float) -> Float:
            time = self._start + passed if self._onwards else self._end - passed
            return self._slope(min(max(time, self._start), last), state[: points.size].reshape(shape), positions)

        start = np.concatenate([points.ravel(), grown])
        march = March(slope, self._sizes(points.size), start, tolerance, length, breaks=[length])
        for _ in range(_MOST_ATTEMPTS):
            if march.time == length or march.attempt() is Attempt.VANISHED:
                break
        if march.time < length:
            raise ProblemError.at("points", f"cannot be traced between t = {self._start:g} and {self._end:g}")
        places = march.state[: points.size].reshape(shape)
        return (_unit(places) if self._round(places) else places), march.state[points.size :]

    def _slope(self, time: float, places: Float, positions: Float | None) -> Float:
        measure, velocity, geometry = self._measure(time), self._flow.velocity(time), self._flow.geometry
        native = _unit(places) if self._round(places) else geometry.points(places)
        drift = carried(geometry, places, velocity.drift(measure, native, positions)).ravel()
        if self._onwards:
            return np.concatenate([drift, np.zeros(places.shape[0])])
        return np.concatenate([-drift, velocity.divergence(measure, native, positions)])

    def _sizes(self, components: int) -> Callable[[Float], Size]:
        """Errors of places relative to the nodes' spread, of the integral as they are."""
        spread = self._flow.spread(self._path.states[self._number])

        def size(error: Float) -> float:
            places, grown = np.abs(error[:components]), np.abs(error[components:])
            return max(float(places.max(initial=0.0)) / spread, float(grown.max(initial=0.0)))

        return lambda _: size

    def _round(self, places: Float) -> bool:
        return not self._flow.geometry.flat and places.shape[1] > 1


def _unit(places: Float) -> Float:
    return places / np.linalg.norm(places, axis=1, keepdims=True)
