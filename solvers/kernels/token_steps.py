"""Few tokens moved in adaptive steps of order eight, many independent copies of them, clusters merged: compiled.

A copy holds its tokens as columns, `(rows, n)`, of which the first `ACTIVE` still move: tokens that have come together
are one of them, with the weight of all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.exponential_step import LENGTH, allowed_error, judge, next_end, path_share
from mfpde.solvers.kernels.token_rows import Pairs, add_rows, clear_beyond, fill, pack, pairs_for, unpack, width_for
from mfpde.solvers.kernels.token_slope import PairwiseLaw, token_slope
from mfpde.solvers.steppers.gif853 import ERROR_FIVE, ERROR_THREE, NODES, ORDER, STAGE_WEIGHTS, STAGES, WEIGHTS
from mfpde.solvers.stepping.controller import ERROR_FLOOR, SHORTEST_STEP, STEP_ROUNDING
from mfpde.typing import AnyArray, Float

__all__ = ["ROUNDING", "Copies", "Limits", "Room", "advance_copies", "refresh", "room_for", "speeds_of_copies"]

#: what became of a copy
REACHED, UNDER_WAY, STEP_VANISHED = range(3)
#: of a coordinate: errors of one step below it are those of its last digits
ROUNDING = 1e-15
#: columns of `counts`
ACTIVE, STEPS, REJECTED, EVALUATIONS, FRESH = range(5)


class Copies(NamedTuple):
    """Everything that lasts, one row each for every copy."""

    state: Float  # (copies, rows, n)
    slope: Float  # of that state, unless FRESH is 0
    weights: Float  # (copies, n)
    positions: Float  # of masked attention (copies, n)
    members: AnyArray  # of each token at first, the column that it is in now (copies, n)
    leaders: AnyArray  # of each column, the token at first that gives the cluster its number (copies, n)
    merged_into: AnyArray  # of each token, the leader of the cluster that its own was joined to; -1 before (copies, n)
    merged_at: Float  # and when (copies, n)
    times: Float  # of the problem, or the way in gradient time (copies,)
    controllers: Float  # the numbers of each one's step control (copies, 4)
    counts: AnyArray  # (copies, 5)


class Limits(NamedTuple):
    """What steps are held to."""

    error: float  # the largest of one step, relative to the size of the state
    merge: float  # distance below which tokens that approach each other become one; 0 never


class Room(NamedTuple):
    """What one thread needs; nothing in it outlives a step. All are rows of tokens (`token_rows`)."""

    start: Float
    stages: Float  # slopes of the stages, STAGES + 1 times
    trial: Float
    five: Float  # what order five misses
    three: Float
    pairs: Pairs


def room_for(rows: int, dimension: int, count: int) -> Room:
    """Room for copies of that shape."""
    size = rows * width_for(count)
    start, trial, five, three = np.zeros((4, size))
    return Room(start, np.zeros((STAGES + 1) * size), trial, five, three, pairs_for(dimension, count))


@kernel
def _combine(weights: Float, stages: Float, count: int, step: float, out: Float) -> None:
    """out = step * sum of the first `count` slopes by their weights."""
    fill(out, 0.0)
    add_rows(weights, STAGES, stages, count, out.size, out)
    for i in range(out.size):
        out[i] *= step


@kernel
def _scale_of(state: Float, weights: Float, count: int, law: PairwiseLaw, error: float) -> float:
    """What errors are relative to: the spread of tokens in R^d, but where that is rounding of their places; 1 on
    spheres."""
    if law.sphere:
        return 1.0
    square, largest = 0.0, 0.0
    for row in range(state.shape[0]):
        mean = 0.0
        for i in range(count):
            mean += weights[i] * state[row, i]
            largest = max(largest, abs(state[row, i]))
        for i in range(count):
            square += weights[i] * (state[row, i] - mean) ** 2
    spread = math.sqrt(square)
    return max(spread, ROUNDING / error * largest) if spread > 1e-14 * largest else largest + 1e-200


@kernel
def _error_of(room: Room, size: int, flat: int, scale: float) -> float:
    """The largest error of a token, what orders five and three miss combined as in Hairer's program; numbers from
    `flat` on are norms, whose errors are relative."""
    five, three = 0.0, 0.0
    for i in range(flat):
        five, three = max(five, abs(room.five[i])), max(three, abs(room.three[i]))
    five, three = five / scale, three / scale
    for i in range(flat, size):
        norm = max(abs(room.start[i]), 1e-200)
        five, three = max(five, abs(room.five[i]) / norm), max(three, abs(room.three[i]) / norm)
    for i in range(size):
        if not math.isfinite(room.trial[i]):
            return np.inf
    if five == 0.0:
        return 0.0
    ratio = three / five
    return five / math.sqrt(1.0 + 0.01 * ratio * ratio)


@kernel
def _attempt(copies: Copies, copy: int, law: PairwiseLaw, limits: Limits, room: Room, step: float, count: int) -> float:
    """One step: the new state in room.trial; the error over what is allowed."""
    weights, positions, time = copies.weights[copy], copies.positions[copy], copies.times[copy]
    width = width_for(count)
    size, flat = copies.state.shape[1] * width, law.query.shape[1] * width
    start, trial = room.start[:size], room.trial[:size]
    pack(copies.state[copy], count, start)
    pack(copies.slope[copy], count, room.stages)
    clear_beyond(room.stages[:size], count)
    for stage in range(1, STAGES):
        _combine(STAGE_WEIGHTS[stage], room.stages, stage, step, trial)
        for i in range(size):
            trial[i] += start[i]
        slope = room.stages[stage * size : (stage + 1) * size]
        token_slope(trial, time + NODES[stage] * step, weights, positions, count, law, room.pairs, slope)
    _combine(ERROR_FIVE, room.stages, STAGES, step, room.five[:size])
    _combine(ERROR_THREE, room.stages, STAGES, step, room.three[:size])
    _combine(WEIGHTS, room.stages, STAGES, step, trial)
    for i in range(size):
        trial[i] += start[i]
    copies.counts[copy, EVALUATIONS] += STAGES - 1
    scale = _scale_of(copies.state[copy], weights, count, law, limits.error)
    error = _error_of(room, size, flat, scale)
    return min(np.inf, error / _allowed(room, size, flat, scale, limits.error))


@kernel
def _allowed(room: Room, size: int, flat: int, scale: float, largest: float) -> float:
    """The error that the attempted step may have; the speed at its end is that of the last stage. The errors are
    overwritten."""
    extent, before, after = scale, 0.0, 0.0
    for i in range(flat):
        extent = max(extent, abs(room.trial[i]))
        before = max(before, abs(room.stages[i]))
        after = max(after, abs(room.stages[(STAGES - 1) * size + i]))
    for i in range(size):
        room.five[i], room.three[i] = room.trial[i] - room.start[i], 0.0
    motion = _error_of(room, size, flat, scale)
    share = path_share(largest, before / after if after > 0.0 else np.inf)
    return allowed_error(largest, STEP_ROUNDING * extent / scale, motion, share)


@kernel
def _find_slope(copies: Copies, copy: int, law: PairwiseLaw, room: Room) -> None:
    """The slope of the present state, in room.stages."""
    count = copies.counts[copy, ACTIVE]
    size = copies.state.shape[1] * width_for(count)
    pack(copies.state[copy], count, room.start)
    weights, positions, slope = copies.weights[copy], copies.positions[copy], room.stages[:size]
    token_slope(room.start[:size], copies.times[copy], weights, positions, count, law, room.pairs, slope)


@kernel
def _refresh(copies: Copies, copy: int, law: PairwiseLaw, room: Room) -> None:
    """Keep the slope of the present state."""
    _find_slope(copies, copy, law, room)
    unpack(room.stages, copies.counts[copy, ACTIVE], copies.slope[copy])
    copies.counts[copy, EVALUATIONS] += 1
    copies.counts[copy, FRESH] = 1


@kernel
def refresh(copies: Copies, law: PairwiseLaw, room: Room) -> None:
    """Find the slopes of all."""
    for copy in range(copies.state.shape[0]):
        _refresh(copies, copy, law, room)


@kernel
def _accept(copies: Copies, copy: int, law: PairwiseLaw, room: Room, time: float, count: int) -> None:
    """Make the tried state the present one, on the sphere again."""
    state, dimension = copies.state[copy], law.query.shape[1]
    unpack(room.trial, count, state)
    if law.sphere:
        for i in range(count):
            square = 0.0
            for row in range(dimension):
                square += state[row, i] * state[row, i]
            length = math.sqrt(square)
            for row in range(dimension):
                state[row, i] /= length
    copies.times[copy] = time
    copies.counts[copy, FRESH] = 0


@kernel
def _approach(copies: Copies, copy: int, first: int, second: int, dimension: int, merge: float) -> bool:
    """Whether two tokens are nearer than `merge` and come nearer still."""
    state, slope = copies.state[copy], copies.slope[copy]
    square, rate = 0.0, 0.0
    for row in range(dimension):
        apart = state[row, first] - state[row, second]
        square += apart * apart
        if not square < merge * merge:
            return False
        rate += apart * (slope[row, first] - slope[row, second])
    return rate < 0.0 or square == 0.0


@kernel
def _join(copies: Copies, copy: int, first: int, second: int, law: PairwiseLaw, dimension: int) -> None:
    """Put the second token into the first one's place, half-way by weights; later ones move up."""
    state, weights, count = copies.state[copy], copies.weights[copy], copies.counts[copy, ACTIVE]
    total = weights[first] + weights[second]
    share = weights[second] / total if total > 0.0 else 0.5
    square = 0.0
    for row in range(state.shape[0]):
        state[row, first] += share * (state[row, second] - state[row, first])
        if row < dimension:
            square += state[row, first] * state[row, first]
    if law.sphere:
        for row in range(dimension):
            state[row, first] /= math.sqrt(square)
    weights[first] = total
    leader = copies.leaders[copy, second]
    copies.merged_into[copy, leader] = copies.leaders[copy, first]
    copies.merged_at[copy, leader] = copies.times[copy]
    for i in range(second, count - 1):
        for row in range(state.shape[0]):
            state[row, i] = state[row, i + 1]
        weights[i] = weights[i + 1]
        copies.leaders[copy, i] = copies.leaders[copy, i + 1]
    for token in range(copies.members.shape[1]):
        member = copies.members[copy, token]
        copies.members[copy, token] = first if member == second else member - 1 if member > second else member
    copies.counts[copy, ACTIVE] = count - 1
    copies.counts[copy, FRESH] = 0


