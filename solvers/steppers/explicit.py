"""Explicit Runge-Kutta schemes as tableaus:

`U_i = u + h sum_j a_ij f(t + c_j h, U_j)`, `u_{n+1} = u + h sum_i b_i f(t + c_i h, U_i)`.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from mfpde.solvers.steppers.base import OrdinarySystem, Step, Stepper
from mfpde.typing import AnyArray, Float

__all__ = ["ExplicitStepper", "Tableau"]


class Tableau(NamedTuple):
    """`nodes` c_i, `stages` a_ij, `weights` b_i; each row of `errors` is b minus the weights of an embedded scheme."""

    nodes: Float
    stages: Float
    weights: Float
    errors: Float


class ExplicitStepper(Stepper):
    """The scheme of a tableau. Finite volumes do the same with fluxes that keep densities non-negative."""

    tableau: Tableau
    #: share of a cell that may leave it in one step of finite volumes, unless solver.cfl is given
    cfl: ClassVar[float]
    flux_unfit: ClassVar[str | None] = None

    def step(self, system: OrdinarySystem, time: float, state: AnyArray, step: float) -> Step:
        slopes: list[AnyArray] = []
        for node, row in zip(self.tableau.nodes, self.tableau.stages, strict=True):
            inside = state + step * _sum(row[: len(slopes)], slopes, state)
            slopes.append(system.rhs(time + float(node) * step, inside))
        end = state + step * _sum(self.tableau.weights, slopes, state)
        differences = tuple(step * _sum(row, slopes, state) for row in self.tableau.errors)
        return Step(time, step, state, end, differences)


def _sum(weights: Float, slopes: list[AnyArray], like: AnyArray) -> AnyArray:
    carried = (weight * slope for weight, slope in zip(weights, slopes, strict=True))
    return sum(carried, np.zeros_like(like))
