"""What bounds steps and degrees of solutions by harmonics, and what comes of going on."""

from __future__ import annotations

import math
from enum import Enum
from typing import NamedTuple

__all__ = ["STEPS_BETWEEN_LOOKS", "Limits", "Verdict", "degrees_for"]

STEPS_BETWEEN_LOOKS = 256  # accepted steps after which a call ends, so that the caller sees whether anything moves
_DEGREES_MIN = 12  # fewer cost no less


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
    def of(cls, tolerance: float) -> Limits:
        """On circle and spheres, by Fourier modes or harmonics."""
        return cls(
            0.1 * tolerance,
            max(3e-3 * tolerance, 1e-15),
            max(1e-4 * tolerance, 1e-18),
            max(1e-5, 1e-14 / tolerance),
            0.1 * tolerance,
        )


def degrees_for(wanted: int, most: int) -> int:
    """The degree from a ladder of about eight to the octave of two, so that tables are used again."""
    rung = max(2, 2 ** (math.floor(math.log2(max(wanted, 16))) - 3))
    return min(most, max(_DEGREES_MIN, -(-wanted // rung) * rung))
