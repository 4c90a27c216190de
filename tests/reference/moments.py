"""Moments of Gaussians to as many digits as one likes: Taylor series in the decimal arithmetic of Python.

`m' = c`, `S' = B S + S B^T + (2/kappa) I` with c and B as in the table of physics.md, section 4. Every quantity is a
power series in the time of the step; products, inverses and square roots of matrices are found coefficient by
coefficient. Nothing here comes from mfpde or from a library of linear algebra.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, getcontext, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.object_]
Problem = Mapping[str, Any]


def decimals(values: Any) -> Matrix:
    """The doubles as they are."""
    rows = np.asarray(values, dtype=float)
    return np.array([Decimal(float(value)) for value in rows.ravel()], dtype=object).reshape(rows.shape)


def identity(size: int) -> Matrix:
    return decimals(np.eye(size))


def solve(matrix: Matrix, right: Matrix) -> Matrix:
    """Gaussian elimination with pivots."""
    size = len(matrix)
    work = np.concatenate([matrix, right], axis=1)
    for column in range(size):
        pivot = column + int(np.argmax([abs(float(value)) for value in work[column:, column]]))
        work[[column, pivot]] = work[[pivot, column]]
        work[column] = work[column] / work[column, column]
        for row in range(size):
            if row != column and work[row, column] != 0:
                work[row] = work[row] - work[row, column] * work[column]
    return work[:, size:]


# -- series
# ------------------------------------------------------------------------------------------------------------------


class Series:
    """Coefficients, each found when it is asked for; None is zero."""

    def __init__(self, next_one: Callable[[int], Matrix | None]) -> None:
        self.known: list[Matrix | None] = []
        self._next = next_one

    def __getitem__(self, order: int) -> Matrix | None:
        while len(self.known) <= order:
            self.known.append(self._next(len(self.known)))
        return self.known[order]

    def __add__(self, other: Series) -> Series:
        return Series(lambda k: _sum([self[k], other[k]]))

    def __matmul__(self, other: Series) -> Series:
        return Series(lambda k: _convolved(self, other, range(k + 1), k))

    def times(self, factor: Decimal | int) -> Series:
        return Series(lambda k: None if self[k] is None else factor * self[k])

    @property
    def transposed(self) -> Series:
        return Series(lambda k: None if self[k] is None else self[k].T)


def _sum(parts: list[Matrix | None]) -> Matrix | None:
    there = [part for part in parts if part is not None]
    return sum(there[1:], there[0]) if there else None


def _convolved(a: Series, b: Series, orders: range, k: int) -> Matrix | None:
    """`sum_i a_i b_{k-i}` as one product of matrices beside and below each other."""
    there = [i for i in orders if a[i] is not None and b[k - i] is not None]
    return np.hstack([a[i] for i in there]) @ np.vstack([b[k - i] for i in there]) if there else None


def polynomial(*coefficients: Matrix) -> Series:
    return Series(lambda k: coefficients[k] if k < len(coefficients) else None)


def inverse(matrix: Series) -> Series:
    """`W M = I`."""

    def following(k: int) -> Matrix | None:
        if k == 0:
            return solve(matrix[0], identity(len(matrix[0])))
        rest = _convolved(found, matrix, range(k), k)
        return None if rest is None else -rest @ found[0]

    found = Series(following)
    return found


def square_root(matrix: Series) -> Series:
    """`X X = M` with eigenvalues in the right half-plane: Newton's iteration, then a Sylvester equation each."""
    solver: list[Matrix] = []

    def following(k: int) -> Matrix | None:
        if k == 0:
            root = _root(matrix[0])
            unit = identity(len(root))
            solver.append(solve(np.kron(root, unit) + np.kron(unit, root.T), identity(len(root) ** 2)))
            return root
        rest = _convolved(found, found, range(1, k), k)
        missing = _sum([matrix[k], None if rest is None else -rest])
        return None if missing is None else (solver[0] @ missing.reshape(-1)).reshape(missing.shape)

    found = Series(following)
    return found


def _root(matrix: Matrix) -> Matrix:
    """Of Denman and Beavers."""
    y, z = matrix, identity(len(matrix))
    for _ in range(200):
        before = y
        y, z = (y + solve(z, identity(len(z)))) / 2, (z + solve(y, identity(len(y)))) / 2
        if np.abs(y - before).max() <= np.abs(y).max() * Decimal(10) ** (8 - getcontext().prec):
            return y
    raise ArithmeticError("no square root")


# -- the law
# ------------------------------------------------------------------------------------------------------------------


def drift(law: Problem, mean: Series, S: Series, now: Decimal) -> tuple[Series, Series]:
    """c and B of one attention, or of the sum of its heads, from `now` on."""
    kind, d = law["kind"], len(S[0])

    def coefficient(name: str) -> Series:
        return in_time(law.get(name, 1.0), d, now)

    if kind == "multi-head":
        heads = [drift(head, mean, S, now) for head in law["heads"]]
        c, B = heads[0]
        for more_c, more_B in heads[1:]:
            c, B = c + more_c, B + more_B
    elif kind == "softmax":
        slope = S @ coefficient("A")
        B, c = coefficient("V") @ slope, coefficient("V") @ (mean + slope @ mean)
    elif kind == "l2":
        Q, K = coefficient("Q"), coefficient("K")
        narrowed = coefficient("V") @ inverse(polynomial(identity(d)) + (S @ (K.transposed @ K)).times(2))
        slope = (S @ (K.transposed @ Q)).times(2)
        B, c = narrowed @ slope, narrowed @ (mean + slope @ mean)
    elif kind == "sinkhorn":
        A, one = coefficient("A"), polynomial(identity(d))
        root = square_root(one + ((S @ A) @ (S @ A.transposed)).times(4))
        B, c = (coefficient("V") @ (inverse(one + root) @ (S @ A))).times(2), coefficient("V") @ mean
    elif kind == "linear":
        B = coefficient("V") @ ((S + mean @ mean.transposed) @ coefficient("A"))
        c = B @ mean
    else:
        assert kind == "relu", kind
        B, c = (coefficient("V") @ (S @ coefficient("A"))).times(Decimal("0.5")), polynomial()
    weight = coefficient("weight")
    return weight @ c, weight @ B


