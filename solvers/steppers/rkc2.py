"""Runge-Kutta-Chebyshev schemes of order two [sommeijer1998], for stiff diffusion: s stages reach
`0.65 (s^2 - 1)` along the negative real axis, where errors are damped, with nothing to be solved.

As tables: the scheme of s stages is its three-term recursion, written out. The error estimate needs the slope at the
end of the step, one stage more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from mfpde.registry import register
from mfpde.solvers.steppers.explicit import Tableau, explicit_step
from mfpde.typing import AnyArray, Float

__all__ = ["Rkc2", "rkc2", "stages_for"]

_DAMPING = 2 / 13
_REACH = 0.65


def stages_for(stiffness: float) -> int:
    """How many stages `h |lambda|` needs."""
    return max(3, math.ceil(math.sqrt(1.0 + 1.2 * stiffness / _REACH)))


@lru_cache(maxsize=64)
def rkc2(stages: int) -> Tableau:
    """The table of the scheme with that many stages."""
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
    return Tableau(2, rows.sum(axis=1), table, weights, error[None], 3)


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
class Rkc2:
    """The scheme of eight stages in NumPy, one step of `u' = L u + N(u)`, both parts explicit.

    >>> u, _ = Rkc2.step(np.array([1.0]), 1.0, np.array([-40.0]), lambda u: 0 * u)          # far beyond Euler's reach
    >>> bool(abs(u[0]) < 1)
    True
    """

    order = 2

    @staticmethod
    def step(
        state: AnyArray, step: float, linear: AnyArray, nonlinear: Callable[[AnyArray], AnyArray]
    ) -> tuple[AnyArray, tuple[AnyArray, ...]]:
        """The state one step later, and the estimate of its error."""
        return explicit_step(rkc2(8), state, step, lambda u: linear * u + nonlinear(u))
