"""Where theory has the transition that a sweep over kappa looks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from mfpde.bifurcation.critical import critical_kappa
from mfpde.errors import ProblemError
from mfpde.sweeping.axes import SweptAxis
from mfpde.sweeping.plan import Plan
from mfpde.sweeping.result import Sweep
from mfpde.typing import Float

__all__ = ["KAPPA", "critical_curve"]

KAPPA = "noise.kappa"  # the key


def critical_curve(sweep: Sweep, axis: SweptAxis, fixed: dict[str, Any]) -> Float:
    """The kappa at which the uniform state loses its stability, at each value of an axis, with these values of other
    keys; NaN where there is none."""
    plan = Plan(sweep.problem)
    first = plan.settings(0)
    return np.array([_at(plan, {**first, **fixed, **axis.at(place)}) for place in range(len(axis))])


def _at(plan: Plan, settings: dict[str, Any]) -> float:
    try:
        found = critical_kappa(plan.changed(settings).equation)
    except ProblemError:
        return float("nan")
    return float("nan") if found is None else found