def in_time(value: Any, size: int, now: Decimal) -> Series:
    """A coefficient from `now` on, until its next break; a number stands for that multiple of the identity."""
    if not isinstance(value, Mapping):
        return polynomial(_square(value, size))
    times, values = [Decimal(float(t)) for t in value["times"]], [_square(each, size) for each in value["values"]]
    index = sum(time <= now for time in times) - 1
    if value.get("interpolation", "constant") == "constant" or index in (-1, len(times) - 1):
        return polynomial(values[max(index, 0)])
    slope = (values[index + 1] - values[index]) / (times[index + 1] - times[index])
    return polynomial(values[index] + (now - times[index]) * slope, slope)


def _square(value: Any, size: int) -> Matrix:
    return decimals(value) if np.ndim(value) else Decimal(float(value)) * identity(size)


def breaks(value: Any) -> set[Decimal]:
    """All times at which something in a problem jumps or has a kink."""
    if isinstance(value, Mapping):
        own = [Decimal(float(time)) for time in value["times"]] if "times" in value else []
        return {*own, *(time for part in value.values() for time in breaks(part))}
    return {time for part in value for time in breaks(part)} if isinstance(value, list) else set()


def diffusion(problem: Problem, size: int, now: Decimal) -> Series:
    """`2 / kappa` times the identity."""
    given = problem.get("noise", {}).get("kappa", np.inf)
    kappa = in_time(given, 1, now) if not _infinite(given, now) else None
    return polynomial() if kappa is None else _inflated((inverse(kappa)).times(2), size)


def _infinite(given: Any, now: Decimal) -> bool:
    if not isinstance(given, Mapping):
        return bool(np.isinf(given))
    index = max(sum(Decimal(float(time)) <= now for time in given["times"]) - 1, 0)
    return bool(np.isinf(given["values"][index]))


def _inflated(number: Series, size: int) -> Series:
    unit = identity(size)
    return Series(lambda k: None if number[k] is None else number[k][0, 0] * unit)


# -- the march
# ------------------------------------------------------------------------------------------------------------------


@dataclass
class Solution:
    """Moments at the wanted times; where they become infinite before the last of them."""

    means: list[Matrix] = field(default_factory=list)
    covariances: list[Matrix] = field(default_factory=list)
    pole: Decimal | None = None
    steps: int = 0


def solved(problem: Problem, times: list[float], digits: int = 36, order: int = 40) -> Solution:
    """Taylor steps whose last terms are `10^-digits` of the moments."""
    with localcontext() as context:
        context.prec = digits + 14
        return _solved(problem, [Decimal(float(time)) for time in times], digits, order)


def _solved(problem: Problem, times: list[Decimal], digits: int, order: int) -> Solution:
    initial = problem["initial"]
    mean = decimals(np.atleast_1d(initial["mean"]))[:, None]
    covariance = _square(initial["covariance"], len(mean))
    stops = sorted({*times, *(time for time in breaks(problem) if 0 < time < times[-1])})
    solution, now = Solution(), Decimal(0)
    while stops:
        m, S = _series(problem, mean, covariance, now)
        step = _step(m, S, order, digits)
        if step < Decimal(10) ** (14 - digits):
            solution.pole = now + _distance(m, S, order)
            return solution
        solution.steps += 1
        until = min(now + step, stops[0])
        mean, covariance, now = _at(m, until - now, order), _at(S, until - now, order), until
        if now == stops[0] and stops.pop(0) in times:
            solution.means.append(mean[:, 0])
            solution.covariances.append(covariance)
    return solution


def _series(problem: Problem, mean: Matrix, covariance: Matrix, now: Decimal) -> tuple[Series, Series]:
    size = len(mean)
    m = Series(lambda k: mean if k == 0 else _over(c[k - 1], k, mean))
    S = Series(lambda k: covariance if k == 0 else _over(change[k - 1], k, covariance))
    c, B = polynomial(), polynomial()
    if "attention" in problem:
        c, B = drift(problem["attention"], m, S, now)
    moved = B @ S
    change = moved + moved.transposed + diffusion(problem, size, now)
    return m, S


def _over(coefficient: Matrix | None, k: int, like: Matrix) -> Matrix:
    return 0 * like if coefficient is None else coefficient / k


def _size(matrix: Matrix) -> Decimal:
    return np.abs(matrix).max()


def _step(m: Series, S: Series, order: int, digits: int) -> Decimal:
    """The last two terms of both series tell."""
    longest = Decimal(10) ** 6
    for series, least in ((m, Decimal(1)), (S, Decimal(0))):
        whole = max(_size(series[0]), least * _size(S[0]).sqrt()) or _size(series[1])
        for k in (order - 1, order):
            last = _size(series[k])
            if last > 0:
                longest = min(longest, (whole / last * Decimal(10) ** -digits) ** (Decimal(1) / k))
    return longest


def _distance(m: Series, S: Series, order: int) -> Decimal:
    """To the singularity, from the quotient of the last coefficients."""
    series = S if _size(S[0]) > 0 else m
    return _size(series[order - 1]) / _size(series[order])


def _at(series: Series, step: Decimal, order: int) -> Matrix:
    value = series[order]
    for k in range(order - 1, -1, -1):
        value = value * step + series[k]
    return value
