"""How errors in tails come back. Where attention widens a law, tokens look farther out than they are: errors of the
density there are errors of their drifts, which carry them to wrong places, where others look at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.measure import GridDensity
from mfpde.solvers.finite_volume.solution import Solution, lattices
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.attention import Velocity
    from mfpde.solvers.finite_volume.system import CellSystem

__all__ = ["come_back", "widens"]


def widens(velocity: Velocity, covariance: Float) -> bool:
    """Whether attention, on its own, widens a normal law of that covariance S in some direction: `sum V S A` does."""
    terms = [] if velocity.law is None else velocity.law.terms(len(covariance))
    tilted = [term.value @ covariance @ term.head.query_matrix(len(covariance)) for term in terms if term.head.tilts]
    return bool(np.linalg.eigvals(sum(tilted, np.zeros_like(covariance))).real.max() > 0.0)


def come_back(
    system: CellSystem, velocity: Velocity, time: float, solution: Solution, one: GridDensity, other: GridDensity
) -> float:
    """What the drifts of two laws, which differ in their tails, make of drifts once they have carried tokens for the
    time so far: on average over the cells, relative to their width, per unit time."""
    frames = lattices(solution, system.grid)
    positions = [None] * len(frames) if system.scheme.positions is None else system.scheme.positions.tolist()
    speeds = np.empty((len(frames), system.grid.dimension, *system.grid.shape))
    for panel, (lattice, position) in enumerate(zip(frames, positions, strict=True)):
        apart = np.subtract(*(velocity.drift(measure, lattice, position) for measure in (other, one)))
        speeds[panel] = np.linalg.solve(lattice.matrix, apart.reshape(system.grid.dimension, -1)).reshape(
            speeds[panel].shape
        )
    fluxes = system.fluxes(system.scheme.order, solution.density, speeds, np.zeros_like(solution.matrix))
    emptied = np.diff(fluxes.across, axis=1) + np.diff(fluxes.along, axis=2)
    carried = solution._replace(density=np.maximum(solution.density - time * emptied, 0.0))
    return system.solutions_apart(time, solution, solution, carried)
