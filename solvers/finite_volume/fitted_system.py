"""The equation on smooth pieces of the line whose ends move with the tokens: cell averages, no flux through the ends.

In the frame `x = m + S z` with `m' -+ S' = G(m -+ S)` nothing flows through the faces z = -1 and 1. Velocities are
taken at the faces, and averages become values there by polynomials through cells of the same piece (`edge_stencils`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.geometry import Lattice, Line
from mfpde.measure import Particles
from mfpde.measure.edge_stencils import at_faces, end_weights
from mfpde.solvers.finite_volume.rates import Fluxes, Rates
from mfpde.solvers.finite_volume.solution import Solution, measure_of
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.solvers.kernels.finite_volume_transport import TURNING_SPEED
from mfpde.typing import Float

__all__ = ["FittedSystem"]

_LOWERED = 2  # degrees of the sums that others are compared with
_CRUDE_CELLS = 48.0  # with which both orders err alike, measured: corrections at the ends meet in the middle there


@dataclass(frozen=True)
class _FittedRates(Rates):
    """Also the time, and the speeds b of z at the faces, `(panels, columns + 1)`; `speeds` are means of two of them."""

    time: float
    at_faces: Float


class FittedSystem(CellSystem):
    """Rates without noise of panels on z in [-1, 1], each a smooth piece of the density."""

    edges = True

    def rhs(self, time: float, state: Solution, nearby: Rates | None = None, spreads: bool = True) -> Rates:
        velocity = self._velocity.at(time)
        measure = measure_of(state, self.grid, self.scheme.positions, closed=False, edges=True)
        if nearby is not None and nearby.measure is not None:
            velocity.prepare(measure, nearby.measure)
        (z,), panels = self.grid.faces, len(state.mean)
        speeds, mean, matrix = np.empty((panels, z.size)), np.empty_like(state.mean), np.empty_like(state.matrix)
        for panel, (middle, half) in enumerate(zip(state.mean, state.matrix, strict=True)):
            position = None if self.scheme.positions is None else self.scheme.positions[panel]
            drift = np.asarray(velocity.drift(measure, Lattice((z,), middle, half), position)).reshape(z.size)
            mean[panel], matrix[panel] = 0.5 * (drift[-1] + drift[0]), 0.5 * (drift[-1] - drift[0])
            speeds[panel] = (drift - mean[panel, 0] - matrix[panel, 0, 0] * z) / half[0, 0]
        speeds[:, [0, -1]] = 0.0
        fluxes = self._through_faces(self.scheme.order, state.density, speeds)
        inside = 0.5 * (speeds[:, 1:] + speeds[:, :-1])[:, None, None, :]
        still = np.zeros_like(matrix)
        return _FittedRates(fluxes, measure, mean, matrix, inside, still, *self._emptying(inside, still), time, speeds)

    def roughness(self, solution: Solution, rates: Rates) -> float:
        assert isinstance(rates, _FittedRates)  # noqa: S101 - for the type checker
        other = self._through_faces(self.other_order, solution.density, rates.at_faces)
        return _relative(rates.fluxes.along - other.along, solution)

    def misled(self, time: float, solution: Solution, rates: Rates) -> float:
        """By how much sums over the tokens of lower order at the ends change what flows, or speeds themselves (a flat
        density does not notice how fast it is carried): the error is two orders higher."""
        assert isinstance(rates, _FittedRates)  # noqa: S101 - for the type checker
        errors = self._summing_errors(solution, rates)
        flowing = self._through_faces(self.scheme.order, solution.density, errors).along
        finer = max(1.0, self.grid.cells[0] / _CRUDE_CELLS)
        return max(_relative(flowing, solution), float(np.abs(errors).max())) / finer**2

    def _summing_errors(self, solution: Solution, rates: _FittedRates) -> Float:
        """Differences of the speeds at the faces from those of sums of lower order."""
        assert rates.measure is not None  # noqa: S101 - for the type checker
        velocity, panels, (z,) = self._velocity.at(rates.time), rates.measure.panels, self.grid.faces
        weights = end_weights(self.grid.cells[0], _LOWERED)
        masses = np.concatenate([panel.at_points * weights * panel.volume for panel in panels])
        points = np.concatenate([panel.lattice.points() for panel in panels])
        cruder = Particles(points, masses / masses.sum(), Line(), rates.measure.positions)
        velocity.prepare(cruder, rates.measure)
        found = np.empty_like(rates.at_faces)
        for panel, lattice in enumerate(Lattice((z,), *frame) for frame in zip(*solution[1:], strict=True)):
            places = None if self.scheme.positions is None else np.full(z.size, self.scheme.positions[panel])
            drift = velocity.drift(cruder, lattice.points(), places)[:, 0]
            motion = rates.mean[panel, 0] + rates.matrix[panel, 0, 0] * z
            found[panel] = (drift - motion) / solution.matrix[panel, 0, 0] - rates.at_faces[panel]
        return found

    def residual(self, solution: Solution, rates: Rates) -> float:
        """As of `CellSystem`; what an end that moves covers or leaves is all mass that flows through it."""
        assert isinstance(rates, _FittedRates)  # noqa: S101 - for the type checker
        moving = rates.mean + rates.matrix[:, 0] * self.grid.faces[0]
        speeds = rates.at_faces + moving / solution.matrix[:, 0]
        flux = self._through_faces(self.scheme.order, solution.density, speeds).along
        through_ends = np.abs(flux[..., 0]) + np.abs(flux[..., -1])
        return float((np.abs(np.diff(flux, axis=2)).sum() + through_ends.sum()) * self.grid.volume)

    def between_cells(self, solution: Solution) -> float:
        panels = measure_of(solution, self.grid, self.scheme.positions, closed=False, edges=True).panels
        return max(panel.interpolant.error / float(panel.at_points.max()) for panel in panels)

    def _through_faces(self, order: int, density: Float, speeds: Float) -> Fluxes:
        """Speeds times upwind-biased values; stencils change sides smoothly, as in `transport`."""
        count = density.shape[2]
        turning = TURNING_SPEED * np.abs(speeds).max(axis=1, keepdims=True)
        side = np.clip(speeds / (turning + np.finfo(float).tiny), -1.0, 1.0)
        wind = side * (1.5 - 0.5 * side**2)
        left, right = (at_faces(count, order, shift).of(density[:, 0]) for shift in (-1, 0))
        flux = speeds * (0.5 * (1.0 + wind) * left + 0.5 * (1.0 - wind) * right) / self.grid.widths[0]
        return Fluxes(np.zeros((len(density), 2, count)), flux[:, None, :])


def _relative(fluxes: Float, solution: Solution) -> float:
    """The largest change that they make per unit time, over the peak."""
    halves = solution.matrix[:, :, 0]  # densities per unit length of x compare between pieces
    change = np.abs(np.diff(fluxes, axis=2)).max(axis=2) / halves
    return float(change.max() / (solution.density.max(axis=2) / halves).max())
