"""The unknowns: densities on panels, each with its frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.geometry import Lattice
from mfpde.measure import GridDensity, Panel
from mfpde.solvers.finite_volume.gaussian_closure import ClosedDensity, Closure, Outside
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.typing import Float

__all__ = ["Solution", "every_other", "lattices", "measure_of"]


class Solution(NamedTuple):
    """Panel p holds `density[p]` per unit volume of z, where `x = mean[p] + matrix[p] z`."""

    density: Float  # (panels, rows, columns)
    mean: Float  # (panels, d)
    matrix: Float  # (panels, d, d)


def lattices(solution: Solution, grid: Grid) -> list[Lattice]:
    """Where the cells of each panel are."""
    return [Lattice(grid.axes, mean, matrix) for mean, matrix in zip(solution.mean, solution.matrix, strict=True)]


def measure_of(
    solution: Solution,
    grid: Grid,
    positions: Float | None,
    closed: bool,
    heaviest: bool = False,
    edges: bool = False,
) -> GridDensity:
    """The law of tokens; `closed` continues each panel outside of its cells by its closure, a Gaussian of its own
    moments fitted near the ends; `heaviest` as in `Closure.of`; with `edges`
    densities are averages of what ends with the cells."""
    panels, closures = [], []
    for index, lattice in enumerate(lattices(solution, grid)):
        density = solution.density[index].reshape(grid.cells)
        position = None if positions is None else float(positions[index])
        values = density / abs(np.linalg.det(lattice.matrix))
        panels.append(Panel(lattice, values, averages=edges, position=position, edges=edges))
        if closed:
            outside = grid.outside or Outside.of(grid.axes, grid.widths, *grid.moments(solution.density[index]))
            closures.append((lattice, Closure.of(density, panels[-1].mass, outside, heaviest)))
    return ClosedDensity(panels, closures) if closed else GridDensity(panels)


def every_other(panel: Panel) -> Panel:
    """Of the cells along each axis."""
    lattice = panel.lattice
    axes = tuple(axis[::2] for axis in lattice.axes)
    return Panel(Lattice(axes, lattice.origin, lattice.matrix), panel.values[::2, ::2], averages=False)
