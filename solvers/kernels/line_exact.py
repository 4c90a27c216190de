"""A step that integrates noise exactly on the cells of the line, in compiled code: all but the velocities.

`exact_stages.ExactStages` and `noise_steps.NoiseSteps.step` specify it, for any dimension. Stages are numbered: first
those that find the polynomial p, then those of the tableau, the last of which is the end of the step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cells import Cells, Slopes, State, Told
from mfpde.solvers.kernels.exact_modes import ModeStart, ModeStep, carry_modes, clear, conduct, gain, take_change
from mfpde.solvers.kernels.fast_fourier import forward
from mfpde.solvers.kernels.finite_volume_update import combine
from mfpde.solvers.kernels.line_slope import LineRoom, line_transport
from mfpde.solvers.steppers.gif853 import ERROR_FIVE, ERROR_THREE, LARGEST_DECAY, NODES, STAGE_WEIGHTS, WEIGHTS
from mfpde.transform.products import multiply
from mfpde.typing import Float

__all__ = [
    "STAGES",
    "ExactRoom",
    "ExactTask",
    "LineModes",
    "begin_exact",
    "exact_room",
    "judge_exact",
    "reach_exact",
    "take_exact",
    "transformed",
]

STAGES = NODES.size  # those of the tableau, the end of the step included
_TERMS_MAX = 4  # of the polynomial p
_ORDER_THREE_WEIGHT = 0.1  # as in `steppers.base.combined_error`
_ROWS = 4  # that products of matrices are done in
# weights of the stages before each one, and of the differences to the embedded solutions
_TABLE = np.zeros((STAGES + 1, STAGES + 1))
_TABLE[:STAGES, :STAGES], _TABLE[STAGES, :STAGES] = STAGE_WEIGHTS, WEIGHTS
_ERRORS = np.stack([ERROR_FIVE, ERROR_THREE])
_WALL = np.array([15.0, -10.0, 3.0]) / 8.0  # as in `modes.Modes.lifting`


class LineModes(NamedTuple):
    """Modes of the cells of the line (`modes.Modes`): by matrices, or, without these, cosines by Fourier transforms of
    the power of two that the cells are."""

    there: Float  # densities over `scale` times this are coefficients
    back: Float
    roots: Float  # e^{-2 pi i k / n}
    turns: Float  # sqrt(2 / n) e^{-pi i k / 2n}, over sqrt(2) for k = 0
    scale: Float  # (1, n)
    along: Float  # rates of unit conductivity
    slopes: Float  # of log g that the modes take out of speeds, or none
    walls: Float  # what slopes at both walls leave out, (2, n), or none


class ExactTask(NamedTuple):
    """A step: its length, at which nodes transport is looked at before, what errors are measured in, and the share of
    the peak below which densities are cleared."""

    length: float
    followed: Float
    rough: float
    tolerance: float
    floor: float


class ExactRoom(NamedTuple):
    """What one step needs; nothing in it outlives one. Arrays over cells are `(panels, 1, n)`."""

    given: Float
    change: Float
    polynomial: Float  # (terms, panels, 1, n)
    scaled: Float  # (stages + 1, panels, 1, n)
    spread: Float  # (stages + 1, panels, 1)
    mean: Float
    matrix: Float
    columns: Float  # (2, n)
    decay: Float
    modes: Float
    values: Float
    reached: Float  # the end before it is cleared
    weights: Float
    stage: State
    rates: Slopes
    speeds: Float  # that are left to transport, (panels, 1, 1, n)
    still: Float  # what flows across the only row, zeros (panels, 2, n)
    conductivities: Float  # (panels, 1), and beside the diagonal
    mixed: Float
    basis: Float  # of Newton's polynomials, by powers of the time
    factors: Float  # of products, (rows, n)
    products: Float
    data: Float  # of transforms, (2, n)
    work: Float
    across: Float  # rates of the only row, 0


def exact_room(panels: int, count: int) -> ExactRoom:
    """Room for so many panels of so many cells."""
    shape, rows = (panels, 1, count), -(-panels // _ROWS) * _ROWS
    rates = Slopes(
        across=np.zeros((panels, 2, count)),
        along=np.zeros((panels, 1, count + 1)),
        speeds=np.zeros((panels, 1, 1, count)),
        mean=np.zeros((panels, 1)),
        matrix=np.zeros((panels, 1, 1)),
        conductivity=np.zeros((panels, 1, 1)),
        told=np.zeros(len(Told._fields)),
    )
    return ExactRoom(
        given=np.zeros(shape),
        change=np.zeros(shape),
        polynomial=np.zeros((_TERMS_MAX, *shape)),
        scaled=np.zeros((STAGES + 1, *shape)),
        spread=np.zeros((STAGES + 1, panels, 1)),
        mean=np.zeros((STAGES + 1, panels, 1)),
        matrix=np.zeros((STAGES + 1, panels, 1, 1)),
        columns=np.zeros((2, count)),
        decay=np.zeros(shape),
        modes=np.zeros(shape),
        values=np.zeros(shape),
        reached=np.zeros(shape),
        weights=np.zeros(STAGES + 1),
        stage=State(np.zeros(shape), np.zeros((panels, 1)), np.zeros((panels, 1, 1))),
        rates=rates,
        speeds=np.zeros((panels, 1, 1, count)),
        still=np.zeros((panels, 2, count)),
        conductivities=np.zeros((panels, 1)),
        mixed=np.zeros((panels, 1, 1)),
        basis=np.zeros(_TERMS_MAX + 1),
        factors=np.zeros((rows, count)),
        products=np.zeros((rows, count)),
        data=np.zeros((2, count)),
        work=np.zeros((2, count)),
        across=np.zeros(1),
    )


@kernel
def _multiplied(given: Float, matrix: Float, room: ExactRoom, out: Float) -> None:
    """out = given matrix."""
    for panel in range(given.shape[0]):
        row, line = room.factors[panel], given[panel, 0]
        for j in range(line.size):
            row[j] = line[j]
    multiply(room.factors, matrix, room.products)
    for panel in range(given.shape[0]):
        row, line = room.products[panel], out[panel, 0]
        for j in range(line.size):
            line[j] = row[j]


@kernel
def _cosine_coefficients(line: Float, modes: LineModes, room: ExactRoom, out: Float) -> None:
    """out = orthonormal coefficients of a line, by the transform of even places and then odd ones, backwards."""
    n, data = line.size, room.data
    for j in range(n // 2):
        data[0, j], data[0, n - 1 - j] = line[2 * j], line[2 * j + 1]
    for j in range(n):
        data[1, j] = 0.0
    forward(data, room.work, modes.roots)
    for k in range(n):
        out[k] = modes.turns[0, k] * data[0, k] - modes.turns[1, k] * data[1, k]


@kernel
def _cosine_values(line: Float, modes: LineModes, room: ExactRoom, out: Float) -> None:
    """The inverse: rows of real and imaginary parts are exchanged for that of the transform."""
    n, data = line.size, room.data
    data[1, 0], data[0, 0] = modes.turns[0, 0] * line[0], 0.0
    for k in range(1, n):
        cosine, sine, here, there = modes.turns[0, k], -modes.turns[1, k], 0.5 * line[k], -0.5 * line[n - k]
        data[1, k], data[0, k] = cosine * here - sine * there, cosine * there + sine * here
    forward(data, room.work, modes.roots)
    for j in range(n // 2):
        out[2 * j], out[2 * j + 1] = data[1, j], data[1, n - 1 - j]


@kernel
def transformed(given: Float, modes: LineModes, there: bool, room: ExactRoom, out: Float) -> None:
    """out = `Modes.coefficients` of densities, which are lost, or `Modes.values` of coefficients."""
    if modes.there.size == 0:
        for panel in range(given.shape[0]):
            if there:
                _cosine_coefficients(given[panel, 0], modes, room, out[panel, 0])
            else:
                _cosine_values(given[panel, 0], modes, room, out[panel, 0])
        return
    for panel in range(given.shape[0] if there else 0):
        line, scale = given[panel, 0], modes.scale[0]
        for j in range(line.size):
            line[j] /= scale[j]
    _multiplied(given, modes.there if there else modes.back, room, out)
    for panel in range(0 if there else out.shape[0]):
        line, scale = out[panel, 0], modes.scale[0]
        for j in range(line.size):
            line[j] *= scale[j]


@kernel
def _take_transport(state: State, rates: Slopes, known: bool, modes: LineModes, cells: Cells, line: LineRoom,
                    room: ExactRoom) -> None:  # fmt: skip
    """room.change = coefficients of what transport changes, of speeds without what the modes take out of them; `known`
    says whether fluxes are those."""
    n, walls = cells.axis.size, modes.walls.size > 0
    for panel in range(state.density.shape[0]):
        u, speed, left = state.density[panel], rates.speeds[panel, 0, 0], room.speeds[panel, 0]
        for j in range(n):
            left[0, j] = speed[j]
        for j in range(modes.slopes.size):
            left[0, j] -= room.conductivities[panel, 0] * modes.slopes[j]
        if not known:
            line_transport(cells.order, u, left, False, cells, line, room.rates.along[panel])
    gain(room.still, room.rates.along, room.values)
    for panel in range(state.density.shape[0] if walls else 0):
        u, left, lifted = state.density[panel, 0], room.speeds[panel, 0, 0], room.values[panel, 0]
        low, high = 0.0, 0.0
        for j in range(_WALL.size):
            low += _WALL[j] * (u[j] * left[j])
            high += _WALL[j] * (u[n - 1 - j] * left[n - 1 - j])
        for j in range(n):
            lifted[j] += high * modes.walls[1, j] - low * modes.walls[0, j]
    transformed(room.values, modes, True, room, room.change)


@kernel
def _start_of(modes: LineModes, terms: int, room: ExactRoom) -> ModeStart:
    """With so many terms of p."""
    return ModeStart(room.given, room.polynomial[:terms], room.spread[0], room.across, modes.along, LARGEST_DECAY)


@kernel
def begin_exact(start: State, first: Slopes, noise: float, modes: LineModes, cells: Cells, line: LineRoom,
                room: ExactRoom) -> None:  # fmt: skip
    """Density and transport at the start, in modes; S_0 = 0."""
    conduct(noise, start.matrix, room.mixed[0], room.conductivities, room.mixed)
    _take_transport(start, first, False, modes, cells, line, room)
    for panel in range(start.density.shape[0]):
        room.spread[0, panel, 0] = room.conductivities[panel, 0]
        room.mean[0, panel, 0], room.matrix[0, panel, 0, 0] = first.mean[panel, 0], first.matrix[panel, 0, 0]
        for j in range(cells.axis.size):
            room.polynomial[0, panel, 0, j], room.scaled[0, panel, 0, j] = room.change[panel, 0, j], 0.0
            room.values[panel, 0, j] = start.density[panel, 0, j]
    transformed(room.values, modes, True, room, room.given)
    for k in range(room.basis.size):
        room.basis[k] = 1.0 if k == 1 else 0.0


@kernel
def _place(task: ExactTask, number: int) -> tuple[int, int, float]:
    """Of a stage: how many are before it, how many terms p has, and its node."""
    looks = task.followed.size
    if number < looks:
        return 1, number + 1, task.followed[number]
    before = number - looks + 1
    return before, looks + 1, (NODES[before] if before < STAGES else 1.0)


@kernel
def reach_exact(start: State, task: ExactTask, number: int, modes: LineModes, room: ExactRoom) -> bool:
    """room.stage = the solution of a stage, cleared of rounding errors, room.values = its density before that; whether
    it is sound."""
    count, terms, node = _place(task, number)
    length, stage, weights = task.length, room.stage, room.weights[:count]
    for k in range(count):
        weights[k] = node * length if number < task.followed.size else length * _TABLE[count, k]
    step = ModeStep(room.scaled, room.spread, room.columns)
    carry_modes(node * length, weights, _start_of(modes, terms, room), step, room.decay, room.modes)
    transformed(room.modes, modes, False, room, room.values)
    total, sizes = 0.0, 1.0
    for panel in range(stage.mean.shape[0]):
        mean, matrix = 0.0, 0.0
        for k in range(count):
            mean += weights[k] * room.mean[k, panel, 0]
            matrix += weights[k] * room.matrix[k, panel, 0, 0]
        mean, matrix = start.mean[panel, 0] + mean, start.matrix[panel, 0, 0] + matrix
        stage.mean[panel, 0], stage.matrix[panel, 0, 0] = mean, matrix
        for j in range(modes.along.size):
            total += abs(room.values[panel, 0, j])
        total += abs(stage.mean[panel, 0]) + abs(stage.matrix[panel, 0, 0])
        sizes *= 1.0 if stage.matrix[panel, 0, 0] != 0.0 else 0.0
    clear(room.values, modes.scale, task.floor, stage.density)
    return total < np.inf and sizes > 0.0


@kernel
def take_exact(task: ExactTask, number: int, noise: float, modes: LineModes, cells: Cells, line: LineRoom,
               room: ExactRoom) -> None:  # fmt: skip
    """Take in the rates of a stage, which stand in room.rates."""
    count, terms, node = _place(task, number)
    time, length, rates = node * task.length, task.length, room.rates
    if number + 1 == task.followed.size + STAGES:  # what the end of the step is before it is cleared
        for panel in range(rates.mean.shape[0]):
            for j in range(cells.axis.size):
                room.reached[panel, 0, j] = room.values[panel, 0, j]
    conduct(noise, room.stage.matrix, room.mixed[0], room.conductivities, room.mixed)
    _take_transport(room.stage, rates, modes.slopes.size == 0, modes, cells, line, room)
    start, here = _start_of(modes, terms, room), room.conductivities
    take_change(time, length, here, start, room.decay, room.change, room.scaled[count])
    if number < task.followed.size:
        _follow(time, terms, room)
        return
    for panel in range(rates.mean.shape[0]):
        room.spread[count, panel, 0] = here[panel, 0]
        room.mean[count, panel, 0], room.matrix[count, panel, 0, 0] = rates.mean[panel, 0], rates.matrix[panel, 0, 0]


@kernel
def _follow(time: float, terms: int, room: ExactRoom) -> None:
    """p takes the value of N at that time, too: one term more (`ExactStages.follow`)."""
    basis, level = room.basis, 0.0
    for k in range(terms, -1, -1):
        level = level * time + basis[k]
    for panel in range(room.change.shape[0]):
        change = room.change[panel, 0]
        for k in range(1, terms + 1):
            line, weight = room.polynomial[k, panel, 0], basis[k] / level
            for j in range(change.size):
                line[j] = weight * change[j] + (line[j] if k < terms else 0.0)
    for k in range(terms + 1, 0, -1):
        basis[k] = basis[k - 1] - time * basis[k]
    basis[0] *= -time


@kernel
def _fast_change(task: ExactTask, modes: LineModes, room: ExactRoom) -> None:
    """room.values = what N, taken for linear in time, adds to the densities in fast modes (`ExactStages.followed`)."""
    length = task.length
    for panel in range(room.change.shape[0]):
        change, out, spread = room.change[panel, 0], room.modes[panel, 0], 0.0
        for k in range(STAGES):
            spread += WEIGHTS[k] * room.spread[k, panel, 0]
        for j in range(change.size):
            exponent = length * spread * modes.along[j]
            fast = -length * room.spread[0, panel, 0] * modes.along[j] > LARGEST_DECAY
            out[j] = length * (math.expm1(exponent) / exponent - 1.0) / exponent * change[j] if fast else 0.0
    transformed(room.modes, modes, False, room, room.values)


@kernel
def _difference(start: State, row: int, task: ExactTask, modes: LineModes, room: ExactRoom) -> float:
    """The size of the difference to an embedded solution, in units of what is allowed (`stepping.change_size`)."""
    length, size = task.length, 0.0
    for panel in range(room.change.shape[0]):
        out, decay = room.modes[panel, 0], room.decay[panel, 0]
        for j in range(out.size):
            out[j] = 0.0
        for k in range(STAGES + 1):
            combine(room.scaled[k, panel, 0], _ERRORS[row, k], out)
        for j in range(out.size):
            out[j] *= length * decay[j]
    transformed(room.modes, modes, False, room, room.values)
    for panel in range(room.change.shape[0]):
        mean, matrix, peak, most = 0.0, 0.0, 0.0, 0.0
        for k in range(STAGES + 1):
            mean += length * _ERRORS[row, k] * room.mean[k, panel, 0]
            matrix += length * _ERRORS[row, k] * room.matrix[k, panel, 0, 0]
        for j in range(modes.along.size):
            peak, most = max(peak, start.density[panel, 0, j]), max(most, abs(room.values[panel, 0, j]))
        frame = abs(start.matrix[panel, 0, 0])
        size = max(size, most / (peak * task.rough), max(abs(mean), abs(matrix)) / (frame * task.tolerance))
    return size


@kernel
def judge_exact(start: State, task: ExactTask, modes: LineModes, room: ExactRoom, new: State) -> tuple[float, float]:
    """new = the end of a step without ripples, with the mass from before; its error in units of what is allowed, and
    the largest negative density, relative to the peak, in units of the modes' scale."""
    _fast_change(task, modes, room)
    others, clipped = 0.0, -np.inf
    for panel in range(new.mean.shape[0]):
        u, reached, added, peak = start.density[panel, 0], room.reached[panel, 0], room.values[panel, 0], 0.0
        for j in range(u.size):
            peak = max(peak, u[j])
        least, most = np.inf, -np.inf
        for j in range(u.size):
            reached[j] += added[j]
            others = max(others, abs(added[j]) / peak, -reached[j] / peak)
            least, most = min(least, reached[j] / modes.scale[0, j]), max(most, reached[j] / modes.scale[0, j])
        clipped = max(clipped, -least / most)
    five, three = _difference(start, 0, task, modes, room), _difference(start, 1, task, modes, room)
    together = math.hypot(five, _ORDER_THREE_WEIGHT * three)
    error = max(five * (five / together) if together > 0.0 else together, others / task.rough)
    clear(room.reached, modes.scale, max(task.floor, 2.0 * clipped), new.density)
    for panel in range(new.mean.shape[0]):
        u, line, before, after = start.density[panel, 0], new.density[panel, 0], 0.0, 0.0
        for j in range(u.size):
            before += u[j]
            after += line[j]
        for j in range(u.size):
            line[j] *= before / after
        new.mean[panel, 0], new.matrix[panel, 0, 0] = room.stage.mean[panel, 0], room.stage.matrix[panel, 0, 0]
    return error, clipped
