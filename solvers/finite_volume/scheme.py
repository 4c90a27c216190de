"""How cells see the equation, and what flows through their faces then, from plain arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.solvers.finite_volume.grid import Grid, central_difference
from mfpde.solvers.finite_volume.rates import Fluxes
from mfpde.solvers.kernels import finite_volume_diffusion as diffusion
from mfpde.solvers.kernels import finite_volume_transport as transport
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["STAGGERED", "CellFluxes", "Scheme"]

_BLOCK_CELLS = 1 << 15  # that are worked on at a time
# staggered differences of order two, six and eight, by the order of transport
_SECOND = np.array([1.0, 0.0, 0.0, 0.0])
_SIXTH = np.array([75 / 64, -25 / 384, 3 / 640, 0.0])
_EIGHTH = np.array([1225 / 1024, -245 / 3072, 49 / 5120, -5 / 7168])
STAGGERED = {1: _SECOND, 2: _SECOND, 5: _SIXTH, 7: _SIXTH, 9: _EIGHTH}


@dataclass(frozen=True)
class Scheme:
    """How cells see the equation."""

    #: of the fluxes
    order: int
    #: whether panels go on outside of their cells, by Gaussians of their own moments
    closed: bool
    #: whether nothing passes the ends of the box
    walls: bool
    #: of the panels, where attention is masked
    positions: Float | None = None


@dataclass(frozen=True)
class CellFluxes:
    """Through the faces of a grid, whose ends may be walls."""

    grid: Grid
    walls: bool

    def of(self, order: int, density: Float, speeds: Float, conductivities: Float) -> Fluxes:
        """Of every panel. Order 1 is the upwind scheme that keeps densities non-negative."""
        panels, rows, columns = density.shape
        out = Fluxes(np.zeros((panels, rows + 1, columns)), np.zeros((panels, rows, columns + 1)))
        noisy = bool(conductivities.any())
        values = self._ratios(density) if noisy else density
        mixed = noisy and order > 1 and self.grid.dimension == 2
        tasks = [(panel, direction, lines) for panel in range(panels) for direction, lines in self._lines]
        turning = transport.TURNING_SPEED * np.abs(speeds).max(axis=(2, 3))

        def work(piece: int) -> None:
            panel, direction, lines = tasks[piece]
            along = direction == self.grid.dimension - 1
            here = (lines, slice(None)) if along else (slice(None), lines)
            u, w = np.ascontiguousarray(density[panel][here]), np.ascontiguousarray(values[panel][here])
            speed = np.ascontiguousarray(speeds[panel, direction][here])
            product = u * speed
            conductivity = conductivities[panel, direction]
            if mixed:
                product -= self._mixed(values[panel], conductivity[1 - direction], direction, lines)
            flux = (out.along if along else out.across)[panel]
            method = self._along if along else self._across
            turn = float(turning[panel, direction])
            flux[here] = method(order, u, speed, product, turn, w, conductivity[direction], lines)

        run_pieces(work, len(tasks), density.size)
        return out

    @property
    def _lines(self) -> list[tuple[int, slice]]:
        """Directions, and which rows or columns along them are done at a time."""
        rows, columns = self.grid.shape
        found = [(self.grid.dimension - 1, slice(*lines)) for lines in pieces(rows, max(1, _BLOCK_CELLS // columns))]
        if self.grid.dimension == 2:
            found += [(0, slice(*lines)) for lines in pieces(columns, max(1, _BLOCK_CELLS // rows))]
        return found

    def _along(
        self, order: int, u: Float, speed: Float, product: Float, turning: float, w: Float, k: float, lines: slice
    ) -> Float:
        width, (rows, columns) = self.grid.widths[-1], u.shape
        flux, padded = np.zeros((rows, columns + 1)), np.empty((rows, columns + 2 * transport.GHOSTS))
        ends = transport.ends_of(self.walls, k > 0)
        transport.transport_along(order, ends, u, speed, product, turning, 1.0 / width, padded, flux)
        if k > 0:
            room = np.empty((2, padded.shape[1]))
            across, faces = self.grid.weights[0][lines], self.grid.face_weights[1]
            diffusion.spread_along(self.walls, w, STAGGERED[order], k / width**2, across, faces, room, flux)
        return flux

    def _across(
        self, order: int, u: Float, speed: Float, product: Float, turning: float, w: Float, k: float, lines: slice
    ) -> Float:
        width, (rows, columns) = self.grid.widths[0], u.shape
        flux, padded = np.zeros((rows + 1, columns)), np.empty((rows + 2 * transport.GHOSTS, columns))
        ends = transport.ends_of(self.walls, k > 0)
        transport.transport_across(order, ends, u, speed, product, turning, 1.0 / width, padded, flux)
        if k > 0:
            faces, along = self.grid.face_weights[0], self.grid.weights[1][lines]
            room, factors = np.empty_like(padded), STAGGERED[order]
            diffusion.spread_across(self.walls, w, factors, k / width**2, faces, along, padded, room, flux)
        return flux

    def _ratios(self, density: Float) -> Float:
        if not self.grid.gaussian:
            return density
        values, blocks = np.empty_like(density), self.grid.blocks
        tasks = [(panel, slice(*block)) for panel in range(len(density)) for block in blocks]

        def work(piece: int) -> None:
            panel, rows = tasks[piece]
            diffusion.ratio(density[panel, rows], self.grid.weights[0][rows], self.grid.weights[1], values[panel, rows])

        run_pieces(work, len(tasks), density.size)
        return values

    def _mixed(self, values: Float, conductivity: float, direction: int, lines: slice) -> Float:
        """`g K_12 d_2 (u / g)` or `g K_21 d_1 (u / g)` at the middles of some lines along a direction."""
        axis = 1 - direction
        weights = [factor if k != axis else factor[lines] for k, factor in enumerate(self.grid.weights)]
        strength = conductivity / self.grid.widths[axis]
        return central_difference(values, axis, lines) * np.multiply.outer(strength * weights[0], weights[1])
