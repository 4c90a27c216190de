"""The equation on cells of the line in one compiled call: drifts of all panels, motion of their frames, fluxes.

`CellSystem.rhs` specifies it, for any attention and any dimension. Sums run over cells that are equally spaced
(`mfpde.transform.equispaced`). The Gaussian that continues a panel outside of its cells (`gaussian_closure.py`) is the
whole Gaussian minus its own cells, `M = sum_j (m_j - a g_j) e^{w y_j} + a F(w)`: its cells join those of the panel.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cells import MOMENTS, Cells, Heads, Slopes, State, Told, bound_speeds, cell_moments, tell
from mfpde.solvers.kernels.finite_volume_closure import GAUSSIAN_FLOOR, RING_FRACTIONS, SHARE_BOUNDS, SHARE_MAX
from mfpde.solvers.kernels.finite_volume_diffusion import spread_along
from mfpde.solvers.kernels.finite_volume_transport import GHOSTS, TURNING_SPEED, ends_of, transport_along
from mfpde.transform.equispaced import SumRoom, equispaced_sums, padded, sum_room
from mfpde.transform.exponential import exponential
from mfpde.typing import Float

__all__ = [
    "LARGEST_LOG",
    "RESIDUAL",
    "LineRoom",
    "end_line_slope",
    "line_doubts",
    "line_room",
    "line_slope",
    "line_transport",
]

RESIDUAL = Told._fields.index("residual")  # its place
LARGEST_LOG = 709.0  # beyond it e^x is no double: drifts of unnormalised attention are then infinite


class LineRoom(NamedTuple):
    """What one call needs; nothing in it outlives one."""

    masses: Float  # of cells, (panels, n)
    open_masses: Float  # minus those of closures
    closures: Float  # share, mean and variance, (panels, 3)
    sums: SumRoom
    factors: Float
    level: Float
    first: Float
    second: Float
    peak: Float
    total: Float
    moment: Float
    values: Float  # u / g, and products of density and speed, (1, n)
    product: Float
    other: Float  # fluxes of the other order, (panels, 1, n + 1)
    still: Float  # what flows across the only row, zeros (panels, 2, n)
    carried: Float  # speeds in cells at which frames carry what rests, (panels, 1, 1, n)
    resting: Float  # conductivities without noise, zeros (panels, 1, 1)
    moments: Float
    padded: Float
    spread: Float


def line_room(panels: int, count: int) -> LineRoom:
    """Room for so many panels of so many cells."""
    factors, level, first, second, peak, total, moment = (np.zeros(padded(count)) for _ in range(7))
    values, product = np.zeros((1, count)), np.zeros((1, count))
    return LineRoom(
        masses=np.zeros((panels, count)),
        open_masses=np.zeros((panels, count)),
        closures=np.zeros((panels, 3)),
        sums=sum_room(count),
        factors=factors,
        level=level,
        first=first,
        second=second,
        peak=peak,
        total=total,
        moment=moment,
        values=values,
        product=product,
        other=np.zeros((panels, 1, count + 1)),
        still=np.zeros((panels, 2, count)),
        carried=np.zeros((panels, 1, 1, count)),
        resting=np.zeros((panels, 1, 1)),
        moments=np.zeros(MOMENTS),
        padded=np.zeros((1, count + 2 * GHOSTS)),
        spread=np.zeros((2, count + 2 * GHOSTS)),
    )


@kernel
def _close(panel: Float, cells: Cells, heaviest: bool, moments: Float, closure: Float) -> None:
    """closure = share, mean and variance of the Gaussian that continues a panel (`Closure.of`)."""
    axis, n, density = cells.axis, cells.axis.size, panel[0]
    cell_moments(panel, cells.rows, axis, moments)
    mass, middle, spread = moments[0], moments[1], moments[3]
    if cells.gaussian:
        middle, spread = 0.0, 1.0
    least, most = np.inf, 0.0
    for fraction in range(2):
        inset = n // RING_FRACTIONS[fraction]
        for side in range(2):
            end = inset if side == 0 else n - 1 - inset
            gaussian = math.exp(-0.5 * (axis[end] - middle) ** 2 / spread)
            ratio = density[end] / gaussian if gaussian > GAUSSIAN_FLOOR else 0.0
            least = min(least, ratio)
            if fraction == 1:
                most = max(most, ratio)
    unit, mass = math.sqrt(2.0 * math.pi * spread), mass * cells.widths[0]
    share = least * unit
    if not SHARE_BOUNDS[0] * mass <= share <= SHARE_BOUNDS[1] * mass:
        share = 0.0
    if heaviest:
        share = min(most * unit, SHARE_MAX * mass)
    closure[0], closure[1], closure[2] = share, middle, spread


@kernel
def _close_panels(density: Float, cells: Cells, heaviest: bool, room: LineRoom) -> None:
    """Masses of cells, without and with the Gaussian outside of them, which may be the heaviest."""
    axis, width = cells.axis, cells.widths[0]
    for panel in range(density.shape[0]):
        u, masses, open_masses, closure = (
            density[panel, 0],
            room.masses[panel],
            room.open_masses[panel],
            room.closures[panel],
        )
        closure[0] = 0.0
        if cells.closed:
            _close(density[panel], cells, heaviest, room.moments, closure)
        for j in range(axis.size):
            masses[j] = u[j] * width
        if closure[0] > 0.0:
            scale, narrow = closure[0] * width / math.sqrt(2.0 * math.pi * closure[2]), -0.5 / closure[2]
            for j in range(axis.size):
                apart = axis[j] - closure[1]
                open_masses[j] = masses[j] - scale * exponential(narrow * apart * apart)


@kernel
def _join(room: LineRoom, count: int) -> None:
    """Add `e^level (first, second)` to `e^peak (total, moment)`."""
    level, peak, old = room.level[:count], room.peak[:count], room.factors[:count]
    for k in range(count):
        top = max(level[k], peak[k])
        old[k] = exponential(peak[k] - top)
        level[k] = exponential(level[k] - top)
        peak[k] = top
    total, first = room.total[:count], room.first[:count]
    for k in range(count):
        total[k] = old[k] * total[k] + level[k] * first[k]
    moment, second = room.moment[:count], room.second[:count]
    for k in range(count):
        moment[k] = old[k] * moment[k] + level[k] * second[k]


@kernel
def _whole_gaussian(
    closure: Float, mean: float, matrix: float, tilts: tuple[float, float], room: LineRoom, n: int
) -> None:
    """`e^level (first, second)` = the Laplace transform of a closure's Gaussian, and its slope."""
    half, level, first, second = 0.5 * (n - 1), room.level, room.first, room.second
    origin, variance, log_share = mean + matrix * closure[1], matrix * matrix * closure[2], math.log(closure[0])
    for k in range(n):
        w = tilts[0] + tilts[1] * (k - half)
        level[k] = log_share + w * (origin + 0.5 * w * variance)
        first[k] = 1.0
        second[k] = origin + w * variance


