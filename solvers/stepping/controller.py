"""How long the next time step is: one rule for all solvers, which knows the errors of steps and nothing else."""

from __future__ import annotations

import numpy as np

from mfpde.typing import Float

__all__ = [
    "ERROR_FLOOR",
    "GROWTH_MAX",
    "MEANT",
    "MOTION_SHARE",
    "PATH_SHARE",
    "SAFETY",
    "SHORTEST_STEP",
    "SHRINKING_MAX",
    "SLOWING_MAX",
    "SLOWING_POWER",
    "SPEEDING_POWER",
    "STEP_ROUNDING",
    "STILL_GROWING",
    "Controller",
    "allowed_error",
    "path_share",
]

SAFETY = 0.9  # times the length whose error would be the largest that is allowed
GROWTH_MAX, SHRINKING_MAX = 5.0, 0.2  # bounds of the ratio of a step to the one before it
ERROR_FLOOR = 1e-4  # in tolerances: predictions take errors below it for as much, since they say nothing of a trend
STILL_GROWING = 2.0  # ratio of a step to the one before it, from which on it is not known how long steps may become
MEANT = 0.99  # share of the length that was meant, below which a step was cut short
SHORTEST_STEP = 2.0**-50  # of the time: four units in the last place
MOTION_SHARE = 0.1  # of what a step moves, that it may err: it then contracts wherever the equation does
PATH_SHARE = 5.0  # of the largest error of a step, that one which moves the state by its own size may make
SLOWING_MAX = 10.0  # ratio of the speeds before and after a step that counts: one that stands still has none
SLOWING_POWER, SPEEDING_POWER = 2, 6  # of that ratio, in the errors of steps that become slower and faster
STEP_ROUNDING = 1e-13  # of the state: rounding in estimated errors of steps, extrapolated ones included


def allowed_error(largest: float, rounding: float, motion: float, share: float = MOTION_SHARE) -> float:
    """The estimated error of a step that changes the state by `motion`, relative to its size:

        min(largest, max(rounding, min(1/10, share) motion)).

    Near a stationary state both fall in proportion to what is left of the way, so a step that errs by less than it
    moves comes nearer, however near it is. With a bound that stayed the same, steps would grow until they are unstable,
    and the state would hover at that bound.
    """
    return min(largest, max(rounding, min(MOTION_SHARE, share) * motion))


def path_share(largest: float, slowing: float) -> float:
    """Of what a step moves, that it may err: `5 largest slowing^2`, where its speed becomes smaller by that factor, and
    with the power 6 where it becomes larger.

    Such errors add up to a share of the path. The speed of a solution solves the linearised equation along it: where it
    grows, as on leaving an unstable state, errors grow with it and have to be smaller; where it falls they are
    forgotten.
    """
    bounded = min(max(slowing, 1 / SLOWING_MAX), SLOWING_MAX)
    power = SLOWING_POWER if bounded > 1.0 else SPEEDING_POWER
    return float(PATH_SHARE * largest * bounded**power)


class Controller:
    """Predictive control [gustafsson1994, hairer1996]: with errors e in tolerances, of a step h and the one before it,

        h_{n+1} = 0.9 h_n e_n^{-1/p} min(1, h_n / h_{n-1} (e_{n-1} / e_n)^{1/p})

    where p is the power of h that the error estimate shrinks with. The second factor notices errors that grow from step
    to step, as they do near a pole. The step after a rejection is followed by none that is longer. A step that was cut
    short, by an end or for stability, says nothing against the longer one that was meant.
    """

    def __init__(self, length: float, error_floor: float = ERROR_FLOOR) -> None:
        #: what the next step is meant to be
        self.length = length
        self._floor = error_floor
        self._last_length, self._last_error = 0.0, 0.0
        self._rejected = False

    def judge(self, length: float, error: float, error_order: int) -> bool:
        """Whether a step of that error is accepted; plans the next one."""
        factor = self._factor(length, error, error_order)
        if not error <= 1:
            self.length, self._rejected = length * min(factor, 1.0), True
            return False
        proposed = length * (min(factor, 1.0) if self._rejected else factor)
        self.length = max(proposed, self.length) if length < MEANT * self.length else proposed
        self._last_length, self._last_error = length, max(error, self._floor)
        self._rejected = False
        return True

    def _factor(self, length: float, error: float, error_order: int) -> float:
        """From this step to the next."""
        if not np.isfinite(error):
            return SHRINKING_MAX
        if error == 0:
            return GROWTH_MAX
        power = 1 / error_order
        wanted = SAFETY * error**-power
        if self._last_length > 0 and error <= 1:
            seen = max(error, self._floor)
            trend = length / self._last_length * (self._last_error / seen) ** power
            wanted = min(wanted, SAFETY * seen**-power * trend)
        return float(min(max(wanted, SHRINKING_MAX), GROWTH_MAX))

    def forget(self) -> None:
        """Make no prediction from the last step: the equation has changed since."""
        self._last_length = 0.0

    @property
    def growing(self) -> bool:
        """Whether no step has told yet how long they may become."""
        return self._last_length == 0.0 or self.length >= STILL_GROWING * self._last_length

    @property
    def rejected(self) -> bool:
        """Whether the last step was."""
        return self._rejected

    @property
    def numbers(self) -> Float:
        """Everything that `restore` needs."""
        return np.array([self.length, self._last_length, self._last_error, float(self._rejected)])

    def restore(self, numbers: Float) -> None:
        """Go on from there."""
        self.length, self._last_length, self._last_error = (float(number) for number in numbers[:3])
        self._rejected = bool(numbers[3])
