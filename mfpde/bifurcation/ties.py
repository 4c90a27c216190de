"""First-order points between two states that are both not uniform: stable, of one free energy."""

from __future__ import annotations

import numpy as np

from mfpde.bifurcation.crossings import FIRST_ORDER
from mfpde.bifurcation.diagram import Branch, SpecialPoint
from mfpde.bifurcation.selection import solve_between
from mfpde.bifurcation.stationary import StationaryState

__all__ = ["tied"]

_CURVATURE = 0.5  # of a step's change of free energy, by which it may differ from a straight line


def tied(branch: Branch, branches: list[Branch]) -> list[SpecialPoint]:
    """Where stable states of this branch have the free energy of stable states of branches before it."""
    if branch.number == 0 or not np.isfinite(branch.free_energy).all():
        return []
    found = []
    for other in branches:
        if 0 < other.number < branch.number:
            for i in _stable_segments(branch):
                for j in _stable_segments(other):
                    point = _between(branch, i, other, j)
                    if point is not None:
                        found.append(point)
    return found


def _stable_segments(branch: Branch) -> list[int]:
    moving = np.abs(np.diff(branch.parameter)) > 0
    return [i for i in branch.stable_segments() if moving[i]]


def _between(one: Branch, i: int, two: Branch, j: int) -> SpecialPoint | None:
    from scipy.optimize import brentq

    low = max(one.parameter[i : i + 2].min(), two.parameter[j : j + 2].min())
    high = min(one.parameter[i : i + 2].max(), two.parameter[j : j + 2].max())
    if not low < high:
        return None
    rough = [_interpolated(one, i, at) - _interpolated(two, j, at) for at in (low, high)]
    change = sum(abs(float(np.diff(b.free_energy[k : k + 2])[0])) for b, k in ((one, i), (two, j)))
    if rough[0] * rough[1] > 0 and min(map(abs, rough)) > _CURVATURE * change:
        return None

    def difference(parameter: float) -> float:
        return _energy(one, i, parameter) - _energy(two, j, parameter)

    try:
        if difference(low) * difference(high) > 0:
            return None
        root = float(brentq(difference, low, high, xtol=1e-14 * max(abs(low), abs(high)), rtol=1e-14))
    except (ArithmeticError, RuntimeError):
        return None
    state: StationaryState | None = solve_between(one, i, root)
    if state is None:
        return None
    return SpecialPoint(
        FIRST_ORDER, root, i, state.moments, state.free_energy, state, branches=(two.number, one.number)
    )


def _energy(branch: Branch, i: int, parameter: float) -> float:
    """At a point it is known: beside a fold Newton's method would not find it."""
    for point in (i, i + 1):
        if parameter == branch.parameter[point]:
            return float(branch.free_energy[point])
    state = solve_between(branch, i, parameter)
    if state is None:
        raise ArithmeticError
    return state.free_energy


def _interpolated(branch: Branch, i: int, at: float) -> float:
    span = branch.parameter[i + 1] - branch.parameter[i]
    share = (at - branch.parameter[i]) / span
    return float((1 - share) * branch.free_energy[i] + share * branch.free_energy[i + 1])
