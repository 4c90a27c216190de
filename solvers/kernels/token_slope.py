"""The drift of few tokens by plain sums over all pairs, compiled: `x_i' = sum_h V_h sum_j w_j k_h(x_i, x_j) x_j`.

On spheres the field is continued to all lengths, `|x| G(x / |x|)`, and projected pair by pair where V is a multiple of
the identity: a token's own share, which the projection removes, is left out before it could leave a rounding error.
That keeps relative accuracy in drifts of any size, such as those of metastable clusters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.token_rows import Pairs, add_rows, clear_beyond, fill, pack, unpack, width_for
from mfpde.transform.exponential import exponential
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
    "PairwiseLaw",
    "slopes_of_copies",
    "token_slope",
]

#: kernels k of the score s: `e^s / sum_j w_j e^{s_j}`, `e^s`, `s`, `max(0, s)`, `1/(1 + e^{-s})`
SOFTMAX, UNNORMALIZED, LINEAR, RELU, SIGMOID = range(5)
#: normalisation schemes: what divides the speed of a direction, and moves its norm
POST, PRE, PERI, NGPT, SQRT = range(5)

#: |s| beyond which `e^s` leaves the doubles, and far from what does
_LARGEST_SCORE, _SAFE_SCORE = 709.0, 300.0


class PairwiseLaw(NamedTuple):
    """What moves the tokens: heads with scores `s = <A x, y> - <y, F y>`, matrices A, V, F `(heads, d, d)`."""

    kinds: AnyArray
    query: Float
    value: Float
    form: Float
    damped: AnyArray  # heads whose F is not 0
    multiples: AnyArray  # whether A and V are multiples of the identity (heads, 2)
    sphere: bool
    masked: bool
    scheme: int  # one of POST, PRE, ...
    rate: float  # of NGPT
    gradient_clock: bool  # time is the way in the space of measures, sqrt(sum_i w_i |x_i'|^2) = 1


@kernel
def _read(state: Float, weights: Float, count: int, law: PairwiseLaw, pairs: Pairs) -> None:
    """Where tokens look from: themselves, or on spheres their directions; and what they weigh."""
    width, dimension = width_for(count), law.query.shape[1]
    length = pairs.length[:width]
    fill(length, 0.0 if law.sphere else 1.0)
    if law.sphere:
        for row in range(dimension):
            x = state[row * width : (row + 1) * width]
            for i in range(width):
                length[i] += x[i] * x[i]
        for i in range(width):
            length[i] = math.sqrt(length[i])
    for row in range(dimension):
        x, unit = state[row * width : (row + 1) * width], pairs.unit[row * width : (row + 1) * width]
        for i in range(width):
            unit[i] = x[i] / length[i]
        keys = pairs.keys[row * width : (row + 1) * width]
        for j in range(count):
            keys[j] = weights[j] * unit[j]
            pairs.turned[j * dimension + row] = unit[j]
    for j in range(count):
        pairs.keys[dimension * width + j] = weights[j]


@kernel
def _apply(matrix: Float, multiple: bool, vectors: Float, width: int, out: Float) -> None:
    """out += matrix vectors; the matrix may be a multiple of the identity."""
    dimension = matrix.shape[0]
    if multiple:
        factor = matrix[0, 0]
        for i in range(dimension * width):
            out[i] += factor * vectors[i]
    else:
        add_rows(matrix.reshape(dimension * dimension), dimension, vectors, dimension, width, out[: dimension * width])


@kernel
def _damp(form: Float, count: int, pairs: Pairs) -> None:
    """score[j, i] = -<x_j, F x_j>."""
    width, dimension = width_for(count), form.shape[0]
    for j in range(count):
        x, damping = pairs.turned[j * dimension : (j + 1) * dimension], 0.0
        for row in range(dimension):
            for column in range(dimension):
                damping -= x[row] * form[row, column] * x[column]
        fill(pairs.score[j * width : (j + 1) * width], damping)


@kernel
def _find_scores(head: int, count: int, law: PairwiseLaw, pairs: Pairs) -> bool:
    """score[j, i] = <A x_i, x_j> - <x_j, F x_j>; whether the shift |A x_i|, which no score on a sphere exceeds, is
    taken off already: where none of them is so far below that its share would be lost."""
    width, dimension, score, shift = width_for(count), law.query.shape[1], pairs.score, pairs.shift
    fill(pairs.query[: dimension * width], 0.0)
    _apply(law.query[head], law.multiples[head, 0], pairs.unit, width, pairs.query)
    bounded = law.kinds[head] == SOFTMAX and law.sphere and not law.damped[head] and not law.masked
    if bounded:
        fill(shift[:width], 0.0)
        for row in range(dimension):
            query = pairs.query[row * width : (row + 1) * width]
            for i in range(width):
                shift[i] += query[i] * query[i]
        for i in range(width):
            shift[i] = math.sqrt(shift[i])
            bounded = bounded and shift[i] < _SAFE_SCORE
    if law.damped[head]:
        _damp(law.form[head], count, pairs)
    elif bounded:
        for j in range(count):
            row_of_key = score[j * width : (j + 1) * width]
            for i in range(width):
                row_of_key[i] = -shift[i]
    else:
        fill(score[: count * width], 0.0)
    add_rows(pairs.turned, dimension, pairs.query, dimension, width, score[: width * width])
    return bounded


@kernel
def _hide(positions: Float, count: int, score: Float) -> None:
    """Tokens at later positions are not seen."""
    width = width_for(count)
    for j in range(count):
        for i in range(count):
            if positions[j] > positions[i]:
                score[j * width + i] = -np.inf


@kernel
def _shift_scores(kind: int, weights: Float, count: int, pairs: Pairs) -> None:
    """Take the largest score of each query off the others, of a normalised kernel."""
    width, score = width_for(count), pairs.score
    shift = pairs.shift[:width]
    fill(shift, -np.inf if kind == SOFTMAX else 0.0)
    if kind == SOFTMAX:
        for j in range(count):
            if weights[j] > 0.0:
                row = score[j * width : (j + 1) * width]
                for i in range(width):
                    shift[i] = max(shift[i], row[i])
        for j in range(count):
            row = score[j * width : (j + 1) * width]
            for i in range(width):
                row[i] -= shift[i]


@kernel
def _normalise(weights: Float, count: int, pairs: Pairs) -> None:
    """score -= log sum_j w_j e^{s_j}."""
    width, score = width_for(count), pairs.score
    mass = pairs.mass[:width]
    fill(mass, 0.0)
    for j in range(count):
        weight, row = weights[j], score[j * width : (j + 1) * width]
        for i in range(width):
            mass[i] += weight * exponential(min(row[i], 0.0))
    for i in range(width):
        mass[i] = math.log(mass[i])
    for j in range(count):
        row = score[j * width : (j + 1) * width]
        for i in range(width):
            row[i] -= mass[i]


@kernel
def _common_scale(weights: Float, count: int, pairs: Pairs) -> float:
    """Largest logarithm of what one token has of another one: by it all drifts are divided where only their ratio
    counts."""
    width, largest = width_for(count), -np.inf
    for j in range(count):
        if weights[j] > 0.0:
            for i in range(count):
                if i != j:
                    largest = max(largest, pairs.score[j * width + i])
    return largest


@kernel
def _raise_scores(kind: int, score: Float, scale: float) -> None:
    """score = k e^{-scale}."""
    if kind in (SOFTMAX, UNNORMALIZED):
        for i in range(score.size):
            score[i] = exponential(min(score[i] - scale, _LARGEST_SCORE))
    elif kind == SIGMOID:
        for i in range(score.size):
            score[i] = 1.0 / (1.0 + exponential(min(-score[i], _LARGEST_SCORE)))
    else:
        for i in range(score.size):
            value = score[i] if score[i] > -np.inf else 0.0
            score[i] = max(value, 0.0) if kind == RELU else value


@kernel
def _sum_keys(own: bool, value: float, normalised: bool, count: int, pairs: Pairs) -> None:
    """sums = sum_j w_j score[j] x_j / mass; of a token itself, where it is told apart, own = value w score / mass
    instead."""
    width = width_for(count)
    mass, dimension = pairs.mass[:width], pairs.sums.size // (pairs.own.size)
    weights = pairs.keys[dimension * width : (dimension + 1) * width]
    if normalised:
        fill(mass, 0.0)
        add_rows(weights, width, pairs.score, count, width, mass)
    else:
        fill(mass, 1.0)
    if own:
        for j in range(count):
            pairs.own[j] += value * weights[j] * pairs.score[j * width + j] / mass[j]
            pairs.score[j * width + j] = 0.0
    for i in range(width):
        mass[i] = 1.0 / mass[i]
    fill(pairs.sums[: dimension * width], 0.0)
    add_rows(pairs.keys, width, pairs.score, count, width, pairs.sums[: dimension * width])
    for row in range(dimension):
        sums = pairs.sums[row * width : (row + 1) * width]
        for i in range(width):
            sums[i] *= mass[i]


@kernel
def _add_head(head: int, weights: Float, positions: Float, count: int, law: PairwiseLaw, pairs: Pairs) -> float:
    """total += V_h sum_j k_h w_j x_j, over e^scale; returns the scale."""
    kind, value, scale, width = law.kinds[head], law.value[head], 0.0, width_for(count)
    shifted = _find_scores(head, count, law, pairs)
    if law.masked:
        _hide(positions, count, pairs.score)
    if not shifted:
        _shift_scores(kind, weights, count, pairs)
    if law.gradient_clock:
        if kind == SOFTMAX:
            _normalise(weights, count, pairs)
        scale = _common_scale(weights, count, pairs)
    _raise_scores(kind, pairs.score[: count * width], scale)
    _sum_keys(
        law.sphere and law.multiples[head, 1], value[0, 0], kind == SOFTMAX and not law.gradient_clock, count, pairs
    )
    _apply(value, law.multiples[head, 1], pairs.sums, width, pairs.total)
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
    width, dimension = width_for(count), law.query.shape[1]
    along, square, own, length = pairs.along[:width], pairs.square[:width], pairs.own[:width], pairs.length[:width]
    fill(along, 0.0)
    fill(square, 0.0)
    for row in range(dimension):
        total, unit = pairs.total[row * width : (row + 1) * width], pairs.unit[row * width : (row + 1) * width]
        for i in range(width):
            along[i] += total[i] * unit[i]
        for i in range(width):
            output = total[i] + own[i] * unit[i]
            square[i] += output * output
    norms = state.size > dimension * width
    if law.scheme != POST:
        for i in range(count):
            norm = state[dimension * width + i] if norms else 1.0
            size = math.sqrt(square[i])
            length[i] /= _speed_factor(law.scheme, law.rate, time, norm, size)
            if norms:
                slope[dimension * width + i] = _norm_rate(law.scheme, time, along[i] + own[i], size)
    elif norms:
        fill(slope[dimension * width :], 0.0)
    for row in range(dimension):
        total, unit = pairs.total[row * width : (row + 1) * width], pairs.unit[row * width : (row + 1) * width]
        out = slope[row * width : (row + 1) * width]
        for i in range(width):
            out[i] = (total[i] - along[i] * unit[i]) * length[i]


@kernel
def _unit_speed(weights: Float, count: int, dimension: int, slope: Float) -> float:
    """Divide by the root mean square speed, whose logarithm is returned."""
    square, width = 0.0, width_for(count)
    for row in range(dimension):
        for i in range(count):
            square += weights[i] * slope[row * width + i] * slope[row * width + i]
    speed = math.sqrt(square)
    if speed == 0.0:
        return -np.inf
    for i in range(dimension * width):
        slope[i] /= speed
    return math.log(speed)


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
    """slope = x' of `count` tokens, and 0 beyond them; in gradient time the logarithm of the speed is returned, else
    0. What stands beyond the tokens in a row has to be finite, and not 0 on spheres."""
    width, dimension, scale = width_for(count), law.query.shape[1], 0.0
    _read(state, weights, count, law, pairs)
    fill(pairs.own[:width], 0.0)
    fill(pairs.total[: dimension * width], 0.0)
    for head in range(law.kinds.size):
        scale = _add_head(head, weights, positions, count, law, pairs)
    if law.sphere:
        _project(state, time, count, law, pairs, slope)
    else:
        for i in range(dimension * width):
            slope[i] = pairs.total[i]
    clear_beyond(slope, count)
    return scale + _unit_speed(weights, count, dimension, slope) if law.gradient_clock else 0.0


@kernel
def slopes_of_copies(
    copies: Float, weights: Float, positions: Float, law: PairwiseLaw, pairs: Pairs, out: Float
) -> None:
    """The drifts of many systems `(copies, d, n)` of the same weights, one after the other."""
    count = copies.shape[2]
    for copy in range(copies.shape[0]):
        pack(copies[copy], count, pairs.state)
        token_slope(pairs.state, 0.0, weights, positions, count, law, pairs, pairs.sums)
        unpack(pairs.sums, count, out[copy])
