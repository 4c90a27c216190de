"""Time steps of a Gaussian, each in a frame of its own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mfpde.solvers.gaussian.frame import Frame
from mfpde.solvers.gaussian.moments import Moments
from mfpde.solvers.steppers.base import OrdinarySystem, Size
from mfpde.solvers.stepping.adaptive_ode import March, Verdict
from mfpde.typing import AnyArray, Float

__all__ = ["GaussianMarch"]

_IMPLICIT_UNKNOWNS_MAX = 300  # the Jacobian is formed and factorised at every implicit step


class _InFrame(OrdinarySystem):
    """The moment equations in the frame that the present step begins with."""

    def __init__(self, moments: Moments) -> None:
        self._moments, self.frame, self.breaks = moments, moments.start, moments.breaks
        self.start = moments.state(self.frame, noise=False)

    def rhs(self, time: float, state: Float) -> Float:
        return self._moments.slope(self.frame, time, state)

    def sizes(self, state: Float) -> Size:
        return self._moments.sizes(self.frame, state)

    def rate(self) -> float:
        return self._moments.rate(0.0, self.frame)

    def growth_rate(self, time: float, state: Float) -> float:
        return self._moments.growth(time, self.frame)


class GaussianMarch(March):
    """A march whose steps begin at the origin of the frame of their start."""

    def __init__(self, moments: Moments, tolerance: float) -> None:
        self._moments, self._in_frame = moments, _InFrame(moments)
        self.start_frame = moments.start
        implicit = self._in_frame.start.size <= _IMPLICIT_UNKNOWNS_MAX
        super().__init__(self._in_frame, tolerance, implicit=implicit, lasting=True)

    @property
    def frame(self) -> Frame:
        """That of the state."""
        return self._in_frame.frame

    def attempt(self, stop: float = np.inf) -> Verdict:
        noise = self._moments.drowned(self.frame, self.time, self.step) and not (
            self.stiff and self.frame.rank == self._moments.dimension
        )
        state = self._moments.state(self.frame, noise)
        if state.size != self.state.size:
            self.replace(state)
        tried = super().attempt(stop)
        if tried is Verdict.ACCEPTED:
            frame = self._moments.moved(self.frame, self.state)
            self.start_frame, self._in_frame.frame = self.frame, self._moments.renewed(self.time, frame)
            self.replace(self._moments.state(frame, noise=False))
        return tried

    def frame_at(self, time: float) -> Frame:
        """At a time inside the last accepted step."""
        if time == self.time:
            return self.frame
        if time == self.start_time:
            return self.start_frame
        now, self._in_frame.frame = self.frame, self.start_frame
        try:
            return self._moments.moved(self.start_frame, self.look(time))
        finally:
            self._in_frame.frame = now

    def arrays(self) -> dict[str, AnyArray]:
        return {**super().arrays(), **self.frame.arrays("frame"), **self.start_frame.arrays("start_frame")}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        super().restore(arrays)
        self._in_frame.frame = self._moments.start.restored("frame", arrays)
        self.start_frame = self._moments.start.restored("start_frame", arrays)
