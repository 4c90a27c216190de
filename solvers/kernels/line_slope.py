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
from mfpde.solvers.kernels.finite_volume_closure import GAUSSIAN_FLOOR, RING_FRACTIONS, SHARE_BOUNDS, SHARE_MAX
from mfpde.solvers.kernels.finite_volume_diffusion import spread_along
from mfpde.solvers.kernels.finite_volume_peaks import narrowest_peak
from mfpde.solvers.kernels.finite_volume_transport import GHOSTS, TURNING_SPEED, ends_of, transport_along, upwind
from mfpde.solvers.kernels.finite_volume_update import outflow
from mfpde.transform.equispaced import SumRoom, equispaced_sums, padded, sum_room
from mfpde.transform.exponential import exponential
from mfpde.typing import AnyArray, Float

__all__ = [
    "LineCells",
    "LineHeads",
    "LineRates",
    "LineRoom",
    "LineTold",
    "line_moments",
    "line_room",
    "line_slope",
    "low_fluxes",
]

_LARGEST_LOG = 709.0  # beyond it e^x is no double: drifts of unnormalised attention are then infinite


class LineHeads(NamedTuple):
    """Kernels `e^{a x y - f y^2}`; rows of coefficients are those of the stages of a step."""

    normalised: AnyArray  # (heads,)
    masked: AnyArray
    query: Float  # a, (stages, heads)
    value: Float
    form: Float  # f
    noise: Float  # strength of diffusion, (stages,)


class LineCells(NamedTuple):
    """Tables of a grid and of what is asked of it; `moves` says whether frames take the regression out."""

    axis: Float
    width: float
    widths: Float  # the same, (1,)
    weights: Float  # g in the cells
    face_weights: Float
    excess: Float  # of the axis over the slope of -log g
    factors: Float  # of staggered differences, a row for each order of transport
    rows: Float  # the factor of g for the only row, 1
    order: int
    other_order: int  # that its fluxes are held against
    walls: bool
    closed: bool
    moves: bool
    gaussian: bool  # whether closures are N(0, I)
    heaviest: bool  # whether they are the heaviest that edges allow
    positions: Float  # of panels


class LineRates(NamedTuple):
    """What a slope is: `flux (panels, 1, n + 1)`, `speeds (panels, 1, 1, n)`, one number for each panel, and what is
    told of a solution besides (`LineTold`)."""

    flux: Float
    speeds: Float
    mean: Float
    matrix: Float
    conductivity: Float
    told: Float


class LineTold(NamedTuple):
    """What is told of a solution between steps."""

    outflow: float  # the largest share of a cell that first-order transport takes out per unit time
    roughness: float  # how much fluxes of another order change the density per unit time, relative to its peak
    narrowest: float  # width of the narrowest peak in cells, by averages (1, 2, 1) / 4


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
    drift: Float
    values: Float  # u / g, and products of density and speed, (1, n)
    product: Float
    other: Float  # fluxes of the other order, (panels, 1, n + 1)
    padded: Float
    spread: Float


def line_room(panels: int, count: int) -> LineRoom:
    """Room for so many panels of so many cells."""
    factors, level, first, second, peak, total, moment, drift = (np.zeros(padded(count)) for _ in range(8))
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
        drift=drift,
        values=values,
        product=product,
        other=np.zeros((panels, 1, count + 1)),
        padded=np.zeros((1, count + 2 * GHOSTS)),
        spread=np.zeros((2, count + 2 * GHOSTS)),
    )


@kernel
def line_moments(density: Float, axis: Float) -> tuple[float, float, float]:
    """Sum, mean and variance of a density over the cells."""
    mass, middle, spread = 0.0, 0.0, 0.0
    for j in range(axis.size):
        mass += density[j]
        middle += density[j] * axis[j]
    middle /= mass
    for j in range(axis.size):
        spread += density[j] * (axis[j] - middle) ** 2
    return mass, middle, spread / mass


@kernel
def _close(density: Float, axis: Float, width: float, standard: bool, heaviest: bool, closure: Float) -> None:
    """closure = share, mean and variance of the Gaussian that continues a panel (`Closure.of`)."""
    n = axis.size
    mass, middle, spread = line_moments(density, axis)
    if standard:
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
    unit, mass = math.sqrt(2.0 * math.pi * spread), mass * width
    share = least * unit
    if not SHARE_BOUNDS[0] * mass <= share <= SHARE_BOUNDS[1] * mass:
        share = 0.0
    if heaviest:
        share = min(most * unit, SHARE_MAX * mass)
    closure[0], closure[1], closure[2] = share, middle, spread


