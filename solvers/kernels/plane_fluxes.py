"""Fluxes through all faces of panels of the plane in compiled code (`CellSystem.fluxes` specifies them)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cells import Cells, Slopes
from mfpde.solvers.kernels.finite_volume_diffusion import ratio, spread_across, spread_along
from mfpde.solvers.kernels.finite_volume_transport import (
    GHOSTS,
    TURNING_SPEED,
    ends_of,
    transport_across,
    transport_along,
)
from mfpde.typing import Float

__all__ = ["FluxRoom", "flux_room", "plane_fluxes"]

_CENTRAL = (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # differences of order eight


class FluxRoom(NamedTuple):
    """What one call needs; nothing in it outlives one."""

    values: Float  # u / g, (rows, columns)
    product: Float  # density times speed, plus other fluxes
    padded_along: Float
    padded_across: Float
    slopes: Float
    spread: Float


def flux_room(rows: int, columns: int) -> FluxRoom:
    """For panels of so many cells."""
    return FluxRoom(
        values=np.zeros((rows, columns)),
        product=np.zeros((rows, columns)),
        padded_along=np.zeros((rows, columns + 2 * GHOSTS)),
        padded_across=np.zeros((rows + 2 * GHOSTS, columns)),
        slopes=np.zeros((rows + 2 * GHOSTS, columns)),
        spread=np.zeros((2, columns + 2 * GHOSTS)),
    )


@kernel
def _mirrored(index: int, count: int) -> int:
    """Walls are mirrors."""
    if index < 0:
        return -1 - index
    return 2 * count - 1 - index if index >= count else index


@kernel
def _take_mixed(direction: int, conductivity: float, values: Float, cells: Cells, room: FluxRoom) -> None:
    """product -= `g K_12 d_2 (u / g)`, direction 0, or `g K_21 d_1 (u / g)`, at the middles of the cells."""
    rows, columns = values.shape
    strength, padded = conductivity / cells.widths[1 - direction], room.spread[0]
    for i in range(rows):
        out, factor = room.product[i], strength * cells.row_weights[i]
        if direction == 0:
            line = values[i]
            for j in range(4):
                padded[j] = line[3 - j]
                padded[columns + 4 + j] = line[columns - 1 - j]
            for j in range(columns):
                padded[4 + j] = line[j]
        for shift in range(1, 5):
            if direction == 0:
                after, before = padded[4 + shift : 4 + shift + columns], padded[4 - shift : 4 - shift + columns]
            else:
                after, before = values[_mirrored(i + shift, rows)], values[_mirrored(i - shift, rows)]
            share = factor * _CENTRAL[shift - 1]
            for j in range(columns):
                out[j] -= share * cells.weights[j] * (after[j] - before[j])


@kernel
def _begin(u: Float, speed: Float, product: Float) -> float:
    """product = density times speed; the largest speed."""
    largest = 0.0
    for i in range(u.shape[0]):
        line, b, out = u[i], speed[i], product[i]
        for j in range(line.size):
            largest = max(largest, abs(b[j]))
            out[j] = line[j] * b[j]
    return largest


@kernel
def plane_fluxes(
    order: int, density: Float, rates: Slopes, cells: Cells, room: FluxRoom, across: Float, along: Float
) -> None:
    """Of all panels by the scheme of an order."""
    factors = cells.factors[order]
    for panel in range(density.shape[0]):
        u, conductivity, values = density[panel], rates.conductivity[panel], density[panel]
        noisy = conductivity[0, 0] > 0.0 or conductivity[1, 1] > 0.0 or conductivity[0, 1] != 0.0
        if noisy:
            values = room.values
            ratio(u, cells.row_weights, cells.weights, values)
        walls, ends = cells.walls, ends_of(cells.walls, noisy)
        for direction in range(2):
            speed, width = rates.speeds[panel, direction], cells.widths[direction]
            turning = TURNING_SPEED * _begin(u, speed, room.product)
            mixed, strength = conductivity[direction, 1 - direction], conductivity[direction, direction] / width**2
            if mixed != 0.0 and order > 1:
                _take_mixed(direction, mixed, values, cells, room)
            if direction == 1:
                flux, padded = along[panel], room.padded_along
                transport_along(order, ends, u, speed, room.product, turning, 1.0 / width, padded, flux)
                if strength > 0.0:
                    spread_along(walls, values, factors, strength, cells.row_weights, cells.faces, room.spread, flux)
            else:
                flux, padded = across[panel], room.padded_across
                transport_across(order, ends, u, speed, room.product, turning, 1.0 / width, padded, flux)
                if strength > 0.0:
                    weights, slopes = cells.weights, room.slopes
                    spread_across(walls, values, factors, strength, cells.row_faces, weights, padded, slopes, flux)
