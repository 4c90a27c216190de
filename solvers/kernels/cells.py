"""What compiled code knows of a solution on cells, of its grid and of attention: on the line and on the plane.

Arrays over cells are `(rows, columns)`, with one row on the line, as in `Grid`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.finite_volume_peaks import narrowest_peak
from mfpde.solvers.kernels.finite_volume_transport import upwind, upwind_across
from mfpde.solvers.kernels.finite_volume_update import largest, outflow
from mfpde.typing import AnyArray, Float

__all__ = [
    "MOMENTS",
    "Cells",
    "Heads",
    "Slopes",
    "State",
    "Told",
    "bound_speeds",
    "cell_moments",
    "invert",
    "low_fluxes",
    "tell",
]

_EMPTY_SHARE = 1e-16  # of the peak: cells with less decide on nothing, steps included
MOMENTS = 6  # numbers that `cell_moments` finds


class Heads(NamedTuple):
    """Kernels `e^{<A x, y> - <y, F y>}`; rows of coefficients are those of the stages of a step."""

    normalised: AnyArray  # (heads,)
    masked: AnyArray
    query: Float  # A, (stages, heads, d, d)
    value: Float
    form: Float  # F
    noise: Float  # strength of diffusion, (stages,)


class Cells(NamedTuple):
    """Tables of a grid and of what is asked of it; `moves` says whether frames take the regression out, `spreads`
    whether densities diffuse along the axes; if not, nothing is told (`Told`) of them."""

    rows: Float  # z of the rows; 0 on the line
    axis: Float  # z along a row
    widths: Float  # (d,)
    row_weights: Float  # factor of g for each row; 1 on the line
    weights: Float  # factor of g along a row
    row_faces: Float  # the same at the faces
    faces: Float
    row_excess: Float  # of z over the slope of -log g, for each row
    excess: Float  # the same along a row
    factors: Float  # of staggered differences, a row for each order of transport
    order: int
    other_order: int  # that its fluxes are held against
    walls: bool
    closed: bool
    moves: bool
    spreads: bool
    gaussian: bool  # whether closures are N(0, I)
    heaviest: bool  # whether they are the heaviest that edges allow
    bounded: bool  # whether speeds of empty cells are at most those of others
    positions: Float  # of panels


class Slopes(NamedTuple):
    """Fluxes `across (panels, rows + 1, columns)` and `along (panels, rows, columns + 1)`, speeds `(panels, d, rows,
    columns)`, the motion of each panel's frame, and what is told of a solution besides (`Told`)."""

    across: Float
    along: Float
    speeds: Float
    mean: Float
    matrix: Float
    conductivity: Float
    told: Float


class Told(NamedTuple):
    """What is told of a solution between steps."""

    outflow: float  # the largest share of a cell that first-order transport takes out per unit time
    roughness: float  # how much fluxes of another order change the density per unit time, relative to its peak
    narrowest: float  # width of the narrowest peak in cells, by averages (1, 2, 1) / 4
    residual: float  # `int |d_t rho|` at fixed x; infinite where it is not told


class State(NamedTuple):
    """A solution: density `(panels, rows, columns)`, mean `(panels, d)`, matrix `(panels, d, d)`."""

    density: Float
    mean: Float
    matrix: Float


@kernel
def invert(matrix: Float, out: Float) -> None:
    """out = the inverse of one number, or of two rows of two."""
    if matrix.shape[0] == 1:
        out[0, 0] = 1.0 / matrix[0, 0]
        return
    scale = 1.0 / (matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0])
    out[0, 0], out[0, 1] = scale * matrix[1, 1], -scale * matrix[0, 1]
    out[1, 0], out[1, 1] = -scale * matrix[1, 0], scale * matrix[0, 0]


@kernel
def bound_speeds(density: Float, speeds: Float) -> None:
    """Speeds of empty cells of a panel become no larger than elsewhere: those of steep potentials would shorten all
    steps."""
    peak = 0.0
    for i in range(density.shape[0]):
        line = density[i]
        for j in range(line.size):
            peak = max(peak, line[j])
    for direction in range(speeds.shape[0]):
        largest = 0.0
        for i in range(density.shape[0]):
            line, speed = density[i], speeds[direction, i]
            for j in range(line.size):
                if line[j] > _EMPTY_SHARE * peak:
                    largest = max(largest, abs(speed[j]))
        for i in range(density.shape[0]):
            speed = speeds[direction, i]
            for j in range(speed.size):
                speed[j] = max(-largest, min(largest, speed[j]))


