"""The implicit method of order nine of Radau, type IIA, for stiff problems [hairer1996].

The polynomial of degree five through `u_n` that fulfils the equation at the five Radau nodes: with `Z_i = U_i - u_n`

    Z_i = h sum_j a_ij f(t + c_j h, u_n + Z_j),     u_{n+1} = u_n + Z_5.

It damps what is fast at any step size, and is exact to order nine in what is slow.
"""

from __future__ import annotations

import math

import numpy as np

from mfpde.registry import register
from mfpde.solvers.steppers.base import OrdinarySystem, Step, Stepper
from mfpde.typing import Float

__all__ = ["Radau9", "slope_matrix"]

NODES = np.array([0.05710419611451768, 0.2768430136381238, 0.5835904323689168, 0.8602401356562195, 1.0])
STAGE_WEIGHTS = np.array(
    [
        [0.07299886431790333, -0.02673533110794557, 0.018676929763984353, -0.01287910609330644, 0.005042839233882015],
        [0.15377523147918246, 0.14621486784749352, -0.03644456890512809, 0.02123306311930472, -0.007935579902728777],
        [0.14006304568480987, 0.29896712949128346, 0.16758507013524895, -0.03396910168661774, 0.010944288744192253],
        [0.14489430810953477, 0.2765000687601592, 0.32579792291042103, 0.12875675325490976, -0.015708917378805327],
        [0.14371356079122594, 0.28135601514946207, 0.31182652297574126, 0.22310390108357075, 0.04],
    ]
)  # fmt: skip
#: the real eigenvalue of the stage weights, and what takes the embedded solution of order five from the other one
DAMPING = 0.15906584442746913
ERROR = np.array(
    [-0.2523433122495464, 0.16035712210296996, -0.11627313434096281, 0.08100664894556402, -0.03181316888549383]
)
_TO_SLOPES = np.linalg.inv(STAGE_WEIGHTS)
_NEWTON_ITERATIONS_MAX = 12  # more converge too slowly to pay
_NEWTON_SLOWEST = 0.8  # ratio of two corrections, above which Newton's method does not converge
_DERIVATIVE_STEP = 1e-8  # relative step of differences: half of the digits


@register("stepper", "radau9")
class Radau9(Stepper):
    """Five implicit stages of order nine for stiff problems, solved by Newton's method.

    Corrections of u, measured by the system's `sizes`, are repeated until they are smaller than `enough`, or, where
    rounding keeps them from becoming smaller, than `bearable`.

    >>> from mfpde.solvers.steppers.base import OrdinarySystem
    >>> stiff = OrdinarySystem.of(lambda t, u: -1e6 * (u - np.cos(t)))
    >>> step = Radau9().step(stiff, 0.0, np.array([1.0]), 0.5)
    >>> print(abs(step.end[0] - np.cos(0.5)) < 1e-6)
    True
    """

    order = 9
    error_order = 6
    citations = ("hairer1996",)
    step_share = 20.0  # the estimate is that of order five
    reach = math.inf
    flux_unfit = "it is implicit, and what keeps densities non-negative is made for explicit fluxes"

    def __init__(self, enough: float = 1e-15, bearable: float = 1e-13) -> None:
        self._enough, self._bearable = enough, bearable

    def step(self, system: OrdinarySystem, time: float, state: Float, step: float, matrix: Float | None = None) -> Step:
        """One step from `state`, with the derivative `matrix` of f, which may be rough, where it is known."""
        from scipy.linalg import lu_factor, lu_solve

        count, size = state.size, system.sizes(state)
        if matrix is None:
            matrix = slope_matrix(system, time, state, float(np.abs(state).max(initial=0.0)))
        factors = lu_factor(np.eye(5 * count) - step * np.kron(STAGE_WEIGHTS, matrix), check_finite=False)
        stages, before = np.zeros((5, count)), np.inf
        for _ in range(_NEWTON_ITERATIONS_MAX):
            slopes = [system.rhs(time + float(c) * step, state + z) for c, z in zip(NODES, stages, strict=True)]
            missed = step * STAGE_WEIGHTS @ np.array(slopes) - stages
            change = lu_solve(factors, missed.ravel(), check_finite=False).reshape(stages.shape)
            stages = stages + change
            length = max(size(row) for row in change)
            if length <= self._enough or _NEWTON_SLOWEST * before <= length <= self._bearable:
                break
            if not length < _NEWTON_SLOWEST * before:
                unknown = np.full(count, np.nan)
                return Step(time, step, state, unknown, (unknown,))
            before = length
        raw = step * DAMPING * system.rhs(time, state) + ERROR @ (_TO_SLOPES @ stages)
        difference = np.asarray(np.linalg.solve(np.eye(count) - step * DAMPING * matrix, raw), dtype=float)
        return Step(time, step, state, state + stages[4], (difference,))


def slope_matrix(system: OrdinarySystem, time: float, state: Float, scale: float) -> Float:
    """`D_u f` by differences, to about eight digits of what changes over `scale`."""
    here, columns = system.rhs(time, state), np.empty((state.size, state.size))
    for index in range(state.size):
        moved = state.copy()
        moved[index] += _DERIVATIVE_STEP * max(scale, abs(state[index]))
        columns[:, index] = (system.rhs(time, moved) - here) / (moved[index] - state[index])
    return columns
