"""Forces of interactions on the cells of the line: `grad (W * mu + U)`, in compiled code.

`mfpde.attention.fast_pair_sums` specifies them: moments of quadratic W, otherwise sums over lattices, by what acts
between their nodes (`mfpde.attention.lattice_sums`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cells import Cells, State
from mfpde.transform.fused import fused
from mfpde.transform.lattice_kernels import act, integrate_stencils, slide
from mfpde.transform.piecewise import Piecewise
from mfpde.transform.programs import POINTS_PER_BLOCK, Program, program_room, program_slopes
from mfpde.transform.regular_grid import STENCIL, places
from mfpde.transform.scattered_kernels import lagrange_rows
from mfpde.typing import AnyArray, Float

__all__ = ["OUT_OF_RANGE", "ForceRoom", "LineForces", "add_forces", "distance", "fit_table", "force_room"]

_LENGTH_FACTOR = 1.25  # times the largest distance at the start of a step: frames grow by less
OUT_OF_RANGE = np.nan  # in place of an error: of forces that tables or room do not reach
_WINDOW_FACTOR = 4  # nodes of a window, over those of a lattice, that room is made for


class LineForces(NamedTuple):
    """W as `stiffness r^2 / 2`, or by a table of its slope up to distances of `reach` (a sum over nodes that are no
    farther apart than `resolved` is right to rounding); what acts between cells that rest (in `paired` ones alone
    something does); U as a program, or as its slope in cells that rest."""

    stiffness: float
    paired: bool
    table: Piecewise
    reach: float
    resolved: float
    kinks: Float
    rule: tuple[Float, Float, Float]
    stencil: tuple[Float, Float]
    acting: Float
    external: Program
    outer: Float


class ForceRoom(NamedTuple):
    """What one call needs; nothing in it outlives one."""

    masses: Float  # of cells, (panels, n)
    moments: Float  # mass and mean of the law, and of a panel
    points: Float  # x of cells
    acting: Float
    field: Float  # at the nodes of a window
    kinks: Float
    basis: Float  # of stencils: two numbers for each node, and its polynomials at a block of points
    polynomials: Float
    first: AnyArray
    t: Float
    ahead: Float
    program: Float


def force_room(panels: int, count: int, forces: LineForces) -> ForceRoom:
    """Room for so many panels of so many cells."""
    window = _WINDOW_FACTOR * count + 2 * STENCIL
    return ForceRoom(
        masses=np.zeros((panels, count)),
        moments=np.zeros(2),
        points=np.zeros((1, count)),
        acting=np.zeros(window + count),
        field=np.zeros(window),
        kinks=np.zeros(2 * forces.kinks.size),
        basis=np.zeros(2 * STENCIL),
        polynomials=np.zeros((STENCIL, POINTS_PER_BLOCK)),
        first=np.zeros(POINTS_PER_BLOCK, dtype=np.int64),
        t=np.zeros(POINTS_PER_BLOCK),
        ahead=np.zeros(POINTS_PER_BLOCK),
        program=program_room(forces.external, 1),
    )


def distance(mean: Float, matrix: Float, low: float, high: float, width: float) -> float:
    """What the largest distance of tokens stays below in a step; the first and the last cell are at z = low and high,
    cells are of that width."""
    least, most, scale = np.inf, -np.inf, 0.0
    for panel in range(mean.shape[0]):
        middle, size = mean[panel, 0], matrix[panel, 0, 0]
        least = min(least, middle + size * low, middle + size * high)
        most = max(most, middle + size * low, middle + size * high)
        scale = max(scale, abs(size))
    return float(_LENGTH_FACTOR * (most - least + (2 * STENCIL + 3) * scale * width))


_distance = kernel(distance)


@kernel
def fit_table(state: State, forces: LineForces, cells: Cells) -> bool:
    """Whether tables made for a solution (`ForcesOfLine.near`) are these."""
    axis = cells.axis
    length = _distance(state.mean, state.matrix, axis[0], axis[axis.size - 1], cells.widths[0])
    return not forces.paired or 0.5 * forces.reach < length <= forces.reach


@kernel
def _weigh(state: State, cells: Cells, room: ForceRoom) -> None:
    """Masses of cells, and the mass and the mean of all panels together."""
    mass, moment = 0.0, 0.0
    for panel in range(state.density.shape[0]):
        u, masses, here, middle = state.density[panel, 0], room.masses[panel], 0.0, 0.0
        for j in range(u.size):
            masses[j] = u[j] * cells.widths[0]
            here += masses[j]
            middle += masses[j] * cells.axis[j]
        mass += here
        moment += here * state.mean[panel, 0] + state.matrix[panel, 0, 0] * middle
    room.moments[0], room.moments[1] = mass, moment / mass


@kernel
def _find_acting(first: int, width: float, forces: LineForces, room: ForceRoom, acting: Float) -> None:
    """acting = what acts over the differences `width (first + k)`; of both signs, half of them are mirrored."""
    size, count = acting.size, forces.kinks.size
    begun = size // 2 if 2 * first == 1 - size else 0
    if abs(width) <= forces.resolved:
        for k in range(begun, size):
            acting[k] = act(forces.table, width * (first + k), True)
    else:
        for k in range(count):
            place = forces.kinks[k] / abs(width)
            room.kinks[count - 1 - k], room.kinks[count + k] = -place, place
        kinks, rest = room.kinks[: 2 * count], acting[begun:]
        integrate_stencils(
            forces.table, width, first + begun, kinks, True, forces.rule, forces.stencil, room.basis, rest
        )
    for k in range(begun):
        acting[k] = -acting[size - 1 - k]


@kernel
def _interpolate(start: float, spacing: float, field: Float, stencil: tuple[Float, Float], room: ForceRoom,
                 drift: Float) -> None:  # fmt: skip
    """drift += a field, given at places `start + spacing k`, in the cells."""
    for low in range(0, drift.size, POINTS_PER_BLOCK):
        count = min(POINTS_PER_BLOCK, drift.size - low)
        first, t, basis = room.first[:count], room.t[:count], room.polynomials
        places(room.points[0, low : low + count], start, spacing, field.size, first, t)
        lagrange_rows(t, stencil[0], stencil[1], room.ahead, basis)
        for q in range(count):
            total = 0.0
            for k in range(STENCIL):
                total = fused(basis[k, q], field[first[q] + k], total)
            drift[low + q] += total


@kernel
def _add_own(panel: int, width: float, forces: LineForces, room: ForceRoom, drift: Float) -> bool:
    """Add what the cells of a panel do to each other; False where tables do not reach."""
    n = drift.size
    if (n + STENCIL) * abs(width) > forces.reach:
        return False
    acting = forces.acting
    if acting.size == 0:
        acting = room.acting[: 2 * n - 1]
        _find_acting(1 - n, width, forces, room, acting)
    slide(room.masses[panel], acting, drift)
    return True


@kernel
def _add_other(source: int, start: float, width: float, forces: LineForces, room: ForceRoom, drift: Float) -> bool:
    """Add what another panel, whose first cell is at `start`, does to the cells of one; False where tables or room do
    not reach."""
    n, x = drift.size, room.points[0]
    ends = (x[0] - start) / width, (x[n - 1] - start) / width
    low = math.floor(min(ends[0], ends[1])) - STENCIL // 2
    size = math.ceil(max(ends[0], ends[1])) + STENCIL // 2 + 1 - low
    farthest = max(abs(low - n + 1), abs(low + size)) + STENCIL
    if not size <= room.field.size or farthest * abs(width) > forces.reach:
        return False
    first, acting, field = int(low) - n + 1, room.acting[: int(size) + n - 1], room.field[: int(size)]
    _find_acting(first, width, forces, room, acting)
    for k in range(field.size):
        field[k] = 0.0
    slide(room.masses[source], acting, field)
    _interpolate(start + low * width, width, field, forces.stencil, room, drift)
    return True


@kernel
def _add_outer(forces: LineForces, room: ForceRoom, drift: Float) -> None:
    """Add the slope of U."""
    for j in range(forces.outer.size):
        drift[j] += forces.outer[j]
    if forces.external.codes.size > 0:
        for low in range(0, drift.size, POINTS_PER_BLOCK):
            count = min(POINTS_PER_BLOCK, drift.size - low)
            points, out = room.points[:, low : low + count], drift[low : low + count].reshape(1, count)
            program_slopes(forces.external, points, count, room.program, out)


@kernel
def add_forces(state: State, forces: LineForces, cells: Cells, room: ForceRoom, speeds: Float) -> bool:
    """speeds `(panels, 1, 1, n)` = the velocity of tokens in the cells; False where tables or room do not reach."""
    axis, n, panels = cells.axis, cells.axis.size, state.mean.shape[0]
    _weigh(state, cells, room)
    mass, mean = room.moments[0], room.moments[1]
    for panel in range(panels):
        drift, x = speeds[panel, 0, 0], room.points[0]
        for j in range(n):
            x[j] = state.mean[panel, 0] + state.matrix[panel, 0, 0] * axis[j]
            drift[j] = forces.stiffness * mass * (x[j] - mean)
        for source in range(panels if forces.paired else 0):
            spacing = state.matrix[source, 0, 0]
            width = spacing * cells.widths[0]
            if source == panel:
                reached = _add_own(panel, width, forces, room, drift)
            else:
                start = state.mean[source, 0] + spacing * axis[0]
                reached = _add_other(source, start, width, forces, room, drift)
            if not reached:
                return False
        _add_outer(forces, room, drift)
    return True
