"""SSPRK(3,3) [shu1988]: three stages, order three, each a convex combination of forward Euler steps of h.

The embedded scheme of order two is that of [fekete2022].
"""

from __future__ import annotations

import numpy as np

from mfpde.registry import register
from mfpde.solvers.steppers.explicit import ExplicitStepper, Tableau

__all__ = ["Ssprk3"]


@register("stepper", "ssprk3")
class Ssprk3(ExplicitStepper):
    """Three stages of order three that keep densities non-negative, each a mean of Euler steps of h."""

    order = 3
    error_order = 3
    citations = ("shu1988", "fekete2022")
    reach = 2.51
    cfl = 0.9
    tableau = Tableau(
        nodes=np.array([0.0, 1.0, 0.5]),
        stages=np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.25, 0.25, 0.0]]),
        weights=np.array([1 / 6, 1 / 6, 2 / 3]),
        errors=np.array([[-0.12481875221174235, -0.12481875221174235, 0.24963750442348465]]),
    )