@kernel
def _merge(copies: Copies, copy: int, law: PairwiseLaw, limits: Limits, dimension: int) -> None:
    """Join all tokens that have come together; slopes are those of the present state."""
    first = 0
    while first < copies.counts[copy, ACTIVE] - 1:
        second = first + 1
        while second < copies.counts[copy, ACTIVE]:
            if _approach(copies, copy, first, second, dimension, limits.merge):
                _move_slope(copies, copy, second)
                _join(copies, copy, first, second, law, dimension)
            else:
                second += 1
        first += 1


@kernel
def _move_slope(copies: Copies, copy: int, gone: int) -> None:
    """Slopes of later columns move up with them: until the next evaluation they tell who approaches whom."""
    slope, count = copies.slope[copy], copies.counts[copy, ACTIVE]
    for i in range(gone, count - 1):
        for row in range(slope.shape[0]):
            slope[row, i] = slope[row, i + 1]


@kernel
def _advance(
    copies: Copies, copy: int, law: PairwiseLaw, limits: Limits, room: Room, target: float, attempts: int
) -> int:
    """Step one copy to `target` with at most so many attempts. What lasts is in `copies`."""
    counts, controller, dimension = copies.counts[copy], copies.controllers[copy], law.query.shape[1]
    for _ in range(attempts):
        time = copies.times[copy]
        if time >= target:
            return REACHED
        if counts[FRESH] == 0:
            _refresh(copies, copy, law, room)
        if limits.merge > 0.0:
            _merge(copies, copy, law, limits, dimension)
            if counts[FRESH] == 0:
                _refresh(copies, copy, law, room)
        count, end = counts[ACTIVE], next_end(time, controller[LENGTH], target)
        if not end - time > SHORTEST_STEP * time:
            return STEP_VANISHED
        error = _attempt(copies, copy, law, limits, room, end - time, count)
        if judge(controller, end - time, error, ORDER, ERROR_FLOOR):
            counts[STEPS] += 1
            _accept(copies, copy, law, room, end, count)
        else:
            counts[REJECTED] += 1
    return REACHED if copies.times[copy] >= target else UNDER_WAY


@kernel
def advance_copies(
    copies: Copies,
    share: tuple[int, int],
    law: PairwiseLaw,
    limits: Limits,
    room: Room,
    target: float,
    attempts: int,
    status: AnyArray,
) -> None:
    """The copies `range(first, .., stride)` to `target`, with at most so many attempts each."""
    for copy in range(share[0], status.size, share[1]):
        status[copy] = _advance(copies, copy, law, limits, room, target, attempts)


@kernel
def speeds_of_copies(copies: Copies, law: PairwiseLaw, room: Room, speeds: Float) -> None:
    """`(sum_i w_i |x_i'|^2)^{1/2}` of each, of directions where tokens have norms. Nothing in `copies` changes."""
    for copy in range(speeds.size):
        _find_slope(copies, copy, law, room)
        count, square = copies.counts[copy, ACTIVE], 0.0
        width = width_for(count)
        for row in range(law.query.shape[1]):
            for i in range(count):
                square += copies.weights[copy, i] * room.stages[row * width + i] ** 2
        speeds[copy] = math.sqrt(square)
