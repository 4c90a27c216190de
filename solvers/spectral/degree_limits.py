"""What bounds steps and degrees of solutions by harmonics, and what comes of going on."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from mfpde.attention import Convolution

__all__ = ["STEPS_BETWEEN_LOOKS", "WIDTH_MIN", "Limits", "Verdict", "degrees_for", "width_under"]

STEPS_BETWEEN_LOOKS = 256  # accepted steps after which a call ends, so that the caller sees whether anything moves
_DEGREES_MIN = 12  # fewer cost no less
#: tolerances, the estimated error of one step at width 1: errors of runs stay below the promise
#: (benchmarks/tolerances.py); the estimates exceed the errors of order eight by far
_STEP_SHARE = 30.0
#: below this tolerance the share falls with its power 3/4: next to first-order transitions errors grow a thousandfold,
#: which the estimates of long steps make up for, and those of short ones do not
_FULL_SHARE_TOLERANCE = 1e-9
#: radians; where nothing stops clusters from narrowing, other errors are the first to break the promise
WIDTH_MIN = 0.01


class Verdict(Enum):
    """What came of going on."""

    REACHED = 0
    UNDER_WAY = 1
    RESOLUTION_LOST = 2
    STEP_VANISHED = 3


class Limits(NamedTuple):
    """Of one step's error, of the last degrees, of the parts of the velocity that are left out, of relative errors of
    growing degrees, and of a spectrum that is lost: each relative to the density."""

    error: float
    truncation: float
    cut: float
    floor: float
    lost: float

    @classmethod
    def of(cls, tolerance: float, width: float = WIDTH_MIN) -> Limits:
        """Of solutions no narrower than `width`: what an error shifts counts by the slope of the density."""
        share = _STEP_SHARE * max(width, WIDTH_MIN) * min(1.0, (tolerance / _FULL_SHARE_TOLERANCE) ** 0.75)
        return cls(
            share * tolerance,
            max(0.03 * tolerance, 1e-15),
            max(1e-3 * tolerance, 1e-18),
            max(1e-5, 1e-15 / (share * tolerance)),
            0.1 * tolerance,
        )


def width_under(convolution: Convolution, diffusion: float) -> float:
    """In radians, of clusters at whose points velocities converge at the largest rate that there may be, and noise
    spreads tokens; 0 where that is not known."""
    if convolution.external is not None or diffusion == 0:
        return 0.0
    rate = float(np.abs(convolution.growth_rates()).sum())
    return math.sqrt(diffusion / (diffusion + rate))


def degrees_for(wanted: int, most: int) -> int:
    """The degree from a ladder of about eight to the octave of two, so that tables are used again."""
    rung = max(2, 2 ** (math.floor(math.log2(max(wanted, 16))) - 3))
    return min(most, max(_DEGREES_MIN, -(-wanted // rung) * rung))
