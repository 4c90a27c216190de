"""Time steps of a Gaussian, each in a frame of its own."""

from __future__ import annotations

from collections.abc import Mapping

from mfpde.solvers.gaussian.frame import Frame
from mfpde.solvers.gaussian.moments import Moments
from mfpde.solvers.stepping.adaptive_ode import Attempt, March, Size
from mfpde.typing import AnyArray, Float

__all__ = ["GaussianMarch"]

_MAX_UNKNOWNS_IMPLICIT = 300  # the Jacobian is formed and factorised at every implicit step


class GaussianMarch(March):
    """A march whose steps begin at the origin of the frame of their start."""

    def __init__(self, moments: Moments, tolerance: float) -> None:
        self._moments = moments
        self.frame = self.start_frame = moments.start
        state = moments.state(self.frame, noise=False)
        rate = moments.rate(0.0, self.frame)
        first = 0.01 / rate if rate > 0 else 1.0
        implicit = state.size <= _MAX_UNKNOWNS_IMPLICIT
        super().__init__(self._in_frame, self._size, state, tolerance, first, moments.breaks, implicit, lasting=True)

    @property
    def place(self) -> Frame:
        return self.frame

    def attempt(self) -> Attempt:
        noise = self._moments.drowned(self.frame, self.time, self.step) and not (
            self.stiff and self.frame.rank == self._moments.dimension
        )
        state = self._moments.state(self.frame, noise)
        if state.size != self.state.size:
            self.replace(state)
        tried = super().attempt()
        if tried is Attempt.ACCEPTED:
            frame = self._moments.moved(self.frame, self.state)
            self.start_frame, self.frame = self.frame, self._moments.renewed(self.time, frame)
            self.replace(self._moments.state(frame, noise=False))
        return tried

    def frame_at(self, time: float) -> Frame:
        """At a time inside the last accepted step."""
        if time == self.time:
            return self.frame
        if time == self.start_time:
            return self.start_frame
        now, self.frame = self.frame, self.start_frame
        try:
            return self._moments.moved(self.frame, self.look(time))
        finally:
            self.frame = now

    def arrays(self) -> dict[str, AnyArray]:
        return {**super().arrays(), **self.frame.arrays("frame"), **self.start_frame.arrays("start_frame")}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        super().restore(arrays)
        self.frame = self._moments.start.restored("frame", arrays)
        self.start_frame = self._moments.start.restored("start_frame", arrays)

    def _in_frame(self, time: float, state: Float) -> Float:
        return self._moments.slope(self.frame, time, state)

    def _size(self, state: Float) -> Size:
        return self._moments.sizes(self.frame, state)
