"""Fluxes through all faces of panels of the plane in compiled code (`CellSystem.fluxes` specifies them)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cells import Cells
from mfpde.solvers.kernels.finite_volume_diffusion import ratio, spread_across, spread_along
from mfpde.solvers.kernels.finite_volume_transport import (
    GHOSTS,
    TURNING_SPEED,
    ends_of,
    transport_across,
    transport_along,
)
from mfpde.solvers.kernels.finite_volume_update import largest
from mfpde.typing import Float

__all__ = ["FluxRoom", "flux_room", "largest_speed", "plane_fluxes"]

_HALO = 8  # rows that a flux depends on: slopes at three faces beside its own, each from four cells on both sides
_CENTRAL = (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # differences of order eight


class FluxRoom(NamedTuple):
    """What one call needs; nothing in it outlives one."""

    values: Float  # u / g, (rows, columns)
    product: Float  # density times speed, plus other fluxes
    across: Float  # fluxes of a block of rows and of those beside it
    padded_along: Float
    padded_across: Float
    slopes: Float
    spread: Float


def flux_room(rows: int, columns: int) -> FluxRoom:
    """For blocks of so many rows, those beside them included."""
    return FluxRoom(
        values=np.zeros((rows, columns)),
        product=np.zeros((rows, columns)),
        across=np.zeros((rows + 1, columns)),
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
def _take_mixed(
    direction: int, strength: float, values: Float, row_weights: Float, weights: Float, padded: Float, product: Float
) -> None:
    """product -= `g K_12 d_2 (u / g)`, direction 0, or `g K_21 d_1 (u / g)`, at the middles of the cells."""
    rows, columns = values.shape
    for i in range(rows):
        out, factor = product[i], strength * row_weights[i]
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
                out[j] -= share * weights[j] * (after[j] - before[j])


@kernel
def largest_speed(speed: Float, room: Float) -> float:
    """The largest speed of a panel; room is for a row."""
    most = 0.0
    for i in range(speed.shape[0]):
        line = speed[i]
        for j in range(line.size):
            room[j] = abs(line[j])
        most = max(most, largest(room))
    return most


@kernel
def _copy(found: Float, out: Float) -> None:
    for i in range(out.shape[0]):
        line, row = found[i], out[i]
        for j in range(row.size):
            row[j] = line[j]


@kernel
def _multiply(u: Float, speed: Float, product: Float) -> None:
    """product = density times speed."""
    for i in range(u.shape[0]):
        line, b, out = u[i], speed[i], product[i]
        for j in range(line.size):
            out[j] = line[j] * b[j]


@kernel
def plane_fluxes(
    order: int,
    lines: tuple[int, int],
    density: Float,
    speeds: Float,
    conductivity: Float,
    fastest: Float,
    cells: Cells,
    room: FluxRoom,
    out: tuple[Float, Float],
) -> None:
    """Of a panel by the scheme of an order, through the faces along rows from start to stop and through those below
    them (of the last block, above it, too); `fastest` are the largest speeds.

    The block and the `_HALO` rows beside it are done as a panel of their own: its ends are too far away to matter.
    """
    (start, stop), (across, along) = lines, out
    factors, widths, walls = cells.factors[order], cells.widths, cells.walls
    low, high = max(start - _HALO, 0), min(stop + _HALO, density.shape[0])
    rows, first, last = high - low, start - low, stop - low
    u, product, row_weights = density[low:high], room.product[:rows], cells.row_weights[low:high]
    values = u
    noisy = conductivity[0, 0] > 0.0 or conductivity[1, 1] > 0.0 or conductivity[0, 1] != 0.0
    if noisy:
        values = room.values[:rows]
        ratio(u, row_weights, cells.weights, values)
    ends = ends_of(walls, noisy)
    for direction in range(2):
        speed, scale, turning = speeds[direction, low:high], 1.0 / widths[direction], TURNING_SPEED * fastest[direction]
        mixed = conductivity[direction, 1 - direction] / widths[1 - direction]
        strength = conductivity[direction, direction] / widths[direction] ** 2
        _multiply(u, speed, product)
        if mixed != 0.0 and order > 1:
            _take_mixed(direction, mixed, values, row_weights, cells.weights, room.spread[0], product)
        if direction == 1:
            flux, padded, given = along[start:stop], room.padded_along[first:last], product[first:last]
            transport_along(order, ends, u[first:last], speed[first:last], given, turning, scale, padded, flux)
            if strength > 0.0:
                inner, weights = values[first:last], row_weights[first:last]
                spread_along(walls, inner, factors, strength, weights, cells.faces, room.spread, flux)
        else:
            whole = stop - start == density.shape[0]  # rows of other blocks are theirs alone
            flux, padded = across if whole else room.across[: rows + 1], room.padded_across[: rows + 2 * GHOSTS]
            transport_across(order, ends, u, speed, product, turning, scale, padded, flux)
            if strength > 0.0:
                faces, slopes = cells.row_faces[low : high + 1], room.slopes[: rows + 2 * GHOSTS]
                spread_across(walls, values, factors, strength, faces, cells.weights, padded, slopes, flux)
            if not whole:
                _copy(flux[first : last + (high == stop)], across[start : stop + (high == stop)])
