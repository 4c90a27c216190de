"""Modes of a box at rest whose weight g takes part in the drift, so that walls need little beside them.

With `K grad log g = b` at a wall the slope of u / g is zero there, as that of the modes is. On the line g follows the
drift everywhere: a stationary law is then g itself, and nothing is left to transport. On the plane g is a product, and
follows the means of the drift across each axis, weighted by the density. Where rounding errors, which are relative to
sqrt(g), would come out too large, g follows the drift next to the walls only.
"""

from __future__ import annotations

import numpy as np

from mfpde.solvers.finite_volume.rates import Rates
from mfpde.solvers.finite_volume.scheme import STAGGERED
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.solvers.finite_volume.weighted_modes import BoxModes
from mfpde.typing import Float

__all__ = ["AMPLIFICATION_MAX", "amplification", "box_modes"]

AMPLIFICATION_MAX = 300.0  # of rounding errors by sqrt(g): they stay below 1e-11 of the peak
_POWERS = (1, 2, 4, 8, 16, 32, 64)  # of the distance from the other wall, that the drift is weighted by
_CELLS_PER_LAYER = 8  # at least, in the length in which that weight falls by e
_LEAST_WEIGHT = 1e-3  # of the peak: mean drifts where there is no mass are plain ones


def box_modes(system: CellSystem, solution: Solution, rates: Rates) -> BoxModes | None:
    """For the drift of a solution; None where rounding errors would be too large."""
    grid, factors = system.grid, STAGGERED[system.scheme.order]
    means = _mean_slopes(solution.density, rates)
    for power in _POWERS:
        if power > 1 and power * _CELLS_PER_LAYER > min(grid.cells):
            break
        modes = BoxModes(grid, factors, [_near_walls(slopes, power) for slopes in means])
        if amplification(modes, solution) <= AMPLIFICATION_MAX:
            return modes
    return None


def amplification(modes: BoxModes, solution: Solution) -> float:
    """Of rounding errors, relative to the peak, by the different sizes of sqrt(g)."""
    density = solution.density
    weighed = (density / modes.scale).max(axis=(1, 2)) * modes.scale.max()
    return float((weighed / density.max(axis=(1, 2))).max())


def _mean_slopes(density: Float, rates: Rates) -> list[Float]:
    """Means of b / K across each axis."""
    dimension = rates.speeds.shape[1]
    weights = density + _LEAST_WEIGHT * density.max(axis=(1, 2), keepdims=True)
    found = []
    for direction in range(dimension):
        others = (0, 1) if direction == dimension - 1 else (0, 2)
        slopes = rates.speeds[:, direction] / rates.conductivities[:, direction, direction, None, None]
        found.append(np.asarray((weights * slopes).sum(axis=others) / weights.sum(axis=others)))
    return found


def _near_walls(slopes: Float, power: int) -> Float:
    """All of the slopes at both walls, and everywhere for the power 1."""
    place = (np.arange(slopes.size) + 0.5) / slopes.size
    near: Float = slopes * (place**power + (1.0 - place) ** power)
    return near
