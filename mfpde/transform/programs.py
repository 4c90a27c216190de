"""Gradients of what a user has written, in compiled code: a list of operations, each on the answers of earlier ones."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.typing import AnyArray, Float

__all__ = ["CODES", "POINTS_PER_BLOCK", "Program", "program_room", "program_slopes"]

POINTS_PER_BLOCK = 64  # whose values, slopes and all stay in the cache
_PRODUCTS_MAX = 7.0  # powers up to it are products

#: of a coordinate, of a number, of two earlier answers, or of one
CODES = {
    name: code
    for code, name in enumerate(
        ("coordinate", "number", "add", "subtract", "multiply", "divide", "minimum", "maximum", "power",
         "sin", "cos", "tan", "exp", "log", "sqrt", "abs", "tanh", "cosh", "sinh")
    )
}  # fmt: skip
# the same by name, as kernels ask for them
_COORDINATE, _NUMBER, _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _, _MAXIMUM, _POWER = range(9)
# beginning with functions of one answer that are no powers
_SIN, _, _TAN, _EXP, _LOG, _SQRT, _, _TANH, _, _SINH = range(9, 19)


class Program(NamedTuple):
    """Operations: their codes, which answers they take (of a coordinate, which one it is), and a number: a constant, or
    the exponent of a power. The last answer is the value; without any operation there is none."""

    codes: AnyArray
    first: AnyArray
    second: AnyArray
    numbers: Float


def program_room(program: Program, dimension: int) -> Float:
    """For values and slopes of all operations at a block of points, and for the derivatives of one of them."""
    return np.zeros((program.codes.size + 1, max(2, 1 + dimension), POINTS_PER_BLOCK))


@kernel
def _power(base: float, exponent: float) -> float:
    """By products where these are few."""
    if not (1.0 <= exponent <= _PRODUCTS_MAX and exponent == math.floor(exponent)):
        return base**exponent
    found = base
    for _ in range(int(exponent) - 1):
        found *= base
    return found


@kernel
def _of_two(code: int, a: float, b: float) -> tuple[float, float, float]:
    """A function of two answers, and its derivatives by both; of the larger or smaller of equal ones, half of each."""
    if code == _MULTIPLY:
        return a * b, b, a
    if code == _DIVIDE:
        return a / b, 1.0 / b, -a / (b * b)
    share = 0.5 + 0.5 * (np.sign(a - b) if code == _MAXIMUM else np.sign(b - a))
    return (a if share == 1.0 else b), share, 1.0 - share


@kernel
def _circular(code: int, v: float) -> tuple[float, float]:
    if code == _TAN:
        f = math.tan(v)
        return f, 1.0 + f * f
    sine, cosine = math.sin(v), math.cos(v)
    return (sine, cosine) if code == _SIN else (cosine, -sine)


@kernel
def _hyperbolic(code: int, v: float) -> tuple[float, float]:
    if code == _TANH:
        f = math.tanh(v)
        return f, 1.0 - f * f
    sine, cosine = math.sinh(v), math.cosh(v)
    return (sine, cosine) if code == _SINH else (cosine, sine)


@kernel
def _of_one(code: int, v: float, number: float) -> tuple[float, float]:
    """A function of one answer, and its derivative."""
    if code >= _TANH:
        return _hyperbolic(code, v)
    if _SIN <= code <= _TAN:
        return _circular(code, v)
    value, slope = abs(v), np.sign(v)
    if code == _POWER:
        value, slope = _power(v, number), (number * _power(v, number - 1.0) if number != 0.0 else 0.0)
    elif code == _EXP:
        value = math.exp(v)
        slope = value
    elif code == _LOG:
        value, slope = math.log(v), 1.0 / v
    elif code == _SQRT:
        value = math.sqrt(v)
        slope = 0.5 / value
    return value, slope


@kernel
def _along(factor: float, moving: float) -> float:
    """What does not move does not care for infinite derivatives."""
    return 0.0 if moving == 0.0 or factor == 0.0 else factor * moving


@kernel
def _fill(line: Float, value: float, count: int) -> None:
    for j in range(count):
        line[j] = value


@kernel
def _add(one: Float, other: Float, sign: float, count: int, out: Float) -> None:
    for part in range(out.shape[0]):
        a, b, line = one[part], other[part], out[part]
        for j in range(count):
            line[j] = a[j] + sign * b[j]


@kernel
def _pass(code: int, one: Float, other: Float, number: float, count: int, factors: Float, out: Float) -> None:
    """out = values and slopes of a function of earlier answers; factors is room."""
    left, right, value = factors[0], factors[1], out[0]
    two = _MULTIPLY <= code <= _MAXIMUM
    for j in range(count):
        if two:
            value[j], left[j], right[j] = _of_two(code, one[0, j], other[0, j])
        else:
            value[j], left[j] = _of_one(code, one[0, j], number)
            right[j] = 0.0
    for part in range(1, out.shape[0]):
        a, b, line = one[part], other[part], out[part]
        for j in range(count):
            line[j] = _along(left[j], a[j]) + _along(right[j], b[j])


@kernel
def program_slopes(program: Program, points: Float, count: int, room: Float, out: Float) -> None:
    """out += the gradient at the first so many of a block of points, both `(d, points)`."""
    steps, d = program.codes.size, points.shape[0]
    for k in range(steps):
        code, here = program.codes[k], room[k, : 1 + d]
        if code <= _NUMBER:
            for part in range(1 + d):
                _fill(here[part], 0.0, count)
            if code == _COORDINATE:
                axis = program.first[k]
                _add(points[axis : axis + 1], here[:1], 1.0, count, here[:1])
                _fill(here[1 + axis], 1.0, count)
            else:
                _fill(here[0], program.numbers[k], count)
            continue
        one, other = room[program.first[k], : 1 + d], room[program.second[k], : 1 + d]
        if code <= _SUBTRACT:
            _add(one, other, 1.0 if code == _ADD else -1.0, count, here)
        else:
            _pass(code, one, other, program.numbers[k], count, room[steps], here)
    if steps > 0:
        _add(out, room[steps - 1, 1 : 1 + d], 1.0, count, out)
