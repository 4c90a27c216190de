"""The trajectory of the nodes, and other points carried along it, forwards and back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial

import numpy as np

from mfpde.solvers.characteristics.flow import Flow
from mfpde.solvers.characteristics.tracer import Tracer
from mfpde.solvers.steppers.dop853 import Dop853, Slope, Step, interpolate
from mfpde.solvers.stepping.adaptive_ode import before
from mfpde.typing import Float

__all__ = ["Trajectory"]

_POINTS_PER_BATCH = 1 << 15  # tracers carried together
_STEPS_CACHED = 8  # whose dense output is kept


class Trajectory:
    """States of the nodes at the ends of steps, from t = 0 on. Inside a step they are the dense output of `dop853`,
    made again from its ends on demand: the same ends give the same bits."""

    def __init__(self, flow: Flow, tolerance: float, times: Sequence[float], states: Sequence[Float]) -> None:
        self.flow, self._tolerance = flow, tolerance
        self.times, self.states = list(times), list(states)
        self._shapes: OrderedDict[int, Float] = OrderedDict()

    def add(self, time: float, state: Float) -> None:
        """One more end of a step."""
        self.times.append(time)
        self.states.append(state)

    def keep(self, step: Step) -> None:
        """Keep the dense output of the last step, so that it is not computed again."""
        self._keep(len(self.times) - 2, step.shape(self._slope_of(len(self.times) - 2)))

    def nodes(self, time: float) -> Float:
        """The nodes' state at a time up to the last end."""
        number = self._number(time)
        if time in (self.times[number], self.times[-1]):
            return self.states[number if time == self.times[number] else -1]
        return self._inside(number, time)

    def back(self, points: Float, time: float, positions: Float | None = None) -> tuple[Float, Float]:
        """Places at t = 0 of native points `(m, c)`, and `int div G` along their characteristics; infinite for points
        that no token reaches."""
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
        if number in self._shapes:
            self._shapes.move_to_end(number)
        else:
            self.flow.cold()
            slope = self._slope_of(number)
            self._keep(number, Dop853.step(slope, start, self.states[number], end - start).shape(slope))
        return interpolate(self._shapes[number], (time - start) / (end - start))

    def _keep(self, number: int, shape: Float) -> None:
        """Keep the latest dense outputs: each takes as much room as eight states."""
        self._shapes[number] = shape
        if len(self._shapes) > _STEPS_CACHED:
            self._shapes.popitem(last=False)

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
            tracer = Tracer(self.flow, partial(self._inside, number), start, end, onwards)
            there = np.flatnonzero(np.isfinite(grown))
            for first in range(0, there.size, _POINTS_PER_BATCH):
                here = there[first : first + _POINTS_PER_BATCH]
                own = None if positions is None else positions[here]
                places[here], grown[here] = tracer.carry(places[here], grown[here], own, self._tolerance)
        return places, grown
