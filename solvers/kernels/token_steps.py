"""Few tokens moved in adaptive steps of order eight, many independent copies of them, clusters merged: compiled.

A copy holds its tokens as columns, `(rows, n)`, of which the first `ACTIVE` still move: tokens that have come together
are one of them, with the weight of all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.exponential_step import LENGTH, judge, next_end
from mfpde.solvers.kernels.token_slope import Pairs, PairwiseLaw, pairs_for, token_slope
from mfpde.solvers.steppers.gif853 import ERROR_FIVE, ERROR_THREE, NODES, ORDER, STAGE_WEIGHTS, STAGES, WEIGHTS
from mfpde.solvers.stepping.controller import SHORTEST_STEP
from mfpde.typing import AnyArray, Float

__all__ = ["ROUNDING", "Copies", "Limits", "Room", "advance_copy", "refresh", "room_for", "slopes_of_copies"]

#: what `advance_copy` returns
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

    tolerance: float  # error of one step, relative to the size of the state
    merge: float  # distance below which tokens that approach each other become one; 0 never


class Room(NamedTuple):
    """What one thread needs; nothing in it outlives a step."""

    stages: Float  # slopes of the stages (STAGES + 1, rows, n)
    trial: Float  # (rows, n)
    pairs: Pairs


def room_for(rows: int, dimension: int, count: int) -> Room:
    """Room for copies of that shape."""
    return Room(np.zeros((STAGES + 1, rows, count)), np.zeros((rows, count)), pairs_for(dimension, count))


@kernel
def _add_stages(weights: Float, last: int, step: float, room: Room, state: Float, count: int) -> None:
    """trial = state + step * sum of the first `last` slopes by their weights."""
    trial, stages = room.trial, room.stages
    for row in range(state.shape[0]):
        for i in range(count):
            trial[row, i] = 0.0
        for stage in range(last):
            weight = weights[stage]
            if weight != 0.0:
                for i in range(count):
                    trial[row, i] += weight * stages[stage, row, i]
        for i in range(count):
            trial[row, i] = state[row, i] + step * trial[row, i]


@kernel
def _combine(weights: Float, stages: Float, row: int, i: int) -> float:
    total = 0.0
    for stage in range(STAGES):
        total += weights[stage] * stages[stage, row, i]
    return total


@kernel
def _scale_of(state: Float, weights: Float, count: int, law: PairwiseLaw, tolerance: float) -> float:
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
    return max(spread, ROUNDING / tolerance * largest) if spread > 1e-14 * largest else largest + 1e-200


@kernel
def _error_of(step: float, room: Room, state: Float, scale: float, count: int, dimension: int) -> float:
    """The largest error of a token, what orders five and three miss combined as in Hairer's program."""
    five, three = 0.0, 0.0
    for row in range(state.shape[0]):
        for i in range(count):
            size = scale if row < dimension else max(abs(state[row, i]), 1e-200)
            five = max(five, abs(_combine(ERROR_FIVE, room.stages, row, i)) / size)
            three = max(three, abs(_combine(ERROR_THREE, room.stages, row, i)) / size)
            if not math.isfinite(room.trial[row, i]):
                return np.inf
    if five == 0.0:
        return 0.0
    ratio = three / five
    return step * five / math.sqrt(1.0 + 0.01 * ratio * ratio)


@kernel
def _attempt(copies: Copies, copy: int, law: PairwiseLaw, limits: Limits, room: Room, step: float, count: int) -> float:
    """One step: the new state in room.trial, its slope in the last stage; the error over what is allowed."""
    state, weights, positions = copies.state[copy], copies.weights[copy], copies.positions[copy]
    time, stages = copies.times[copy], room.stages
    for row in range(state.shape[0]):
        for i in range(count):
            stages[0, row, i] = copies.slope[copy, row, i]
    for stage in range(1, STAGES):
        _add_stages(STAGE_WEIGHTS[stage], stage, step, room, state, count)
        token_slope(room.trial, time + NODES[stage] * step, weights, positions, count, law, room.pairs, stages[stage])
    _add_stages(WEIGHTS, STAGES, step, room, state, count)
    copies.counts[copy, EVALUATIONS] += STAGES - 1
    scale = _scale_of(state, weights, count, law, limits.tolerance)
    error = _error_of(step, room, state, scale, count, room.pairs.unit.shape[0]) / limits.tolerance
    return min(np.inf, error)


@kernel
def refresh(copies: Copies, copy: int, law: PairwiseLaw, room: Room) -> None:
    """The slope of the present state."""
    count = copies.counts[copy, ACTIVE]
    state, weights, positions = copies.state[copy], copies.weights[copy], copies.positions[copy]
    token_slope(state, copies.times[copy], weights, positions, count, law, room.pairs, copies.slope[copy])
    copies.counts[copy, EVALUATIONS] += 1
    copies.counts[copy, FRESH] = 1


@kernel
def _accept(copies: Copies, copy: int, law: PairwiseLaw, room: Room, time: float, count: int) -> None:
    """Make the tried state the present one, on the sphere again."""
    state, dimension = copies.state[copy], room.pairs.unit.shape[0]
    for row in range(state.shape[0]):
        for i in range(count):
            state[row, i] = room.trial[row, i]
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
        rate += apart * (slope[row, first] - slope[row, second])
    return square < merge * merge and (rate < 0.0 or square == 0.0)


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
def advance_copy(
    copies: Copies, copy: int, law: PairwiseLaw, limits: Limits, room: Room, target: float, attempts: int
) -> int:
    """Step one copy to `target` with at most so many attempts. What lasts is in `copies`."""
    counts, controller, dimension = copies.counts[copy], copies.controllers[copy], room.pairs.unit.shape[0]
    for _ in range(attempts):
        time = copies.times[copy]
        if time >= target:
            return REACHED
        if counts[FRESH] == 0:
            refresh(copies, copy, law, room)
        if limits.merge > 0.0:
            _merge(copies, copy, law, limits, dimension)
            if counts[FRESH] == 0:
                refresh(copies, copy, law, room)
        count, end = counts[ACTIVE], next_end(time, controller[LENGTH], target)
        if not end - time > SHORTEST_STEP * time:
            return STEP_VANISHED
        error = _attempt(copies, copy, law, limits, room, end - time, count)
        if judge(controller, end - time, error, ORDER):
            counts[STEPS] += 1
            _accept(copies, copy, law, room, end, count)
        else:
            counts[REJECTED] += 1
    return REACHED if copies.times[copy] >= target else UNDER_WAY


@kernel
def slopes_of_copies(
    copies: Float, weights: Float, positions: Float, law: PairwiseLaw, pairs: Pairs, out: Float
) -> None:
    """The drifts of many systems `(copies, d, n)` of the same weights, one after the other."""
    for copy in range(copies.shape[0]):
        token_slope(copies[copy], 0.0, weights, positions, copies.shape[2], law, pairs, out[copy])
