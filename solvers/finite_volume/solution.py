"""What changes while a run goes on: densities on panels, each with its frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.geometry import Lattice
from mfpde.measure import GridDensity, Panel
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.tail import ClosedDensity
from mfpde.typing import Float

__all__ = ["Solution", "lattices", "measure_of"]


class Solution(NamedTuple):
    """Panel p holds `density[p]` per unit volume of z, where `x = mean[p] + matrix[p] z`."""

    density: Float  # (panels, rows, columns)
    mean: Float  # (panels, d)
    matrix: Float  # (panels, d, d)


def lattices(solution: Solution, grid: Grid) -> list[Lattice]:
    """Where the cells of each panel are."""
    return [Lattice(grid.axes, mean, matrix) for mean, matrix in zip(solution.mean, solution.matrix, strict=True)]


def measure_of(solution: Solution, grid: Grid, positions: Float | None, closed: bool) -> GridDensity:
    """The law of tokens; `closed` continues each panel outside of its cells by its frame's Gaussian."""
    panels = []
    for index, lattice in enumerate(lattices(solution, grid)):
        values = solution.density[index].reshape(grid.cells) / abs(np.linalg.det(lattice.matrix))
        position = None if positions is None else float(positions[index])
        panels.append(Panel(lattice, values, averages=False, position=position))
    return ClosedDensity(panels, _continuations(solution, grid)) if closed else GridDensity(panels)


_RING = 2  # cells away from the edge, where no wall is felt


def _continuations(solution: Solution, grid: Grid) -> Float:
    """How many times its frame's Gaussian a panel is near its edges, `(panels,)`."""
    gaussian = np.multiply.outer(*(Grid(grid.low, grid.high, grid.cells, gaussian=True).weights))
    ring = np.zeros(grid.shape, dtype=bool)
    inner = tuple(slice(None) if size == 1 else slice(_RING, size - _RING) for size in grid.shape)
    core = tuple(slice(None) if size == 1 else slice(_RING + 1, size - _RING - 1) for size in grid.shape)
    ring[inner] = True
    ring[core] = False
    return solution.density[:, ring].sum(axis=1) / gaussian[ring].sum()
