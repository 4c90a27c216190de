"""The limit of the covariance of a Gaussian for long times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mfpde.measure.principal import principal
from mfpde.solvers.gaussian.frame import Frame
from mfpde.solvers.gaussian.moments import Moments
from mfpde.solvers.gaussian.resting_lines import family, resting_lines
from mfpde.typing import AnyArray, Float

__all__ = ["History", "Limit", "limit"]

_MIN_POWER_MOVING = 0.1  # of time: what tends to 0 or infinity is faster; 1/sqrt(t) is the slowest decay there is
_MAX_POWER_AT_REST = 1e-6  # of time: smaller powers count as rest
_POWER_RATIO_STOPPING = 0.8  # power now over that at half of the time, of what comes to rest
_POWER_RATIO_LASTING = 0.5  # the same of what goes on
_MIN_AGE = 10.0  # in times of the fastest drift: before it the limit is not known
_FLAT_VARIANCE = 1e-13  # of the largest variance: smaller ones count as 0
_NAMES = {0: "to zero", 1: "to a line", 2: "to a plane"}


@dataclass(frozen=True, eq=False)
class Limit:
    """Where the covariance tends: `kind`, and the `dimension` of the space it keeps extending in.

    Kinds: "to zero", "to a line", "to two lines", "to a plane", "to a subspace", "at rest" (in all directions),
    "diverges", "turns" (for ever), and "under way" where it is too early to tell. `lines` are unit vectors along the
    line it tends to and the others that it could have tended to. `mean` is what the mean does, if it does not come to
    rest: "diverges", "turns".
    """

    kind: str
    dimension: int
    mean: str = ""
    lines: tuple[Float, ...] = ()

    def __str__(self) -> str:
        if self.kind == "under way":
            return ""
        name = {"to a subspace": f"to a subspace of dimension {self.dimension}"}.get(self.kind, self.kind)
        text = f"tends {name}" if name.startswith("to ") else name
        if self.kind == "to two lines":
            here, other = (", ".join(f"{part:.4g}" for part in line) for line in self.lines)
            text += f": from here to the one along ({here}), from elsewhere to the one along ({other})"
        return f"{text}; its mean {self.mean}" if self.mean and self.kind != self.mean else text


class History:
    """What is kept of the solution so far: the fastest rate, and two earlier states, one at least twice as old as the
    other."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self._rate = 0.0
        self._noted = [(0.0, moments.start), (0.0, moments.start)]

    def note(self, time: float, frame: Frame) -> None:
        """Record the start of a step."""
        self._rate = max(self._rate, self._moments.pace(time, frame))
        if time > 0 and time >= 2 * self._noted[-1][0]:
            self._noted = [self._noted[-1], (time, frame)]

    def old_enough(self, time: float) -> bool:
        """Whether enough times of the fastest motion have passed."""
        return time > 0 and time * self._rate >= _MIN_AGE

    def earlier(self, time: float) -> tuple[float, Frame] | None:
        """The last frame known from at most half of that time."""
        return next(((then, frame) for then, frame in reversed(self._noted) if 0 < then <= 0.5 * time), None)

    def arrays(self) -> dict[str, AnyArray]:
        """For `restore`."""
        found: dict[str, AnyArray] = {"course_rate": np.array(self._rate)}
        for number, (time, frame) in enumerate(self._noted):
            found |= {f"course_{number}_time": np.array(time), **frame.arrays(f"course_{number}")}
        return found

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self._rate = float(arrays["course_rate"])
        self._noted = [
            (float(arrays[f"course_{number}_time"]), self._moments.start.restored(f"course_{number}", arrays))
            for number in range(2)
        ]


@dataclass(frozen=True, eq=False)
class _Motion:
    """Powers of time, `t d log / dt`, with which the variances along the axes and the mean grow and turn."""

    grows: Float
    turns: Float
    flat: AnyArray
    mean_grows: float
    mean_turns: float


