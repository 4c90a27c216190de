"""Potentials that are polynomials of degree two, whose forces are affine: sums over pairs are then sums of moments, and
Gaussians stay Gaussian."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from mfpde.measure.expression import FUNCTIONS, Expression
from mfpde.typing import Float

__all__ = ["Quadratic", "quadratic_of"]


class _NotQuadraticError(ArithmeticError):
    """Of an operation that leaves polynomials of degree two."""


class Quadratic:
    """`c + <b, x> + <x, H x> / 2`.

    >>> found = quadratic_of(Expression("3 - (x - 2*y)**2"), ("x", "y"))
    >>> found.constant, found.slope, found.bend
    (3.0, array([0., 0.]), array([[-2.,  4.],
           [ 4., -8.]]))
    """

    __array_ufunc__ = None  # so that numpy's numbers leave arithmetic to the methods below

    def __init__(self, constant: float, slope: Float, bend: Float) -> None:
        self.constant, self.slope, self.bend = float(constant), slope, bend

    def _like(self, other: Any) -> Quadratic:
        """Of a number as well."""
        if isinstance(other, Quadratic):
            return other
        return Quadratic(float(other), np.zeros_like(self.slope), np.zeros_like(self.bend))

    @property
    def _degree(self) -> int:
        return 2 if self.bend.any() else 1 if self.slope.any() else 0

    def __neg__(self) -> Quadratic:
        return self * -1.0

    def __pos__(self) -> Quadratic:
        return self

    def __add__(self, other: Any) -> Quadratic:
        other = self._like(other)
        return Quadratic(self.constant + other.constant, self.slope + other.slope, self.bend + other.bend)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Quadratic:
        return self + self._like(other) * -1.0

    def __rsub__(self, other: Any) -> Quadratic:
        return self._like(other) - self

    def __mul__(self, other: Any) -> Quadratic:
        other = self._like(other)
        if self._degree + other._degree > 2:
            raise _NotQuadraticError
        mixed = np.outer(self.slope, other.slope)
        return Quadratic(
            self.constant * other.constant,
            self.constant * other.slope + other.constant * self.slope,
            self.constant * other.bend + other.constant * self.bend + mixed + mixed.T,
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Quadratic:
        other = self._like(other)
        if other._degree > 0:
            raise _NotQuadraticError
        with np.errstate(all="ignore"):
            divisor = np.float64(other.constant)
            return Quadratic(float(self.constant / divisor), self.slope / divisor, self.bend / divisor)

    def __rtruediv__(self, other: Any) -> Quadratic:
        return self._like(other) / self

    def __pow__(self, power: Any) -> Quadratic:
        exponent = self._like(power)
        if exponent._degree > 0 or exponent.constant not in (0.0, 1.0, 2.0):
            raise _NotQuadraticError
        whole = int(exponent.constant)
        return self * self if whole == 2 else self if whole == 1 else self._like(1.0)

    def __rpow__(self, base: Any) -> Quadratic:
        raise _NotQuadraticError


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    def called(*arguments: Any) -> Any:
        if any(isinstance(each, Quadratic) for each in arguments):
            raise _NotQuadraticError
        return function(*arguments)

    return called


_FUNCTIONS = {name: _of_numbers(function) for name, (_, function) in FUNCTIONS.items()}


def quadratic_of(expression: Expression, variables: tuple[str, ...]) -> Quadratic | None:
    """The expression as a polynomial of degree at most two in these variables, which are all it has; None of any
    other."""
    return _quadratic(expression.text, expression.variables, variables)


@lru_cache(maxsize=64)
def _quadratic(text: str, known: tuple[str, ...], variables: tuple[str, ...]) -> Quadratic | None:
    count = len(variables)
    values = {
        name: Quadratic(0.0, unit, np.zeros((count, count)))
        for name, unit in zip(variables, np.eye(count), strict=True)
    }
    try:
        found = Expression(text, known).walked(values, _FUNCTIONS)
    except (_NotQuadraticError, KeyError):
        return None
    if not isinstance(found, Quadratic):
        return None
    finite = np.isfinite(found.constant) and np.isfinite(found.slope).all() and np.isfinite(found.bend).all()
    return found if finite else None