@kernel
def cell_moments(density: Float, rows: Float, axis: Float, out: Float) -> None:
    """Sum, means along rows and across them, variance along, covariance, variance across."""
    mass, middle, level = 0.0, 0.0, 0.0
    for i in range(rows.size):
        u, here, moment = density[i], 0.0, 0.0
        for j in range(axis.size):
            here += u[j]
            moment += u[j] * axis[j]
        mass += here
        middle += moment
        level += here * rows[i]
    middle, level = middle / mass, level / mass
    along, crossed, across = 0.0, 0.0, 0.0
    for i in range(rows.size):
        u, here, moment, square, z = density[i], 0.0, 0.0, 0.0, rows[i] - level
        for j in range(axis.size):
            apart = axis[j] - middle
            here += u[j]
            moment += u[j] * apart
            square += u[j] * apart * apart
        along += square
        crossed += moment * z
        across += here * z * z
    out[0], out[1], out[2] = mass, middle, level
    out[3], out[4], out[5] = along / mass, crossed / mass, across / mass


@kernel
def low_fluxes(u: Float, speeds: Float, conductivity: Float, cells: Cells, across: Float, along: Float) -> None:
    """The first-order ones of a panel, which keep its density non-negative."""
    rows, columns = u.shape
    last = speeds.shape[0] - 1
    for i in range(rows):
        flux, line, strength = along[i], u[i], conductivity[last, last] / cells.widths[last] ** 2
        upwind(cells.walls, line, speeds[last, i], 1.0 / cells.widths[last], flux)
        for j in range(1, columns if strength > 0.0 else 1):
            flux[j] -= strength * cells.faces[j] * (line[j] / cells.weights[j] - line[j - 1] / cells.weights[j - 1])
    if last == 1:
        upwind_across(cells.walls, u, speeds[0], 1.0 / cells.widths[0], across)
        for i in range(1, rows):
            flux, line, before = across[i], u[i], u[i - 1]
            strength = conductivity[0, 0] / cells.widths[0] ** 2 * cells.row_faces[i]
            here, there = strength / cells.row_weights[i], strength / cells.row_weights[i - 1]
            for j in range(columns if strength > 0.0 else 0):
                flux[j] -= here * line[j] - there * before[j]


@kernel
def tell(
    density: Float, cells: Cells, other: tuple[Float, Float], turned: Float, smoothed: Float, rates: Slopes
) -> None:
    """told = what `Told` says, but for the residual; `other` are fluxes of the other order, `turned` and `smoothed` are
    room for a number in each cell."""
    out, rough, narrowest = 0.0, 0.0, float(max(cells.axis.size, cells.rows.size))
    rows, columns = density.shape[1], density.shape[2]
    for panel in range(density.shape[0]):
        u, across, along, peak, change = density[panel], rates.across[panel], rates.along[panel], 0.0, 0.0
        over, beside = other[0][panel], other[1][panel]
        out = max(out, outflow(rates.speeds[panel], cells.widths, 0, rows))
        for i in range(rows):
            line, flux, less, below, above = u[i], along[i], beside[i], across[i], across[i + 1]
            under, upper = over[i], over[i + 1]
            changes = smoothed[:columns]
            for j in range(columns):
                vertical = (above[j] - upper[j]) - (below[j] - under[j])
                changes[j] = abs(vertical + ((flux[j + 1] - less[j + 1]) - (flux[j] - less[j])))
            peak, change = max(peak, largest(line)), max(change, largest(changes))
        rough = max(rough, change / peak)
        narrowest = min(narrowest, narrowest_peak(u, peak, smoothed.reshape(rows, columns)))
        if rows > 1:
            lines = turned.reshape(columns, rows)
            for i in range(rows):
                for j in range(columns):
                    lines[j, i] = u[i, j]
            narrowest = min(narrowest, narrowest_peak(lines, peak, smoothed.reshape(columns, rows)))
    rates.told[0], rates.told[1], rates.told[2], rates.told[3] = out, rough, narrowest, np.inf
