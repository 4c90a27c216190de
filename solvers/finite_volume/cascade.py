"""How errors in tails come back. Where tokens look farther out than they are, or will, since attention widens their
law, errors of the density there are errors of drifts, which carry tokens to wrong places, where others look at them.

A token at z sees what is at q z, and q grows with the variance. So an error of drifts that rises with z like z^p has
grown like q^p: it has lasted for `1 / (p q' / q)`, or where it does not rise, from the beginning. Where tokens approach
each other, what has become of their places is forgotten at that rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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

__all__ = ["come_back"]

_SPEED_FLOOR = 1e-300  # keeps logarithms finite


def come_back(
    system: CellSystem, velocity: Velocity, time: float, solution: Solution, rates: Rates
) -> tuple[float, float]:
    """What tails beyond the cells, and what fluxes do to tails within them, have made of drifts by carrying tokens: on
    average over the cells, relative to their width, per unit time; nothing where tokens do not look far out. What
    fluxes do is damped by noise in frames that move with a law that attention does not widen."""
    law = system.measure(solution)
    widens = _widens(velocity, law.covariance)
    if not (widens or _looks_far_out(velocity, law.covariance)):
        return 0.0, 0.0
    begun = _Begun(system, velocity, time, solution, rates)
    beyond = _returned(begun, *system.lightest_and_heaviest(solution)) if system.scheme.closed else 0.0
    if not (widens or system.frame.rests):
        return beyond, 0.0
    return beyond, _returned(begun, law, system.measure(system.differing_for(0.5 * time, solution, rates)))


class _Begun(NamedTuple):
    """Where errors of drifts come back to."""

    system: CellSystem
    velocity: Velocity
    time: float
    solution: Solution
    rates: Rates


def _widens(velocity: Velocity, covariance: Float) -> bool:
    """Whether attention, on its own, widens a normal law of that covariance S in some direction: `sum V S A` does."""
    widened = (value @ covariance @ query for value, query in _tilted(velocity, covariance))
    return bool(np.linalg.eigvals(sum(widened, np.zeros_like(covariance))).real.max() > 0.0)


def _looks_far_out(velocity: Velocity, covariance: Float) -> bool:
    """Whether tokens of such a law look farther out than they are, at `S A x`."""
    variances, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(np.maximum(variances, 0.0))
    return any(np.linalg.norm(root.T @ query @ root, 2) > 1.0 for _, query in _tilted(velocity, covariance))


def _tilted(velocity: Velocity, covariance: Float) -> list[tuple[Float, Float]]:
    """V and A of the heads that tilt the law of that covariance."""
    size = len(covariance)
    terms = [] if velocity.law is None else velocity.law.terms(size)
    return [(term.value, term.head.query_matrix(size)) for term in terms if term.head.tilts]


def _returned(begun: _Begun, one: GridDensity, other: GridDensity) -> float:
    """What the difference between the drifts of two laws has made of drifts."""
    system, velocity, time, solution, rates = begun
    frames, grid = lattices(solution, system.grid), system.grid
    positions = [None] * len(frames) if system.scheme.positions is None else system.scheme.positions.tolist()
    of_frames = max(1.0 / inverse_growth(solution, rates), 0.0)
    speeds = np.empty((len(frames), grid.dimension, *grid.shape))
    for panel, (lattice, position) in enumerate(zip(frames, positions, strict=True)):
        apart = np.subtract(*(velocity.drift(measure, lattice, position) for measure in (other, one)))
        found = np.linalg.solve(lattice.matrix, apart.reshape(grid.dimension, -1))
        speeds[panel] = found.reshape(speeds[panel].shape)
        spread = grid.regression(rates.speeds[panel], solution.density[panel])[1]
        growth = of_frames + max(np.linalg.eigvalsh(spread + spread.T)[-1], 0.0)
        risen = _power(speeds[panel], grid, solution.density[panel])
        contraction = max(-system.stretching(panel, solution, rates), 0.0)
        speeds[panel] *= time / (1.0 + time * (growth * risen + contraction))
    fluxes = system.fluxes(system.scheme.order, solution.density, speeds, np.zeros_like(solution.matrix))
    carried = solution._replace(density=np.maximum(solution.density - fluxes.leaving, 0.0))
    return system.solutions_apart(time, solution, solution, carried)


def _power(speeds: Float, grid: Grid, density: Float) -> Float:
    """p where speeds `(d, rows, columns)` rise with the distance from the mean like its power p; 0 where they fall."""
    logs = np.log(np.maximum(np.sqrt((speeds**2).sum(axis=0)), _SPEED_FLOOR))
    apart = grid.coordinates - grid.moments(density)[0][:, None, None]
    axes = range(2 - grid.dimension, 2)
    slopes = (np.gradient(logs, width, axis=axis) for axis, width in zip(axes, grid.widths, strict=True))
    return np.maximum(sum(x * slope for x, slope in zip(apart, slopes, strict=True)), 0.0)