@kernel
def _tilt(source: int, mean: float, matrix: float, tilts: tuple[float, float], form: float, cells: Cells,
          room: LineRoom) -> None:  # fmt: skip
    """Add the Laplace transform of a panel, and its slope, at tilts `w_0 + u K` to those of others."""
    axis, n = cells.axis, cells.axis.size
    middle, half = 0.5 * (axis[0] + axis[n - 1]), 0.5 * (n - 1)
    place, spacing = mean + matrix * middle, matrix * cells.widths[0]
    for j in range(n):
        y = mean + matrix * axis[j]
        room.factors[j] = -form * y * y
    closure = room.closures[source]
    beyond = form == 0.0 and closure[0] > 0.0
    masses = room.open_masses[source] if beyond else room.masses[source]
    level, first, second = room.level, room.first, room.second
    equispaced_sums(masses, room.factors[:n], spacing, tilts[0], tilts[1], room.sums, level, first, second)
    for k in range(n):
        level[k] += (tilts[0] + tilts[1] * (k - half)) * place
        second[k] = place * first[k] + spacing * second[k]
    for part in range(2 if beyond else 1):
        if part == 1:
            _whole_gaussian(closure, mean, matrix, tilts, room, n)
        _join(room, n)


@kernel
def _drift(panel: int, mean: Float, matrix: Float, heads: Heads, stage: int, cells: Cells, room: LineRoom,
           drift: Float) -> None:  # fmt: skip
    """drift = the velocity in the cells of a panel."""
    axis, n = cells.axis, cells.axis.size
    middle, panels = 0.5 * (axis[0] + axis[n - 1]), mean.shape[0]
    for k in range(n):
        drift[k] = 0.0
    for head in range(heads.masked.size):
        query, value = heads.query[stage, head, 0, 0], heads.value[stage, head, 0, 0]
        tilts = query * (mean[panel, 0] + matrix[panel, 0, 0] * middle), query * matrix[panel, 0, 0] * cells.widths[0]
        for k in range(n):
            room.peak[k], room.total[k], room.moment[k] = -np.inf, 0.0, 0.0
        for source in range(panels):
            if not (heads.masked[head] and cells.positions[source] > cells.positions[panel]):
                form = heads.form[stage, head, 0, 0]
                _tilt(source, mean[source, 0], matrix[source, 0, 0], tilts, form, cells, room)
        peak, total, moment = room.peak, room.total, room.moment
        if heads.normalised[head]:
            for k in range(n):
                drift[k] += value * (moment[k] / total[k])
        else:
            for k in range(n):
                raised = exponential(min(peak[k], LARGEST_LOG)) if peak[k] <= LARGEST_LOG else np.inf
                drift[k] += value * (raised * moment[k])


