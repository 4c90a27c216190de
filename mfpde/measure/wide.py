"""Numbers of twice the digits of a double, where differences of nearly equal ones are taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mfpde.measure.expression import FUNCTIONS
from mfpde.typing import Float

__all__ = ["WIDE_FUNCTIONS", "WIDE_PI", "Wide", "rounded"]

_SPLIT = 2.0**27 + 1  # splits a double into two halves whose products are exact
_LARGEST_POWER = 8  # by multiplications; higher powers are rounded first


class Wide:
    """The unevaluated sum of a double and its rounding error [dekker1971]. Sums, products and quotients keep both;
    functions round first.

    >>> one_minus_cosine = 1 - Wide(np.array([1.0]), np.array([-2e-30]))
    >>> one_minus_cosine.rounded
    array([2.e-30])
    """

    __array_ufunc__ = None  # so that numpy's numbers leave arithmetic to the methods below

    def __init__(self, high: Any, low: Any = 0.0) -> None:
        self.high, self.low = high, low

    @classmethod
    def total(cls, first: Any, second: Any) -> Wide:
        """`first + second`, exactly."""
        high = first + second
        part = high - first
        return cls(high, (first - (high - part)) + (second - part))

    @property
    def rounded(self) -> Float:
        """As a double."""
        return np.asarray(self.high + self.low, dtype=float)

    def __neg__(self) -> Wide:
        return Wide(-self.high, -self.low)

    def __pos__(self) -> Wide:
        return self

    def __add__(self, other: Any) -> Wide:
        other = _wide(other)
        high = Wide.total(self.high, other.high)
        return Wide.total(high.high, high.low + (self.low + other.low))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Wide:
        return self + (-_wide(other))

    def __rsub__(self, other: Any) -> Wide:
        return _wide(other) + (-self)

    def __mul__(self, other: Any) -> Wide:
        other = _wide(other)
        high = self.high * other.high
        return Wide.total(high, _error(self.high, other.high, high) + (self.high * other.low + self.low * other.high))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Wide:
        other = _wide(other)
        first = self.high / other.high
        return Wide.total(first, _finite((self - other * Wide(first)).rounded / other.high))

    def __rtruediv__(self, other: Any) -> Wide:
        return _wide(other) / self

    def __pow__(self, power: Any) -> Any:
        exponent = np.asarray(rounded(power))
        if exponent.ndim == 0 and exponent == np.round(exponent) and 0 < exponent <= _LARGEST_POWER:
            product = self
            for _ in range(int(exponent) - 1):
                product = product * self
            return product
        return self.rounded**exponent

    def __rpow__(self, base: Any) -> Any:
        return np.asarray(base) ** self.rounded


#: pi to twice the digits
WIDE_PI = Wide(np.pi, 1.2246467991473532e-16)


def rounded(value: Any) -> Any:
    """A double of any number."""
    return value.rounded if isinstance(value, Wide) else value


def _wide(value: Any) -> Wide:
    return value if isinstance(value, Wide) else Wide(value)


def _finite(values: Any) -> Any:
    """What is lost where numbers are beyond all bounds."""
    return np.where(np.isfinite(values), values, 0.0)


def _error(first: Any, second: Any, product: Any) -> Any:
    """Of the product of two doubles."""
    big, large = _SPLIT * first, _SPLIT * second
    head, front = big - (big - first), large - (large - second)
    tail, back = first - head, second - front
    return _finite(((head * front - product) + head * back + tail * front) + tail * back)


def _of_rounded(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: function(*map(rounded, given))


WIDE_FUNCTIONS = {name: _of_rounded(function) for name, (_, function) in FUNCTIONS.items()}
