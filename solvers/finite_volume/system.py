"""The equation on cells: how fast every panel's density flows through the faces, and how fast its frame moves.

In a frame `x = m + S z` with `m' = c`, `S' = R` the density u of z moves by

    d_t u + div(u b) = div(g K grad(u / g)),      b = S^{-1} (G(m + S z) - c - R z),      K = D (S^T S)^{-1}.

A frame at rest has c = 0, R = 0, g = 1. A moving one takes `c + R z`, the regression of G under its panel, out of the
velocity, so that m and S S^T are the panel's mean and covariance for ever; noise widens it, `S' = R + D S^{-T}`, and
the flux `-K (grad u + z u)` is that of g = N(0, I). A Gaussian then stands still. Rescaled tokens `z = e^{-tV} x` have
`m' = V m`, `S' = V S`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.solution import Solution, lattices, measure_of
from mfpde.solvers.kernels import finite_volume_diffusion as diffusion
from mfpde.solvers.kernels import finite_volume_transport as transport
from mfpde.solvers.kernels.finite_volume_update import outflow
from mfpde.transform.threads import run_pieces
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.attention import Velocity

__all__ = ["Fluxes", "Rates", "System"]

# the staggered difference of order eight, and of order two for the lower orders
_HIGH = np.array([1225 / 1024, -245 / 3072, 49 / 5120, -5 / 7168])
_LOW = np.array([1.0, 0.0, 0.0, 0.0])
# twice the staggered difference against the second difference, at the shortest wave
_STIFFER = 1.7


@dataclass(frozen=True)
class Fluxes:
    """Through the faces, over the width of a cell: `d_t u = - differences`; `across (panels, rows + 1, columns)`,
    `along (panels, rows, columns + 1)`."""

    across: Float
    along: Float


@dataclass(frozen=True)
class Rates:
    """How fast everything moves, and what it follows from."""

    fluxes: Fluxes
    mean: Float
    matrix: Float
    speeds: Float  # b, (panels, d, rows, columns)
    drift: Float  # G, (panels, d, rows, columns)
    conductivities: Float  # K, (panels, d, d)
    outflow: float  # the largest share of a cell that first-order transport takes out per unit time
    spreading: float  # the same of diffusion

    @property
    def emptying(self) -> float:
        """Of both together."""
        return self.outflow + self.spreading


class System:
    """Rates of any solution, for given velocity and noise."""

    def __init__(
        self,
        velocity: Velocity,
        diffusion_at: Callable[[float], float],
        grid: Grid,
        order: int,
        frame: str,
        closed: bool,
        walls: bool,
        positions: Float | None,
        rescaling: Callable[[float], Float],
    ) -> None:
        self._velocity, self._diffusion_at = velocity, diffusion_at
        self.grid, self.frame, self.walls = grid, frame, walls
        self._order, self._closed = order, closed
        self.positions, self._rescaling = positions, rescaling
        self._factors = _HIGH if order > 2 else _LOW

    def rates(self, time: float, solution: Solution) -> Rates:
        """At that time, for that solution."""
        velocity, strength = self._velocity.at(time), self._diffusion_at(time)
        measure = measure_of(solution, self.grid, self.positions, self._closed)
        shape = (self.grid.dimension, *self.grid.shape)
        drift, speeds = np.empty((2, len(solution.mean), *shape))
        mean, matrix = np.zeros_like(solution.mean), np.zeros_like(solution.matrix)
        conductivities = np.zeros_like(solution.matrix)
        for panel, lattice in enumerate(lattices(solution, self.grid)):
            position = None if self.positions is None else self.positions[panel]
            drift[panel] = velocity.drift(measure, lattice, position).reshape(shape)
            inverse = np.linalg.inv(lattice.matrix).astype(float)
            mean[panel], linear = self._affine(time, solution, panel, drift[panel])
            speeds[panel] = self._remainder(drift[panel], mean[panel], linear, inverse)
            conductivities[panel] = strength * inverse @ inverse.T
            matrix[panel] = linear + (strength * inverse.T if self.grid.gaussian else 0.0)
        fluxes = self.fluxes(self._order, solution.density, speeds, conductivities)
        return Rates(fluxes, mean, matrix, speeds, drift, conductivities, *self._emptying(speeds, conductivities))

    def _affine(self, time: float, solution: Solution, panel: int, drift: Float) -> tuple[Float, Float]:
        """(c, R)."""
        if self.frame == "static":
            return np.zeros_like(solution.mean[panel]), np.zeros_like(solution.matrix[panel])
        if self.frame == "rescaled":
            value = self._rescaling(time)
            return value @ solution.mean[panel], value @ solution.matrix[panel]
        return self.grid.regression(drift, solution.density[panel])

    def _remainder(self, drift: Float, constant: Float, linear: Float, inverse: Float) -> Float:
        """b."""
        if self.frame == "static":
            return drift
        left = drift - constant[:, None, None]
        left -= (linear @ self.grid.coordinates.reshape(constant.size, -1)).reshape(left.shape)
        remainder: Float = (inverse @ left.reshape(constant.size, -1)).reshape(left.shape)
        return remainder

    def fluxes(self, order: int, density: Float, speeds: Float, conductivities: Float) -> Fluxes:
        """Of every panel. Order 1 is the upwind scheme that keeps densities non-negative."""
        panels, rows, columns = density.shape
        out = Fluxes(np.zeros((panels, rows + 1, columns)), np.zeros((panels, rows, columns + 1)))
        directions = self.grid.dimension
        products = density[:, None] * speeds
        noisy = bool(conductivities.any())
        values = self._ratios(density) if noisy else density
        if noisy and order > 1 and directions == 2:
            products -= self._mixed(values, conductivities)

        def work(piece: int) -> None:
            panel, direction = divmod(piece, directions)
            part = (density[panel], speeds[panel, direction], products[panel, direction])
            conductivity = conductivities[panel, direction, direction]
            if direction == directions - 1:
                self._along(order, *part, values[panel], conductivity, out.along[panel])
            else:
                self._across(order, *part, values[panel], conductivity, out.across[panel])

        run_pieces(work, panels * directions)
        return out

    def _along(self, order: int, u: Float, speed: Float, product: Float, w: Float, k: float, flux: Float) -> None:
        width = self.grid.widths[-1]
        padded = np.empty((u.shape[0], u.shape[1] + 2 * transport.GHOSTS))
        transport.transport_along(order, self.walls, u, speed, product, 1.0 / width, padded, flux)
        if k > 0:
            factors = self._factors if order > 1 else _LOW
            room = np.empty((2, padded.shape[1]))
            faces = self.grid.face_weights[1]
            diffusion.spread_along(w, factors, k / width**2, self.grid.weights[0], faces, room, flux)

    def _across(self, order: int, u: Float, speed: Float, product: Float, w: Float, k: float, flux: Float) -> None:
        width = self.grid.widths[0]
        padded = np.empty((u.shape[0] + 2 * transport.GHOSTS, u.shape[1]))
        transport.transport_across(order, self.walls, u, speed, product, 1.0 / width, padded, flux)
        if k > 0:
            factors = self._factors if order > 1 else _LOW
            faces, along = self.grid.face_weights[0], self.grid.weights[1]
            diffusion.spread_across(w, factors, k / width**2, faces, along, padded, np.empty_like(padded), flux)

    def _ratios(self, density: Float) -> Float:
        if not self.grid.gaussian:
            return density
        values = np.empty_like(density)
        for panel, out in zip(density, values, strict=True):
            diffusion.ratio(panel, self.grid.weights[0], self.grid.weights[1], out)
        return values

    def _mixed(self, values: Float, conductivities: Float) -> Float:
        """`g K_12 d_2 (u / g)` and `g K_21 d_1 (u / g)` at the middles, by central differences of order eight."""
        found = np.empty((len(values), 2, *self.grid.shape))
        for direction in range(2):
            slope = _central(values, 2 - direction) / self.grid.widths[1 - direction]
            found[:, direction] = (
                conductivities[:, direction, 1 - direction, None, None] * self.grid.gaussian_density * slope
            )
        return found

    def roughness(self, solution: Solution, rates: Rates) -> float:
        """Error of space per unit time relative to the peak, from two orders; infinite for the non-linear ones."""
        if self._order < 7:
            return np.inf
        other = self.fluxes(16 - self._order, solution.density, rates.speeds, rates.conductivities)
        across, along = rates.fluxes.across - other.across, rates.fluxes.along - other.along
        change = np.diff(across, axis=1) + np.diff(along, axis=2)
        return float(
            max(np.abs(part).max() / panel.max() for part, panel in zip(change, solution.density, strict=True))
        )

    def residual(self, solution: Solution, rates: Rates) -> float:
        """`int |d_t rho|` at fixed x, of all panels: what flows through faces, and what the frame's motion adds."""
        frames = np.empty_like(rates.speeds)
        for panel, frame in enumerate(solution.matrix):
            inverse = np.linalg.inv(frame)
            moving = rates.mean[panel][:, None, None] + np.tensordot(rates.matrix[panel], self.grid.coordinates, axes=1)
            frames[panel] = np.tensordot(inverse, moving, axes=1)
        carried = self.fluxes(self._order, solution.density, frames, np.zeros_like(rates.conductivities))
        across, along = rates.fluxes.across + carried.across, rates.fluxes.along + carried.along
        change = np.diff(across, axis=1) + np.diff(along, axis=2)
        return float(np.abs(change).sum() * self.grid.volume)

    def _emptying(self, speeds: Float, conductivities: Float) -> tuple[float, float]:
        leaks = max(float(self.grid.leaks @ np.diag(matrix)) for matrix in conductivities)
        spreading = leaks * (_STIFFER if self._order > 2 else 1.0)
        return max(outflow(panel, self.grid.widths) for panel in speeds), spreading


def _central(values: Float, axis: int) -> Float:
    """h times the derivative, order eight; walls are mirrors."""
    padded = np.pad(values, [(4, 4) if direction == axis else (0, 0) for direction in range(3)], mode="symmetric")
    moved, length = np.moveaxis(padded, axis, 0), values.shape[axis]
    slope = np.zeros((length, *moved.shape[1:]))
    for shift, factor in enumerate((4 / 5, -1 / 5, 4 / 105, -1 / 280), start=1):
        slope += factor * (moved[4 + shift : 4 + shift + length] - moved[4 - shift : 4 - shift + length])
    return np.moveaxis(slope, 0, axis)