@kernel
def _drifts(density: Float, state: State, heads: Heads, stage: int, cells: Cells, heaviest: bool, room: LineRoom,
            drifts: Float) -> None:  # fmt: skip
    """drifts = the velocities in the cells of all panels, by a density in the frames of a solution."""
    _close_panels(density, cells, heaviest, room)
    for panel in range(density.shape[0]):
        _drift(panel, state.mean, state.matrix, heads, stage, cells, room, drifts[panel, 0, 0])


@kernel
def _move_frame(density: Float, drift: Float, cells: Cells) -> tuple[float, float]:
    """(c, R) of the regression `c + R z` of the drift under a panel."""
    axis, n = cells.axis, cells.axis.size
    level = drift[n // 2]
    mass, middle, spread, constant, product = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        moment, over = density[j] * axis[j], drift[j] - level
        mass += density[j]
        middle += moment
        spread += moment * axis[j]
        constant += density[j] * over
        product += moment * over
    middle, constant = middle / mass, constant / mass
    slope = (product / mass - constant * middle) / (spread / mass - middle * middle)
    return level + constant - slope * middle, slope


@kernel
def line_transport(order: int, u: Float, speed: Float, noisy: bool, cells: Cells, room: LineRoom, out: Float) -> None:
    """out = what flows through all faces of a panel by the scheme of that order, without diffusion."""
    largest = 0.0
    for j in range(cells.axis.size):
        largest = max(largest, abs(speed[0, j]))
        room.product[0, j] = u[0, j] * speed[0, j]
    turning, scale, ends = TURNING_SPEED * largest, 1.0 / cells.widths[0], ends_of(cells.walls, noisy)
    transport_along(order, ends, u, speed, room.product, turning, scale, room.padded, out)


@kernel
def _fluxes(order: int, density: Float, speeds: Float, conductivities: Float, cells: Cells, room: LineRoom,
            flux: Float) -> None:  # fmt: skip
    """Through all faces by the scheme of that order."""
    for panel in range(density.shape[0]):
        u, out, conductivity = density[panel], flux[panel], conductivities[panel, 0, 0]
        line_transport(order, u, speeds[panel, 0], conductivity > 0.0, cells, room, out)
        if conductivity > 0.0:
            for j in range(cells.axis.size):
                room.values[0, j] = u[0, j] / cells.weights[j]
            strength, factors = conductivity / cells.widths[0] ** 2, cells.factors[order]
            weights, faces = cells.row_weights, cells.faces
            spread_along(cells.walls, room.values, factors, strength, weights, faces, room.spread, out)


@kernel
def _carry(state: State, rates: Slopes, cells: Cells, room: LineRoom) -> None:
    """room.carried = how fast frames carry what is at rest through their cells, with the sign of what rests."""
    for panel in range(state.mean.shape[0]):
        mean, matrix, speed = rates.mean[panel, 0], rates.matrix[panel, 0, 0], room.carried[panel, 0, 0]
        for j in range(speed.size):
            speed[j] = (mean + matrix * cells.axis[j]) / state.matrix[panel, 0, 0]


@kernel
def _residual(rates: Slopes, cells: Cells, room: LineRoom) -> float:
    """`CellSystem.residual`, where room.other is what frames carry."""
    total = 0.0
    for panel in range(rates.along.shape[0]):
        flux, carried = rates.along[panel, 0], room.other[panel, 0]
        for j in range(cells.axis.size):
            total += abs((flux[j + 1] + carried[j + 1]) - (flux[j] + carried[j]))
    return total * cells.widths[0]


@kernel
def _frame_velocity(panel: int, density: Float, matrix: Float, noise: float, cells: Cells, rates: Slopes) -> None:
    """Motion of a frame, and velocity of z in its cells in place of that of x; conductivity of its panel."""
    inverse, speed = 1.0 / matrix[0, 0], rates.speeds[panel, 0, 0]
    constant, slope = 0.0, 0.0
    if cells.moves:
        constant, slope = _move_frame(density[0], speed, cells)
    for j in range(speed.size):
        speed[j] = inverse * (speed[j] - constant - slope * cells.axis[j])
    if cells.bounded:
        bound_speeds(density, rates.speeds[panel])
    for j in range(speed.size):
        speed[j] -= noise * inverse * inverse * cells.excess[j]
    rates.mean[panel, 0] = constant
    rates.matrix[panel, 0, 0] = slope + (noise * inverse if cells.moves else 0.0)
    rates.conductivity[panel, 0, 0] = noise * inverse * inverse if cells.spreads else 0.0


@kernel
def end_line_slope(state: State, noise: Float, stage: int, cells: Cells, room: LineRoom, rates: Slopes,
                   told: int) -> None:  # fmt: skip
    """rates = those of a solution, from the velocities of x in its cells, which stand in place of the speeds; without
    any noise, not even 0, from speeds and conductivities as they are. Little is told of them with 1, all with 2."""
    density = state.density
    for panel in range(density.shape[0] if noise.size > 0 else 0):
        _frame_velocity(panel, density[panel], state.matrix[panel], noise[stage], cells, rates)
    for part in range(told + 1):
        order, speeds, conductivity, flux = cells.order, rates.speeds, rates.conductivity, room.other
        if part == 0:
            flux = rates.along
        elif part == 1:
            order = cells.other_order
        else:
            _carry(state, rates, cells, room)
            speeds, conductivity = room.carried, room.resting
        _fluxes(order, density, speeds, conductivity, cells, room, flux)
        if part == 1:
            tell(density, cells, (room.still, room.other), room.product[0], room.values[0], rates)
        elif part == 2:
            rates.told[RESIDUAL] = _residual(rates, cells, room)


@kernel
def line_slope(state: State, heads: Heads, stage: int, cells: Cells, room: LineRoom, rates: Slopes,
               told: int) -> None:  # fmt: skip
    """rates = those of a solution, with the coefficients of a stage; without any, of the velocity that they have."""
    if heads.noise.size > 0:
        _drifts(state.density, state, heads, stage, cells, cells.heaviest, room, rates.speeds)
    end_line_slope(state, heads.noise, stage, cells, room, rates, told)


@kernel
def _apart(state: State, one: Float, other: Float, cells: Cells, moments: Float) -> float:
    """By how much two velocities differ, on average over the cells, relative to the width of a panel."""
    largest = 0.0
    for panel in range(state.density.shape[0]):
        u, here, there, change = state.density[panel, 0], one[panel, 0, 0], other[panel, 0, 0], 0.0
        for j in range(u.size):
            change += abs(there[j] - here[j]) * u[j]
        cell_moments(state.density[panel], cells.rows, cells.axis, moments)
        change /= moments[0] * abs(state.matrix[panel, 0, 0]) * math.sqrt(moments[3])
        largest = max(largest, change) if math.isfinite(change) else np.inf
    return largest


@kernel
def _change(density: Float, rates: Slopes, length: float, cells: Cells, room: LineRoom, changed: Float) -> None:
    """changed = the density with the difference that fluxes of the other order make in a time."""
    _fluxes(cells.other_order, density, rates.speeds, rates.conductivity, cells, room, room.other)
    for panel in range(density.shape[0]):
        u, flux, beside, out = density[panel, 0], rates.along[panel, 0], room.other[panel, 0], changed[panel, 0]
        for j in range(u.size):
            out[j] = max(u[j] + length * ((flux[j + 1] - beside[j + 1]) - (flux[j] - beside[j])), 0.0)


@kernel
def line_doubts(start: State, first: Slopes, length: float, heads: Heads, cells: Cells,
                room: LineRoom, changed: Float, drifts: tuple[Float, Float]) -> tuple[float, float]:  # fmt: skip
    """What tails do to drifts, and what fluxes do in a time (`CellSystem.drift_doubts`); of no time, and of no tails,
    they are 0."""
    (usual, other), tails = drifts, 0.0
    _drifts(start.density, start, heads, 0, cells, False, room, usual)
    if cells.closed:
        _drifts(start.density, start, heads, 0, cells, True, room, other)
        tails = _apart(start, usual, other, cells, room.moments)
    if length == 0.0:
        return tails, 0.0
    _change(start.density, first, length, cells, room, changed)
    _drifts(changed, start, heads, 0, cells, False, room, other)
    return tails, _apart(start, usual, other, cells, room.moments)
