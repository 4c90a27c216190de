"""Runge-Kutta-Chebyshev schemes of order two [sommeijer1998], for stiff diffusion: s stages reach
`0.65 (s^2 - 1)` along the negative real axis, where errors are damped, with nothing to be solved.

As tables: the scheme of s stages is its three-term recursion, written out. The error estimate needs the slope at the
end of the step, one stage more.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mfpde.registry import register
from mfpde.solvers.steppers.explicit import ExplicitStepper, Tableau
from mfpde.typing import Float

__all__ = ["STAGES_FACTOR", "Rkc2"]

_DAMPING = 2 / 13  # epsilon of [sommeijer1998]: beyond the origin the polynomial stays below 1 - epsilon / 3
_REACH_FACTOR = 0.65  # of stages^2 - 1 along the negative real axis
_REACH_MARGIN = 1.2  # times the product of step and rate that is asked for
#: times the product that is asked for: the squared number of stages, but for one
STAGES_FACTOR = _REACH_MARGIN / _REACH_FACTOR
_STAGES_MIN = 3  # two have no damped stability region


@lru_cache(maxsize=64)
def _tableau(stages: int) -> Tableau:
    s = stages
    w0 = 1 + _DAMPING / s**2
    value, slope, bend = _chebyshev(s, w0)
    w1 = slope[s] / bend[s]
    b = np.empty(s + 1)
    b[2:] = bend[2:] / slope[2:] ** 2
    b[0] = b[1] = b[2]
    a = 1 - b * value
    rows = np.zeros((s + 1, s + 1))  # rows[j] are the weights of slopes in stage j
    rows[1, 0] = b[1] * w1
    for j in range(2, s + 1):
        mu, nu, mu_slope = 2 * b[j] * w0 / b[j - 1], -b[j] / b[j - 2], 2 * b[j] * w1 / b[j - 1]
        rows[j] = mu * rows[j - 1] + nu * rows[j - 2]
        rows[j, j - 1] += mu_slope
        rows[j, 0] -= a[j - 1] * mu_slope
    table = np.zeros((s + 1, s + 1))
    table[: s + 1] = rows
    weights = rows[s]
    error = 0.8 * weights
    error[0] -= 0.4
    error[s] -= 0.4
    return Tableau(rows.sum(axis=1), table, weights, error[None])


def _chebyshev(order: int, x: float) -> tuple[Float, Float, Float]:
    """T_j(x), its first and its second derivative, j = 0 .. order."""
    value, slope, bend = np.zeros((3, order + 1))
    value[:2], slope[1] = (1.0, x), 1.0
    for j in range(2, order + 1):
        value[j] = 2 * x * value[j - 1] - value[j - 2]
        slope[j] = 2 * value[j - 1] + 2 * x * slope[j - 1] - slope[j - 2]
        bend[j] = 4 * slope[j - 1] + 2 * x * bend[j - 1] - bend[j - 2]
    return value, slope, bend


@register("stepper", "rkc2")
class Rkc2(ExplicitStepper):
    """As many stages of order two as stiff diffusion needs; finite volumes change over to it where that is cheaper."""

    order = 2
    error_order = 3
    citations = ("sommeijer1998",)
    flux_unfit = "finite volumes change over to it by themselves where diffusion is stiff"

    def __init__(self, stages: int = 8) -> None:
        self.tableau = _tableau(stages)
        self.reach = _REACH_FACTOR * (stages**2 - 1)

    @classmethod
    def reaching(cls, product: float) -> Rkc2:
        """With the stages that the product of the step and the fastest rate needs."""
        return cls(max(_STAGES_MIN, math.ceil(math.sqrt(1.0 + STAGES_FACTOR * product))))
