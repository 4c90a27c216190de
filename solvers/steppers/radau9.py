"""The implicit method of order nine of Radau, type IIA, for stiff problems [hairer1996].

The polynomial of degree five through `u_n` that fulfils the equation at the five Radau nodes: with `Z_i = U_i - u_n`

    Z_i = h sum_j a_ij f(t + c_j h, u_n + Z_j),     u_{n+1} = u_n + Z_5.

It damps what is fast at any step size, and is exact to order nine in what is slow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mfpde.registry import register
from mfpde.solvers.steppers.dop853 import Slope
from mfpde.typing import Float

__all__ = ["Radau9", "Step", "slope_matrix"]

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
_MOST_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class Step:
    """One step that was tried; `end` is not finite when its equations could not be solved."""

    time: float
    step: float
    start: Float
    end: Float
    difference: Float

    def error(self, size: Callable[[Float], float]) -> float:
        """The size of the difference to the embedded solution of order five."""
        return size(self.difference)


@register("stepper", "radau9")
class Radau9:
    """One step of `u' = f(t, u)`, by Newton's method with the derivative `matrix` of f, which may be rough.

    `size` measures corrections of u; they are repeated until they are smaller than `enough`, or, where rounding keeps
    them from becoming smaller, than `bearable`.

    >>> stiff = lambda t, u: -1e6 * (u - np.cos(t))
    >>> step = Radau9.step(stiff, 0.0, np.array([1.0]), 0.5, np.array([[-1e6]]), lambda e: np.abs(e).max(), 1e-14)
    >>> print(abs(step.end[0] - np.cos(0.5)) < 1e-6)
    True
    """

    order = 9

    @staticmethod
    def step(
        slope: Slope,
        time: float,
        state: Float,
        step: float,
        matrix: Float,
        size: Callable[[Float], float],
        enough: float,
        bearable: float = 0.0,
    ) -> Step:
        """A step from `state`."""
        from scipy.linalg import lu_factor, lu_solve

        count = state.size
        factors = lu_factor(np.eye(5 * count) - step * np.kron(STAGE_WEIGHTS, matrix), check_finite=False)
        stages, before = np.zeros((5, count)), np.inf
        for _ in range(_MOST_ROUNDS):
            slopes = np.array([slope(time + float(c) * step, state + z) for c, z in zip(NODES, stages, strict=True)])
            missed = step * STAGE_WEIGHTS @ slopes - stages
            change = lu_solve(factors, missed.ravel(), check_finite=False).reshape(stages.shape)
            stages = stages + change
            length = max(size(row) for row in change)
            if length <= enough or 0.8 * before <= length <= bearable:
                break
            if not length < 0.8 * before:
                return Step(time, step, state, np.full(count, np.nan), np.full(count, np.nan))
            before = length
        raw = step * DAMPING * slope(time, state) + ERROR @ (_TO_SLOPES @ stages)
        difference = np.asarray(np.linalg.solve(np.eye(count) - step * DAMPING * matrix, raw), dtype=float)
        return Step(time, step, state, state + stages[4], difference)


def slope_matrix(slope: Slope, time: float, state: Float, scale: float) -> Float:
    """`D_u f` by differences, to about eight digits of what changes over `scale`."""
    here, columns = slope(time, state), np.empty((state.size, state.size))
    for index in range(state.size):
        moved = state.copy()
        moved[index] += 1e-8 * max(scale, abs(state[index]))
        columns[:, index] = (slope(time, moved) - here) / (moved[index] - state[index])
    return columns
