"""SSPRK(3,3) [shu1988]: three stages, order three, each a convex combination of forward Euler steps of h.

The embedded scheme of order two is that of [fekete2022].
"""

from __future__ import annotations

import numpy as np

from mfpde.registry import register
from mfpde.solvers.steppers.explicit import ExplicitScheme, Tableau

__all__ = ["TABLEAU", "Ssprk3"]

TABLEAU = Tableau(
    order=3,
    nodes=np.array([0.0, 1.0, 0.5]),
    stages=np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.25, 0.25, 0.0]]),
    weights=np.array([1 / 6, 1 / 6, 2 / 3]),
    errors=np.array([[-0.12481875221174235, -0.12481875221174235, 0.24963750442348465]]),
    error_order=3,
)


@register("stepper", "ssprk3")
class Ssprk3(ExplicitScheme):
    """The scheme in NumPy, one step of `u' = L u + N(u)`, both parts explicit.

    >>> u, _ = Ssprk3.step(np.array([1.0]), 0.01, np.array([-1.0]), lambda u: 0 * u)
    >>> print(round(u[0], 8), round(np.exp(-0.01), 8))
    0.99004983 0.99004983
    """

    order = TABLEAU.order
    tableau = TABLEAU
