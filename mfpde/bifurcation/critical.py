"""Where degrees of the uniform state change their stability."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mfpde.bifurcation.multipliers import multipliers_of
from mfpde.bifurcation.states import Family
from mfpde.equation import Equation
from mfpde.errors import ProblemError

__all__ = ["critical_kappa", "critical_places"]

_GRID = 64  # places at which the uniform state's stability is looked at


@lru_cache(maxsize=8)
def critical_places(family: Family) -> tuple[tuple[float, int], ...]:
    """`(u, degree)` where a degree of the uniform state changes its stability, `kappa h_l = 1`, in order of u."""
    from scipy.optimize import brentq

    grid = np.linspace(0.0, 1.0, _GRID + 1)
    models = [family.model(u) for u in grid]
    levels = np.array([model.kappa * model.multipliers.relative - 1 for model in models])
    found = []
    for degree in range(1, family.top + 1):
        line = levels[:, degree]
        for i in np.flatnonzero(line[:-1] * line[1:] < 0):
            root = brentq(_level, grid[i], grid[i + 1], args=(family, degree), xtol=1e-16, rtol=1e-15)
            found.append((float(root), degree))
        found += [(float(grid[i]), degree) for i in np.flatnonzero(line == 0)]
    return tuple(sorted(found))


def critical_kappa(equation: Equation) -> float | None:
    """The kappa at which the uniform state loses its stability, `1 / max_l h_l`; None where there is none: on spaces
    without a uniform state, and where noise always wins.

    >>> import mfpde
    >>> kuramoto = mfpde.Equation(geometry=mfpde.Circle(), attention=mfpde.Unnormalized(beta=0))
    >>> critical_kappa(kuramoto)
    2.0
    """
    try:
        found = float(multipliers_of(equation.law, equation.geometry).critical()[1:].min(initial=np.inf))
    except ProblemError:
        return None
    return found if np.isfinite(found) else None


def _level(u: float, family: Family, degree: int) -> float:
    model = family.model(u)
    return float(model.kappa * model.multipliers.relative[degree] - 1)