@kernel
def _close_panels(density: Float, cells: LineCells, room: LineRoom) -> None:
    """Masses of cells, without and with the Gaussian outside of them."""
    axis, width = cells.axis, cells.width
    for panel in range(density.shape[0]):
        u, masses, open_masses, closure = (
            density[panel, 0],
            room.masses[panel],
            room.open_masses[panel],
            room.closures[panel],
        )
        closure[0] = 0.0
        if cells.closed:
            _close(u, axis, width, cells.gaussian, cells.heaviest, closure)
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
def _tilt(source: int, mean: float, matrix: float, tilts: tuple[float, float], form: float, cells: LineCells,
          room: LineRoom) -> None:  # fmt: skip
    """Add the Laplace transform of a panel, and its slope, at tilts `w_0 + u K` to those of others."""
    axis, n = cells.axis, cells.axis.size
    middle, half = 0.5 * (axis[0] + axis[n - 1]), 0.5 * (n - 1)
    place, spacing = mean + matrix * middle, matrix * cells.width
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
def _drift(panel: int, mean: Float, matrix: Float, heads: LineHeads, stage: int, cells: LineCells, room: LineRoom,
           drift: Float) -> None:  # fmt: skip
    """drift = the velocity in the cells of a panel."""
    axis, n = cells.axis, cells.axis.size
    middle, panels = 0.5 * (axis[0] + axis[n - 1]), mean.shape[0]
    for k in range(n):
        drift[k] = 0.0
    for head in range(heads.masked.size):
        query, value = heads.query[stage, head], heads.value[stage, head]
        tilts = query * (mean[panel, 0] + matrix[panel, 0, 0] * middle), query * matrix[panel, 0, 0] * cells.width
        for k in range(n):
            room.peak[k], room.total[k], room.moment[k] = -np.inf, 0.0, 0.0
        for source in range(panels):
            if not (heads.masked[head] and cells.positions[source] > cells.positions[panel]):
                _tilt(source, mean[source, 0], matrix[source, 0, 0], tilts, heads.form[stage, head], cells, room)
        peak, total, moment = room.peak, room.total, room.moment
        if heads.normalised[head]:
            for k in range(n):
                drift[k] += value * (moment[k] / total[k])
        else:
            for k in range(n):
                raised = exponential(min(peak[k], _LARGEST_LOG)) if peak[k] <= _LARGEST_LOG else np.inf
                drift[k] += value * (raised * moment[k])


@kernel
def _move_frame(density: Float, drift: Float, cells: LineCells) -> tuple[float, float]:
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
def _fluxes(order: int, density: Float, rates: LineRates, cells: LineCells, room: LineRoom, flux: Float) -> None:
    """Through all faces by the scheme of that order."""
    n = cells.axis.size
    for panel in range(density.shape[0]):
        u, speed, out = density[panel], rates.speeds[panel, 0], flux[panel]
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(speed[0, j]))
            room.product[0, j] = u[0, j] * speed[0, j]
        turning, scale = TURNING_SPEED * largest, 1.0 / cells.width
        conductivity = rates.conductivity[panel, 0, 0]
        ends = ends_of(cells.walls, conductivity > 0.0)
        transport_along(order, ends, u, speed, room.product, turning, scale, room.padded, out)
        if conductivity > 0.0:
            for j in range(n):
                room.values[0, j] = u[0, j] / cells.weights[j]
            strength, factors = conductivity / cells.width**2, cells.factors[order]
            spread_along(cells.walls, room.values, factors, strength, cells.rows, cells.face_weights, room.spread, out)


@kernel
def low_fluxes(u: Float, speed: Float, conductivity: float, cells: LineCells, flux: Float) -> None:
    """The first-order ones of a panel, which keep its density non-negative."""
    upwind(cells.walls, u, speed, 1.0 / cells.width, flux)
    strength, weights, faces = conductivity / cells.width**2, cells.weights, cells.face_weights
    for j in range(1, u.size):
        flux[j] -= strength * faces[j] * (u[j] / weights[j] - u[j - 1] / weights[j - 1])


@kernel
def _velocities(density: Float, mean: Float, matrix: Float, heads: LineHeads, stage: int, cells: LineCells,
                room: LineRoom, rates: LineRates) -> None:  # fmt: skip
    """Speeds, conductivities and motions of the frames."""
    n, noise = cells.axis.size, heads.noise[stage]
    _close_panels(density, cells, room)
    for panel in range(density.shape[0]):
        drift, speed = room.drift, rates.speeds[panel, 0, 0]
        _drift(panel, mean, matrix, heads, stage, cells, room, drift)
        inverse = 1.0 / matrix[panel, 0, 0]
        constant, slope = 0.0, 0.0
        if cells.moves:
            constant, slope = _move_frame(density[panel, 0], drift, cells)
        for j in range(n):
            speed[j] = inverse * (drift[j] - constant - slope * cells.axis[j] - noise * inverse * cells.excess[j])
        rates.mean[panel, 0] = constant
        rates.matrix[panel, 0, 0] = slope + (noise * inverse if cells.moves else 0.0)
        rates.conductivity[panel, 0, 0] = noise * inverse * inverse


@kernel
def _tell(density: Float, cells: LineCells, room: LineRoom, rates: LineRates) -> None:
    """told = what `LineTold` says."""
    largest, rough, narrowest = 0.0, 0.0, float(cells.axis.size)
    for panel in range(density.shape[0]):
        u, flux, other, peak, change = density[panel, 0], rates.flux[panel, 0], room.other[panel, 0], 0.0, 0.0
        largest = max(largest, outflow(rates.speeds[panel], cells.widths, 0, 1))
        for j in range(u.size):
            peak = max(peak, u[j])
            change = max(change, abs((flux[j + 1] - other[j + 1]) - (flux[j] - other[j])))
        rough = max(rough, change / peak)
        narrowest = min(narrowest, narrowest_peak(density[panel], peak, room.values))
    rates.told[0], rates.told[1], rates.told[2] = largest, rough, narrowest


@kernel
def line_slope(
    density: Float,
    mean: Float,
    matrix: Float,
    heads: LineHeads,
    stage: int,
    cells: LineCells,
    room: LineRoom,
    rates: LineRates,
    told: bool,
) -> None:
    """rates = those of a solution, with the coefficients of a stage; without any, of the velocity that they have."""
    if heads.noise.size > 0:
        _velocities(density, mean, matrix, heads, stage, cells, room, rates)
    for other in range(2 if told else 1):
        order, flux = (cells.order, rates.flux) if other == 0 else (cells.other_order, room.other)
        _fluxes(order, density, rates, cells, room, flux)
    if told:
        _tell(density, cells, room, rates)
