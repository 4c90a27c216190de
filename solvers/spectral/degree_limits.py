"""What bounds steps and degrees of solutions by harmonics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mfpde.solvers.stepping.controller import allowed_error

if TYPE_CHECKING:
    from mfpde.attention import Convolution

__all__ = [
    "SLOW_SHARE",
    "SPHERE_STEP_SHARE",
    "STEPS_BETWEEN_LOOKS",
    "WIDTH_MIN",
    "Limits",
    "degrees_for",
    "width_under",
]

STEPS_BETWEEN_LOOKS = 256  # accepted steps after which a call ends, so that the caller sees whether anything moves
_DEGREES_MIN = 12  # fewer cost no less
#: tolerances, the estimated error of one step at width 1: in clusters, where the estimate is twice the error at most,
#: the errors of a run stay below the promise (benchmarks/tolerances.py). On spheres rates of all degrees add up to more
#: than those of any cluster, whose width is taken for smaller than it is
_STEP_SHARE, SPHERE_STEP_SHARE = 60.0, 120.0
#: below this tolerance the share falls with its power 3/4: rounding errors are in the estimates
_FULL_SHARE_TOLERANCE = 1e-10
#: tolerances, of the last degrees
_TRUNCATION_SHARE = 0.5
#: that rounding alone may make of the estimated error of a step
_ROUNDING = 1e-12
#: radians; where nothing stops clusters from narrowing, other errors are the first to break the promise
WIDTH_MIN = 0.003
#: of the decay by noise, that growth has to make up for if errors of a degree are to last
SLOW_SHARE = 0.4


class Limits(NamedTuple):
    """Of one step's error, of the last degrees, of the parts of the velocity that are left out, of relative errors of
    growing degrees, of a spectrum that is lost, and of what rounding makes of an error: each relative to the density.
    """

    error: float
    truncation: float
    cut: float
    floor: float
    lost: float
    rounding: float

    @classmethod
    def of(cls, tolerance: float, width: float = WIDTH_MIN, step_share: float = _STEP_SHARE) -> Limits:
        """Of solutions no narrower than `width`: what an error shifts counts by the slope of the density."""
        share = step_share * max(width, WIDTH_MIN) * min(1.0, (tolerance / _FULL_SHARE_TOLERANCE) ** 0.75)
        return cls(
            share * tolerance,
            max(_TRUNCATION_SHARE * tolerance, 1e-15),
            max(0.03 * _TRUNCATION_SHARE * tolerance, 1e-18),
            max(1e-5, 1e-15 / (share * tolerance)),
            tolerance,
            min(share * tolerance, _ROUNDING),
        )

    def allowed(self, motion: float) -> float:
        """The error of a step that changes the state by `motion`; what grows is measured for itself, so that the path
        does not count."""
        return allowed_error(self.error, self.rounding, motion)


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
