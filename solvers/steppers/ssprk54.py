"""SSPRK(5,4) [spiteri2002]: five stages, order four, each a convex combination of forward Euler steps of up to 1/1.5 h.

The embedded scheme of order three is the one that leaves out the third stage.
"""

from __future__ import annotations

import numpy as np

from mfpde.registry import register
from mfpde.solvers.steppers.explicit import ExplicitStepper, Tableau

__all__ = ["Ssprk54"]


@register("stepper", "ssprk54")
class Ssprk54(ExplicitStepper):
    """Five stages of order four that keep densities non-negative, each a mean of Euler steps of up to 1/1.5 h."""

    order = 4
    error_order = 4
    citations = ("spiteri2002",)
    reach = 5.33
    cfl = 1.4
    tableau = Tableau(
        nodes=np.array([0.0, 0.39175222657189, 0.5860796893115398, 0.47454236312139997, 0.935010630967653]),
        stages=np.array(
            [
                [0.0, 0.0, 0.0, 0.0, 0.0],
                [0.39175222657189, 0.0, 0.0, 0.0, 0.0],
                [0.21766909626116876, 0.368410593050371, 0.0, 0.0, 0.0],
                [0.08269208665781058, 0.13995850219189535, 0.251891774271694, 0.0, 0.0],
                [0.06796628363711475, 0.11503469850463156, 0.20703489859738566, 0.544974750228521, 0.0],
            ]
        ),
        weights=np.array(
            [0.14681187608478657, 0.24848290944497617, 0.10425883033198098, 0.2744389009013507, 0.226007483236906]
        ),
        errors=np.array([[
            0.016162906042172055, -0.0692336990449265, 0.10425883033198098, -0.030142863072459142,
            -0.021045174256767406,
        ]]),
    )  # fmt: skip
