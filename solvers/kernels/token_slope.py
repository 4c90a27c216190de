"""The drift of few tokens by plain sums over all pairs, compiled: `x_i' = sum_h V_h sum_j w_j k_h(x_i, x_j) x_j`.

Tokens are columns, components rows, `(d, n)`; loops run over the queries inside, so that whole registers are filled.
On spheres the field is continued to all lengths, `|x| G(x / |x|)`, and projected pair by pair where V is a multiple of
the identity: a token's own share, which the projection removes, is left out before it could leave a rounding error.
That keeps relative accuracy in drifts of any size, such as those of metastable clusters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.transform.exponential import exponential
from mfpde.transform.fused import fused
from mfpde.typing import AnyArray, Float

__all__ = [
    "LINEAR",
    "NGPT",
    "PERI",
    "POST",
    "PRE",
    "RELU",
    "SIGMOID",
    "SOFTMAX",
    "SQRT",
    "UNNORMALIZED",
    "Pairs",
    "PairwiseLaw",
    "pairs_for",
    "token_slope",
]

#: kernels k of the score s: `e^s / sum_j w_j e^{s_j}`, `e^s`, `s`, `max(0, s)`, `1/(1 + e^{-s})`
SOFTMAX, UNNORMALIZED, LINEAR, RELU, SIGMOID = range(5)
#: normalisation schemes: what divides the speed of a direction, and moves its norm
POST, PRE, PERI, NGPT, SQRT = range(5)

#: |s| beyond which `e^s` leaves the doubles
_LARGEST_SCORE = 709.0


class PairwiseLaw(NamedTuple):
    """What moves the tokens: heads with scores `s = <A x, y> - <y, F y>`, matrices A, V, F `(heads, d, d)`."""

    kinds: AnyArray
    query: Float
    value: Float
    form: Float
    scalar: AnyArray  # heads whose V is a multiple of the identity, on a sphere
    sphere: bool
    masked: bool
    scheme: int  # one of POST, PRE, ...
    rate: float  # of NGPT
    gradient_clock: bool  # time is the way in the space of measures, sqrt(sum_i w_i |x_i'|^2) = 1


class Pairs(NamedTuple):
    """Room for one evaluation; nothing in it outlives one."""

    unit: Float  # directions (d, n)
    length: Float  # |x| (n,)
    query: Float  # A x (d, n)
    score: Float  # [key, query] (n, n)
    shift: Float  # (n,)
    mass: Float  # (n,)
    own: Float  # what a token has of itself, along its direction (n,)
    total: Float  # (d, n)
    sums: Float  # (d, n)


def pairs_for(dimension: int, count: int) -> Pairs:
    """Room for so many tokens."""
    rows, one = (dimension, count), (count,)
    shapes = (rows, one, rows, (count, count), one, one, one, rows, rows)
    return Pairs(*(np.zeros(shape) for shape in shapes))


@kernel
def _directions(state: Float, count: int, law: PairwiseLaw, pairs: Pairs) -> None:
    """Where tokens look from: themselves, or on spheres their directions."""
    for i in range(count):
        pairs.length[i] = 0.0
    for row in range(pairs.unit.shape[0]):
        for i in range(count):
            pairs.length[i] += state[row, i] * state[row, i]
    for i in range(count):
        pairs.length[i] = math.sqrt(pairs.length[i]) if law.sphere else 1.0
    for row in range(pairs.unit.shape[0]):
        for i in range(count):
            pairs.unit[row, i] = state[row, i] / pairs.length[i]


@kernel
def _apply(matrix: Float, vectors: Float, count: int, out: Float) -> None:
    """out = matrix vectors."""
    for row in range(matrix.shape[0]):
        for i in range(count):
            out[row, i] = 0.0
        for column in range(matrix.shape[1]):
            factor = matrix[row, column]
            if factor != 0.0:
                for i in range(count):
                    out[row, i] += factor * vectors[column, i]


@kernel
def _find_scores(head: int, count: int, law: PairwiseLaw, pairs: Pairs) -> None:
    """score[j, i] = <A x_i, x_j> - <x_j, F x_j>."""
    unit, score = pairs.unit, pairs.score
    _apply(law.query[head], unit, count, pairs.query)
    for j in range(count):
        factor = 0.0
        for row in range(unit.shape[0]):
            for column in range(unit.shape[0]):
                factor -= unit[row, j] * law.form[head, row, column] * unit[column, j]
        for i in range(count):
            score[j, i] = factor
        for row in range(unit.shape[0]):
            key = unit[row, j]
            for i in range(count):
                score[j, i] = fused(pairs.query[row, i], key, score[j, i])


@kernel
def _hide(positions: Float, count: int, score: Float) -> None:
    """Tokens at later positions are not seen."""
    for j in range(count):
        for i in range(count):
            if positions[j] > positions[i]:
                score[j, i] = -np.inf


@kernel
def _find_shift(kind: int, weights: Float, count: int, pairs: Pairs) -> None:
    """shift = the largest score of each query, of a normalised kernel; else 0."""
    shift, score = pairs.shift, pairs.score
    for i in range(count):
        shift[i] = -np.inf if kind == SOFTMAX else 0.0
    if kind == SOFTMAX:
        for j in range(count):
            if weights[j] > 0.0:
                for i in range(count):
                    shift[i] = max(shift[i], score[j, i])


@kernel
def _normalise(weights: Float, count: int, pairs: Pairs) -> None:
    """shift += log sum_j w_j e^{s_j - shift}."""
    shift, mass, score = pairs.shift, pairs.mass, pairs.score
    for i in range(count):
        mass[i] = 0.0
    for j in range(count):
        weight = weights[j]
        for i in range(count):
            mass[i] += weight * exponential(min(score[j, i] - shift[i], 0.0))
    for i in range(count):
        shift[i] += math.log(mass[i])


@kernel
def _common_scale(weights: Float, count: int, pairs: Pairs) -> float:
    """Largest logarithm of what one token has of another one: by it all drifts are divided where only their ratio
    counts."""
    largest = -np.inf
    for j in range(count):
        if weights[j] > 0.0:
            for i in range(count):
                if i != j:
                    largest = max(largest, pairs.score[j, i] - pairs.shift[i])
    return largest


@kernel
def _raise_scores(kind: int, weights: Float, count: int, scale: float, normalised: bool, pairs: Pairs) -> None:
    """score[j, i] = w_j k(x_i, x_j) mass[i] e^{-scale}: with masses 1 where the shift has `normalised` them already."""
    shift, mass = pairs.shift, pairs.mass
    for i in range(count):
        mass[i] = 0.0
    for j in range(count):
        weight, score = weights[j], pairs.score[j]
        if kind in (SOFTMAX, UNNORMALIZED):
            for i in range(count):
                score[i] = weight * exponential(min(score[i] - shift[i] - scale, _LARGEST_SCORE))
                mass[i] += score[i]
        elif kind == SIGMOID:
            for i in range(count):
                score[i] = weight / (1.0 + exponential(min(-score[i], _LARGEST_SCORE)))
        else:
            for i in range(count):
                value = score[i] if score[i] > -np.inf else 0.0
                score[i] = weight * (max(value, 0.0) if kind == RELU else value)
    if kind != SOFTMAX or normalised:
        for i in range(count):
            mass[i] = 1.0


@kernel
def _sum_keys(own: bool, value: float, count: int, pairs: Pairs) -> None:
    """sums = sum_j score[j] x_j / mass; of a token itself, where it is told apart, own = value score / mass instead."""
    unit, sums, mass = pairs.unit, pairs.sums, pairs.mass
    for row in range(unit.shape[0]):
        for i in range(count):
            sums[row, i] = 0.0
    for j in range(count):
        score = pairs.score[j]
        if own:
            pairs.own[j] += value * score[j] / mass[j]
            score[j] = 0.0
        for row in range(unit.shape[0]):
            key = unit[row, j]
            for i in range(count):
                sums[row, i] = fused(score[i], key, sums[row, i])
    for row in range(unit.shape[0]):
        for i in range(count):
            sums[row, i] /= mass[i]


@kernel
def _add_head(head: int, weights: Float, count: int, law: PairwiseLaw, pairs: Pairs) -> float:
    """total += V_h sum_j k_h w_j x_j, over e^scale; returns the scale."""
    kind, value, scale = law.kinds[head], law.value[head], 0.0
    _find_shift(kind, weights, count, pairs)
    if law.gradient_clock:
        if kind == SOFTMAX:
            _normalise(weights, count, pairs)
        scale = _common_scale(weights, count, pairs)
    _raise_scores(kind, weights, count, scale, law.gradient_clock, pairs)
    _sum_keys(law.scalar[head], value[0, 0], count, pairs)
    for row in range(value.shape[0]):
        for column in range(value.shape[0]):
            factor = value[row, column]
            if factor != 0.0:
                for i in range(count):
                    pairs.total[row, i] += factor * pairs.sums[column, i]
    return scale


@kernel
def _speed_factor(scheme: int, rate: float, time: float, norm: float, size: float) -> float:
    """What divides the speed of a direction (physics section 7), for tokens of that norm and outputs of that size."""
    if scheme == PRE:
        return norm
    if scheme == PERI:
        return norm * size
    if scheme == NGPT:
        return size / rate
    if scheme == SQRT:
        return norm * math.sqrt(time + 1.0)
    return 1.0


@kernel
def _norm_rate(scheme: int, time: float, along: float, size: float) -> float:
    """How fast the norm of a token grows whose output has that size, and that part along its direction."""
    if scheme == PRE:
        return along
    if scheme == PERI:
        return along / size
    if scheme == SQRT:
        return along / math.sqrt(time + 1.0)
    return 0.0


@kernel
def _project(state: Float, time: float, count: int, law: PairwiseLaw, pairs: Pairs, slope: Float) -> None:
    """slope = the tangent part of the outputs, times |x|; in a row more, of the norms where tokens keep them."""
    unit, total, dimension = pairs.unit, pairs.total, pairs.unit.shape[0]
    for i in range(count):
        along, own, square = 0.0, pairs.own[i], 0.0
        for row in range(dimension):
            along += total[row, i] * unit[row, i]
            square += (total[row, i] + own * unit[row, i]) ** 2
        size = math.sqrt(square)
        norm = state[dimension, i] if state.shape[0] > dimension else 1.0
        factor = _speed_factor(law.scheme, law.rate, time, norm, size)
        for row in range(dimension):
            slope[row, i] = (total[row, i] - along * unit[row, i]) * pairs.length[i] / factor
        if state.shape[0] > dimension:
            slope[dimension, i] = _norm_rate(law.scheme, time, along + own, size)


@kernel
def _unit_speed(weights: Float, count: int, dimension: int, slope: Float) -> float:
    """Divide by the root mean square speed, whose logarithm is returned."""
    square = 0.0
    for row in range(dimension):
        for i in range(count):
            square += weights[i] * slope[row, i] * slope[row, i]
    speed = math.sqrt(square)
    if speed == 0.0:
        return -np.inf
    for row in range(dimension):
        for i in range(count):
            slope[row, i] /= speed
    return math.log(speed)


@kernel
def _add_heads(weights: Float, positions: Float, count: int, law: PairwiseLaw, pairs: Pairs) -> float:
    """total, own = the outputs of all heads, over e^scale; returns the scale."""
    for i in range(count):
        pairs.own[i] = 0.0
        for row in range(pairs.unit.shape[0]):
            pairs.total[row, i] = 0.0
    scale = 0.0
    for head in range(law.kinds.size):
        _find_scores(head, count, law, pairs)
        if law.masked:
            _hide(positions, count, pairs.score)
        scale = _add_head(head, weights, count, law, pairs)
    return scale


@kernel
def token_slope(
    state: Float,
    time: float,
    weights: Float,
    positions: Float,
    count: int,
    law: PairwiseLaw,
    pairs: Pairs,
    slope: Float,
) -> float:
    """slope = x' of the first `count` tokens; in gradient time the logarithm of the speed is returned, else 0."""
    _directions(state, count, law, pairs)
    scale = _add_heads(weights, positions, count, law, pairs)
    if law.sphere:
        _project(state, time, count, law, pairs, slope)
    else:
        for row in range(pairs.unit.shape[0]):
            for i in range(count):
                slope[row, i] = pairs.total[row, i]
    return scale + _unit_speed(weights, count, pairs.unit.shape[0], slope) if law.gradient_clock else 0.0
