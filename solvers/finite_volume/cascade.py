"""How errors in tails come back. Where attention widens a law, tokens look farther out than they are: errors of the
density there are errors of their drifts, which carry them to wrong places, where others look at them.

A token at z sees what is at q z, and q grows with the variance. So an error of drifts that rises with z like z^p has
grown like q^p: it has lasted for `1 / (p q' / q)`, or where it does not rise, from the beginning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.measure import GridDensity
from mfpde.solvers.finite_volume.diagnostics import inverse_growth
from mfpde.solvers.finite_volume.rates import Rates
from mfpde.solvers.finite_volume.solution import Solution, lattices
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.attention import Velocity
    from mfpde.solvers.finite_volume.grid import Grid
    from mfpde.solvers.finite_volume.system import CellSystem

__all__ = ["come_back", "widens"]

_SMALLEST = 1e-300  # keeps logarithms finite


def widens(velocity: Velocity, covariance: Float) -> bool:
    """Whether attention, on its own, widens a normal law of that covariance S in some direction: `sum V S A` does."""
    terms = [] if velocity.law is None else velocity.law.terms(len(covariance))
    tilted = [term.value @ covariance @ term.head.query_matrix(len(covariance)) for term in terms if term.head.tilts]
    return bool(np.linalg.eigvals(sum(tilted, np.zeros_like(covariance))).real.max() > 0.0)


def come_back(
    system: CellSystem, velocity: Velocity, time: float, rates: Rates, laws: tuple[Solution, GridDensity, GridDensity]
) -> float:
    """What the difference of the drifts of two laws, which differ from a solution in their tails, has made of drifts by
    carrying tokens: on average over the cells, relative to their width, per unit time."""
    solution, one, other = laws
    frames, grid = lattices(solution, system.grid), system.grid
    positions = [None] * len(frames) if system.scheme.positions is None else system.scheme.positions.tolist()
    of_frames = max(1.0 / inverse_growth(solution, rates), 0.0)
    speeds = np.empty((len(frames), grid.dimension, *grid.shape))
    for panel, (lattice, position) in enumerate(zip(frames, positions, strict=True)):
        apart = np.subtract(*(velocity.drift(measure, lattice, position) for measure in (other, one)))
        found = np.linalg.solve(lattice.matrix, apart.reshape(grid.dimension, -1)).reshape(-1, *grid.shape)
        spread = grid.regression(rates.speeds[panel], solution.density[panel])[1]
        growth = of_frames + max(np.linalg.eigvalsh(spread + spread.T)[-1], 0.0)
        risen = _power(found, grid, solution.density[panel])
        speeds[panel] = found * (time / (1.0 + time * growth * risen))
    fluxes = system.fluxes(system.scheme.order, solution.density, speeds, np.zeros_like(solution.matrix))
    emptied = np.diff(fluxes.across, axis=1) + np.diff(fluxes.along, axis=2)
    carried = solution._replace(density=np.maximum(solution.density - emptied, 0.0))
    return system.solutions_apart(time, solution, solution, carried)


def _power(speeds: Float, grid: Grid, density: Float) -> Float:
    """p where speeds `(d, rows, columns)` rise with the distance from the mean like its power p; 0 where they fall."""
    logs = np.log(np.maximum(np.sqrt((speeds**2).sum(axis=0)), _SMALLEST))
    apart = grid.coordinates - grid.moments(density)[0][:, None, None]
    axes = range(2 - grid.dimension, 2)
    slopes = (np.gradient(logs, width, axis=axis) for axis, width in zip(axes, grid.widths, strict=True))
    return np.maximum(sum(x * slope for x, slope in zip(apart, slopes, strict=True)), 0.0)
