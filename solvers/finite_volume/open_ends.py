"""Boxes without walls, which grow where mass comes near to their ends."""

from __future__ import annotations

import numpy as np

from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.solvers.kernels.line_march import EDGE_MASS_MAX, MASS_ROUNDING
from mfpde.typing import AnyArray, Float

__all__ = ["LEAK_MAX", "OpenEnds"]

LEAK_MAX = 1e-9  # share of the mass near an end of a box that cannot grow, at which the run ends
_EDGE_GAUSSIAN_RATIO = 4.0  # of the mass near an end to that of a Gaussian there, which is no reason to grow
_TAILS_MAX = 1e-12  # share of the mass near an end at which boxes grow whose tails go on beyond the cells
_BOX_GROWTH_MAX = 4  # times the cells at the start


class OpenEnds:
    """Of the grid of a system."""

    def __init__(self, system: CellSystem) -> None:
        self._system = system
        self.leak = 0.0  # share of the mass near an end, when the box could not grow
        self.first_cells = system.grid.cells

    @property
    def bounds(self) -> Float:
        """Shares of the mass near each end from which on it is `crowded`, `(d, 2)`."""
        grid = self._system.grid
        usual = _EDGE_GAUSSIAN_RATIO * grid.gaussian_edge_mass if grid.gaussian else np.zeros((grid.dimension, 2))
        bounds: Float = np.maximum(_TAILS_MAX if self._system.goes_on else EDGE_MASS_MAX, usual)
        return bounds

    def crowded(self, solution: Solution) -> AnyArray:
        """Ends that mass comes near to, `(d, 2)`."""
        if self._system.scheme.walls:
            return np.zeros((self._system.grid.dimension, 2), dtype=bool)
        crowded: AnyArray = self._system.grid.edge_mass(solution.density) > self.bounds
        return crowded

    def passed(self, before: Solution, tried: Solution) -> bool:
        """Whether a step would take mass through the ends."""
        if self._system.scheme.walls:
            return False
        mass = float(tried.density.sum())
        lost, in_all = abs(mass / float(before.density.sum()) - 1.0), abs(mass * self._system.grid.volume - 1.0)
        return lost > MASS_ROUNDING and in_all > EDGE_MASS_MAX

    def lengthened(self, solution: Solution, crowded: AnyArray) -> Solution | None:
        """The solution on a box that is longer by whole cells at those ends; None where nothing is to be done, or it is
        too long."""
        if not crowded.any():
            return None
        grid = self._system.grid
        room = [_BOX_GROWTH_MAX * first - now for first, now in zip(self.first_cells, grid.cells, strict=True)]
        more = np.where(crowded, np.maximum(4, np.array(grid.cells) // 8)[:, None], 0)
        longer = grid.longer(more)
        if (more.sum(axis=1) > room).any() or (self._system.noisy and not longer.weighs_everywhere):
            self.leak = max(self.leak, float(grid.edge_mass(solution.density).max()))
            return None
        self._system.grid = longer
        density = grid.lengthened(solution.density, more, longer if self._system.goes_on else None)
        return solution._replace(density=density)
