"""Where a time step ends: at its proposed length, or at a time that must not be stepped over."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

__all__ = ["ROUNDING", "next_end"]

#: share of the way to an end that rounding errors of step lengths may leave
ROUNDING = 1e-9


def next_end(time: float, length: float, ends: Iterable[float]) -> float:
    """The end of a step of that proposed length from `time`; `ends` are targets and jumps, in any order.

    A step that would pass the next end stops there. One that would leave a rest shorter than itself takes half of the
    way instead: the rest is then as long, and no step becomes tiny.

    >>> next_end(0.0, 0.25, [2.0, 1.0]), next_end(0.25, 0.5, [2.0, 1.0]), next_end(0.875, 0.5, [2.0, 1.0])
    (0.25, 0.625, 1.0)
    """
    end = min((each for each in ends if each > time), default=np.inf)
    left = end - time
    if length >= left * (1 - ROUNDING):
        return end
    return time + (0.5 * left if 2 * length > left else length)
