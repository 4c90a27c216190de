"""The equation on cells of the plane in compiled code: drifts of all panels, motion of their frames, fluxes.

`CellSystem.rhs` specifies it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cells import Cells, Heads, Slopes, State, bound_speeds, invert, tell
from mfpde.solvers.kernels.finite_volume_frame import SUMS, remainder, row_sums
from mfpde.solvers.kernels.plane_drift import (
    DriftRoom,
    PieceRoom,
    add_head,
    begin_rows,
    drift_room,
    is_zero,
    join_rows,
    panel_logs,
    plan_source,
    row_block,
    row_blocks,
    sees,
    skip_source,
    sum_source,
    work_room,
)
from mfpde.solvers.kernels.plane_fluxes import FluxRoom, flux_room, largest_speed, plane_fluxes
from mfpde.typing import Float

__all__ = [
    "PlaneRoom",
    "begin_fluxes",
    "begin_slope",
    "begin_source",
    "end_plane_slope",
    "end_slope",
    "flux_rows",
    "join_block",
    "move_frame",
    "plane_room",
    "plane_slope",
]


class PlaneRoom(NamedTuple):
    """What one call needs; nothing in it outlives one."""

    drift: DriftRoom
    work: PieceRoom
    flux: FluxRoom
    sums: Float  # of the regression, (rows, SUMS)
    levels: Float
    constant: Float  # (c, R) of a frame, and S^-1
    linear: Float
    inverse: Float
    fastest: Float  # speeds of panels, (panels, 2)
    other_across: Float  # fluxes of the other order
    other_along: Float
    turned: Float
    smoothed: Float


def plane_room(panels: int, rows: int, columns: int, sums: bool = True) -> PlaneRoom:
    """For so many panels of so many cells, with room for sums over them or without."""
    return PlaneRoom(
        drift=drift_room(panels, rows, columns) if sums else drift_room(0, 1, 1),
        work=work_room(rows, columns) if sums else work_room(1, 1),
        flux=flux_room(rows, columns),
        sums=np.zeros((rows, SUMS)),
        levels=np.zeros(2),
        constant=np.zeros(2),
        linear=np.zeros((2, 2)),
        inverse=np.zeros((2, 2)),
        fastest=np.zeros((panels, 2)),
        other_across=np.zeros((panels, rows + 1, columns)),
        other_along=np.zeros((panels, rows, columns + 1)),
        turned=np.zeros(rows * columns),
        smoothed=np.zeros(rows * columns),
    )


@kernel
def _regress(drift: Float, density: Float, cells: Cells, room: PlaneRoom) -> None:
    """(c, R) of the regression `c + R z` of the drift under a panel (`Grid.regression`)."""
    sums, levels, constant, linear = room.sums, room.levels, room.constant, room.linear
    rows, columns = density.shape
    for i in range(2):
        levels[i] = drift[i, rows // 2, columns // 2]  # sums about them lose no digits
    row_sums(density, drift[0], drift[1], levels, cells.axis, 0, rows, sums)
    mass, level, middle, c11, c12, c22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    g1, g2, p11, p12, p21, p22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(rows):
        x, row = cells.rows[i], sums[i]
        mass, level, middle = mass + row[0], level + x * row[0], middle + row[1]
        c11, c12, c22 = c11 + x * x * row[0], c12 + x * row[1], c22 + row[2]
        g1, p11, p12 = g1 + row[3], p11 + x * row[3], p12 + row[4]
        g2, p21, p22 = g2 + row[5], p21 + x * row[5], p22 + row[6]
    level, middle, g1, g2 = level / mass, middle / mass, g1 / mass, g2 / mass
    c11, c12, c22 = c11 / mass - level * level, c12 / mass - level * middle, c22 / mass - middle * middle
    p11, p12 = p11 / mass - g1 * level, p12 / mass - g1 * middle
    p21, p22 = p21 / mass - g2 * level, p22 / mass - g2 * middle
    size = c11 * c22 - c12 * c12
    linear[0, 0], linear[0, 1] = (p11 * c22 - p12 * c12) / size, (p12 * c11 - p11 * c12) / size
    linear[1, 0], linear[1, 1] = (p21 * c22 - p22 * c12) / size, (p22 * c11 - p21 * c12) / size
    constant[0] = levels[0] + g1 - (linear[0, 0] * level + linear[0, 1] * middle)
    constant[1] = levels[1] + g2 - (linear[1, 0] * level + linear[1, 1] * middle)


@kernel
def move_frame(
    panel: int, drift: Float, density: Float, matrix: Float, noise: float, cells: Cells, room: PlaneRoom, rates: Slopes
) -> None:
    """Motion of a frame, conductivity and speeds of its panel, from the velocity of x (which may be in their place)."""
    inverse, constant, linear = room.inverse, room.constant, room.linear
    invert(matrix, inverse)
    for i in range(2):
        constant[i] = 0.0
        for j in range(2):
            linear[i, j] = 0.0
    if cells.moves:
        _regress(drift, density, cells, room)
    speeds = rates.speeds[panel]
    remainder(drift, constant, linear, inverse, cells.rows, cells.axis, 0, cells.rows.size, speeds)
    if cells.bounded:
        bound_speeds(density, speeds)
    for i in range(2):
        rates.mean[panel, i] = constant[i]
        for j in range(2):
            widened = noise * inverse[j, i] if cells.moves else 0.0
            rates.matrix[panel, i, j] = linear[i, j] + widened
            square = inverse[i, 0] * inverse[j, 0] + inverse[i, 1] * inverse[j, 1]
            rates.conductivity[panel, i, j] = noise * square if cells.spreads or i != j else 0.0
    if noise > 0.0 and cells.gaussian:
        _take_excess(rates.conductivity[panel], cells, speeds)


@kernel
def _take_excess(conductivity: Float, cells: Cells, speeds: Float) -> None:
    """speeds -= what pulls tokens inwards besides g."""
    for direction in range(2):
        upwards, along = conductivity[direction, 0], conductivity[direction, 1]
        for i in range(cells.rows.size):
            line, level = speeds[direction, i], upwards * cells.row_excess[i]
            for j in range(cells.axis.size):
                line[j] -= level + along * cells.excess[j]


@kernel
def begin_slope(state: State, cells: Cells, room: PlaneRoom) -> None:
    """What the drifts of all panels need of each."""
    for panel in range(state.density.shape[0]):
        panel_logs(panel, state.density[panel], cells, room.drift)


@kernel
def begin_source(
    panel: int, head: int, source: int, state: State, heads: Heads, stage: int, cells: Cells, room: PlaneRoom
) -> int:
    """Plan the sums of a panel over a source; in how many pieces they come, none where it is not seen."""
    if not sees(panel, source, head, heads, cells, room.drift):
        return skip_source(room.drift)
    query, form = heads.query[stage, head], heads.form[stage, head]
    return plan_source(panel, source, state.mean, state.matrix, query, form, cells, room.drift)


@kernel
def join_block(
    block: int, head: int, source: int, state: State, heads: Heads, stage: int, cells: Cells, room: PlaneRoom
) -> None:
    """Add the sums over a source, if there are any, to those over others, and the last ones to the drift, in a block
    of rows."""
    start, stop = row_block(block, cells)
    if source == 0:
        begin_rows(start, stop, room.drift)
    if room.drift.sums.chosen[5] > 0:
        closed = is_zero(heads.form[stage, head]) and room.drift.closures.shares[source] > 0.0
        join_rows(start, stop, source, state.mean, state.matrix, closed, cells, room.drift, room.work)
    if source == state.mean.shape[0] - 1:
        add_head(start, stop, heads.value[stage, head], heads.normalised[head], head == 0, room.drift)


@kernel
def begin_fluxes(panel: int, cells: Cells, room: PlaneRoom, rates: Slopes) -> None:
    """What all blocks of rows need of the speeds of a panel."""
    for direction in range(2):
        room.fastest[panel, direction] = largest_speed(rates.speeds[panel, direction], room.smoothed[: cells.axis.size])


@kernel
def flux_rows(
    panel: int, other: int, start: int, stop: int, density: Float, cells: Cells, room: PlaneRoom, rates: Slopes
) -> None:
    """Fluxes of the scheme, or with other = 1 of the order that it is held against, in a block of rows."""
    order, across, along = cells.order, rates.across[panel], rates.along[panel]
    if other == 1:
        order, across, along = cells.other_order, room.other_across[panel], room.other_along[panel]
    speeds, conductivity, fastest = rates.speeds[panel], rates.conductivity[panel], room.fastest[panel]
    plane_fluxes(order, (start, stop), density, speeds, conductivity, fastest, cells, room.flux, (across, along))


@kernel
def end_slope(state: State, cells: Cells, room: PlaneRoom, rates: Slopes) -> None:
    """What is told of a solution between steps."""
    tell(state.density, cells, (room.other_across, room.other_along), room.turned, room.smoothed, rates)


@kernel
def _drift_of_panel(panel: int, state: State, heads: Heads, stage: int, cells: Cells, room: PlaneRoom) -> None:
    """The velocity in the cells of a panel, one piece after the other."""
    for head in range(heads.masked.size):
        for source in range(state.mean.shape[0]):
            for piece in range(begin_source(panel, head, source, state, heads, stage, cells, room)):
                sum_source(piece, source, cells, room.drift, room.work)
            for block in range(row_blocks(cells)):
                join_block(block, head, source, state, heads, stage, cells, room)


@kernel
def _fluxes_of_panel(panel: int, state: State, cells: Cells, room: PlaneRoom, rates: Slopes, told: bool) -> None:
    """All at once."""
    begin_fluxes(panel, cells, room, rates)
    for other in range(2 if told else 1):
        flux_rows(panel, other, 0, cells.rows.size, state.density[panel], cells, room, rates)


@kernel
def plane_slope(
    state: State, heads: Heads, stage: int, cells: Cells, room: PlaneRoom, rates: Slopes, told: bool
) -> None:
    """rates = those of a solution, with the coefficients of a stage; without any, of the velocity that they have."""
    if heads.noise.size > 0:
        begin_slope(state, cells, room)
    for panel in range(state.density.shape[0]):
        if heads.noise.size > 0:
            _drift_of_panel(panel, state, heads, stage, cells, room)
            drift, density, matrix = room.drift.drift, state.density[panel], state.matrix[panel]
            move_frame(panel, drift, density, matrix, heads.noise[stage], cells, room, rates)
        _fluxes_of_panel(panel, state, cells, room, rates, told)
    if told:
        end_slope(state, cells, room, rates)


@kernel
def end_plane_slope(
    state: State, noise: Float, stage: int, cells: Cells, room: PlaneRoom, rates: Slopes, told: bool
) -> None:
    """As `end_line_slope`."""
    for panel in range(state.density.shape[0]):
        if noise.size > 0:
            drift, density, matrix = rates.speeds[panel], state.density[panel], state.matrix[panel]
            move_frame(panel, drift, density, matrix, noise[stage], cells, room, rates)
        _fluxes_of_panel(panel, state, cells, room, rates, told)
    if told:
        end_slope(state, cells, room, rates)
