"""Explicit Runge-Kutta schemes as tables: `U_i = u + h sum_j a_ij f(U_j)`, `u_{n+1} = u + h sum_i b_i f(U_i)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from mfpde.typing import AnyArray, Float

__all__ = ["ExplicitScheme", "Tableau", "explicit_step"]


class Tableau(NamedTuple):
    """`stages` a_ij, `weights` b_i, `nodes` c_i; each row of `errors` is b minus the weights of an embedded scheme."""

    order: int
    nodes: Float
    stages: Float
    weights: Float
    errors: Float
    error_order: int  # the power of h that the estimate shrinks with


def explicit_step(
    tableau: Tableau, state: AnyArray, step: float, slope: Callable[[AnyArray], AnyArray]
) -> tuple[AnyArray, tuple[AnyArray, ...]]:
    """One step, and the differences to the embedded solutions: the specification of what solvers do in place."""
    slopes: list[AnyArray] = []
    for row in tableau.stages:
        carried = [weight * k for weight, k in zip(row, slopes, strict=False)]
        slopes.append(slope(state + step * sum(carried, np.zeros_like(state))))

    def along(weights: Float) -> AnyArray:
        return step * sum((weight * k for weight, k in zip(weights, slopes, strict=True)), np.zeros_like(state))

    return state + along(tableau.weights), tuple(along(row) for row in tableau.errors)


class ExplicitScheme:
    """The scheme of a tableau in NumPy."""

    tableau: ClassVar[Tableau]

    @classmethod
    def step(
        cls, state: AnyArray, step: float, linear: AnyArray, nonlinear: Callable[[AnyArray], AnyArray]
    ) -> tuple[AnyArray, tuple[AnyArray, ...]]:
        """The state one step later, and its differences to the embedded solutions; both parts are explicit."""
        return explicit_step(cls.tableau, state, step, lambda u: linear * u + nonlinear(u))