def limit(moments: Moments, history: History, time: float, frame: Frame) -> Limit:
    """Read from the powers of t with which the eigenvalues of S grow and its axes turn, now and at half the time.

    A power that does not decrease means growth or decay for ever; a small power that decreases means rest.
    """
    if any(each > time for each in moments.breaks):
        return Limit("under way", moments.dimension)
    if moments.rests(time, frame):
        widths = principal(frame.root)[1]
        kept = int(np.sum(widths**2 > _FLAT_VARIANCE * widths.max(initial=0.0) ** 2))
        return _resting(moments, time, frame, kept, "")
    before = history.earlier(time)
    if before is None or not history.old_enough(time):
        return Limit("under way", moments.dimension)
    now, then = _motion(moments, time, frame), _motion(moments, *before)
    kind, kept, mean = (
        _trend(now, then),
        int(np.sum(~now.flat & _comes_to_rest(now.grows, then.grows))),
        _mean(now, then),
    )
    return _resting(moments, time, frame, kept, mean) if kind == "at rest" else Limit(kind, kept, mean)


def _trend(now: _Motion, then: _Motion) -> str:
    going, still = _goes_on(now.grows, then.grows), now.flat | _comes_to_rest(now.grows, then.grows)
    if np.any(going & (now.grows > 0) & ~now.flat):
        return "diverges"
    turning, turned = (float(np.max(motion.turns[still & ~now.flat], initial=0.0)) for motion in (now, then))
    if not np.all(still | going) or not (_goes_on(turning, turned) or _comes_to_rest(turning, turned)):
        return "under way"
    return "turns" if _goes_on(turning, turned) else "at rest"


def _resting(moments: Moments, time: float, frame: Frame, kept: int, mean: str) -> Limit:
    d = moments.dimension
    if kept == 1 and d > 1 and not moments.noisy:
        lines = resting_lines(moments, time, frame)
        return Limit("to two lines" if len(lines) == 2 else "to a line", 1, mean, lines)
    if kept == d and not (d == kept == 2 and not moments.noisy and family(moments, time, frame) == 2):
        return Limit("at rest" if d > 0 and kept > 0 else "to zero", kept, mean)
    return Limit(_NAMES.get(kept, "to a subspace"), kept, mean)


def _motion(moments: Moments, time: float, frame: Frame) -> _Motion:
    widths, axes, velocity, turning = moments.turning(time, frame)
    flat = widths**2 <= _FLAT_VARIANCE * widths[0] ** 2
    safe = np.where(flat, np.inf, widths)
    change = turning * (widths / safe[:, None]) ** 2 + turning.T
    change += 2 * (axes.T @ moments.noise(time) @ axes) / safe[:, None] ** 2
    relative = time * np.where(flat[:, None], 0.0, change)
    turns = np.abs(relative - np.diag(np.diag(relative))).max(axis=1, initial=0.0)
    mean = axes.T @ frame.place
    square = float(mean @ mean)
    if square == 0:
        return _Motion(np.diag(relative), turns, flat, 0.0, 0.0)
    along = float(mean @ velocity) / square
    across = float(np.linalg.norm(velocity - along * mean)) / np.sqrt(square)
    return _Motion(np.diag(relative), turns, flat, time * along, time * across)


def _goes_on(now: AnyArray | float, then: AnyArray | float) -> AnyArray:
    return (np.abs(now) > _MIN_POWER_MOVING) & (np.abs(now) >= _POWER_RATIO_LASTING * np.abs(then))


def _comes_to_rest(now: AnyArray | float, then: AnyArray | float) -> AnyArray:
    slow = np.abs(now) <= _MIN_POWER_MOVING
    return slow & ((np.abs(now) < _MAX_POWER_AT_REST) | (np.abs(now) <= _POWER_RATIO_STOPPING * np.abs(then)))


def _mean(now: _Motion, then: _Motion) -> str:
    if now.mean_grows > 0 and _goes_on(now.mean_grows, then.mean_grows):
        return "diverges"
    steady = abs(now.mean_grows) <= _MIN_POWER_MOVING
    return "turns" if steady and _goes_on(now.mean_turns, then.mean_turns) else ""
