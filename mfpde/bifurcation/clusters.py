"""Two clusters: how fast they move towards each other, how fast they exchange mass, and where these rates cross."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.bifurcation.selection import solve_between
from mfpde.bifurcation.stationary import StationaryState
from mfpde.errors import MfpdeError
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.bifurcation.diagram import Branch

__all__ = ["cluster_rates", "rates_cross"]


def cluster_rates(state: StationaryState) -> tuple[float, float]:
    """`(motion, exchange)`: the largest rates of perturbations that are odd (without rotation) and even about the
    axis. Of two clusters the first moves them against each other, the second moves mass between them."""
    rates = {
        order: [mode.rate.real for mode in state.modes if mode.order == order and not mode.rotation] for order in (0, 1)
    }
    if not rates[0] or not rates[1]:
        raise MfpdeError("rates of both symmetries are known of states that are not uniform, and not of all on spheres")
    return max(rates[1]), max(rates[0])


def rates_cross(branch: Branch) -> list[float]:
    """Values of the parameter at which clusters move as fast as they exchange mass, along a branch of two clusters."""
    from scipy.optimize import brentq

    inner = [point for point in range(len(branch)) if branch.amplitude[point] > 0]
    gaps: Float = np.array([_gap(branch.state(point)) for point in inner])
    found = []
    for place in np.flatnonzero(gaps[:-1] * gaps[1:] < 0):
        point = inner[int(place)]
        ends = branch.parameter[point], branch.parameter[point + 1]

        def gap(parameter: float, point: int = point) -> float:
            state = solve_between(branch, point, parameter)
            if state is None:
                raise MfpdeError(f"{branch.name} has no state at {parameter:.10g}")
            return _gap(state)

        found.append(float(brentq(gap, *ends, xtol=1e-13 * abs(ends[0]), rtol=1e-13)))
    return found


def _gap(state: StationaryState) -> float:
    motion, exchange = cluster_rates(state)
    return motion - exchange
