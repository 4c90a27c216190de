"""Gragg's extrapolation of the explicit midpoint rule to order eight: few arrays, for states that fill the memory.

With n = 2, 4, 6, 8 midpoint steps of length h/n the errors at the end are series in (h/n)^2, and

    u_{n+1} = sum_j c_j T_j,     c_j = prod_{i != j} n_j^2 / (n_j^2 - n_i^2)

leaves those of order nine [hairer1993, II.9]; the last three of the T_j alone give order six, which tells the error.
Both sums are added up on the way: beside the state there are four arrays of its size, where Dormand and Prince's method
of that order has thirteen slopes. That has twelve evaluations a step, this twenty.
"""

from __future__ import annotations

import numpy as np

from mfpde.registry import register
from mfpde.solvers.steppers.base import OrdinarySystem, Step, Stepper
from mfpde.typing import Float

__all__ = ["Gragg8"]

_COUNTS = (2, 4, 6, 8)  # of midpoint steps: even, so that only even powers of their length are in errors


def _weights(counts: tuple[int, ...]) -> Float:
    """c_j of these numbers of steps, behind zeros for those before them."""
    squares = [float(count) ** 2 for count in counts]
    made = [
        np.prod([one / (one - other) for other in squares if other != one]) if one in squares else 0.0
        for one in (float(count) ** 2 for count in _COUNTS)
    ]
    return np.array(made)


def _moved(state: Float, step: float, slope: Float) -> Float:
    """`state + step * slope`, in one new array."""
    moved = step * slope
    moved += state
    return moved


_SOLUTION = _weights(_COUNTS)
_ERROR = _SOLUTION - _weights(_COUNTS[1:])


@register("stepper", "gragg8")
class Gragg8(Stepper):
    """Extrapolated midpoint steps of order eight, in few arrays.

    >>> from mfpde.solvers.steppers.base import OrdinarySystem
    >>> step = Gragg8().step(OrdinarySystem.of(lambda t, u: -u), 0.0, np.array([1.0]), 0.1)
    >>> print(round(step.end[0] * np.exp(0.1), 13))
    1.0
    """

    order = 8
    error_order = 7
    citations = ("hairer1993",)
    step_share = 1.0  # the estimate, of order six, is twice the error in long steps and a hundred times in short ones
    reach = 4.3

    def step(self, system: OrdinarySystem, time: float, state: Float, step: float) -> Step:
        end, error = np.zeros_like(state), np.zeros_like(state)
        for count, weight, share in zip(_COUNTS, _SOLUTION, _ERROR, strict=True):
            part = step / count
            before, now = state, _moved(state, part, system.rhs(time, state))
            for number in range(1, count):
                before, now = now, _moved(before, 2 * part, system.rhs(time + number * part, now))
            del before
            end += weight * now
            now *= share
            error += now
            del now
        return Step(time, step, state, end, (error,))
