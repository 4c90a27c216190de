"""First and second derivatives of expressions along a curve, by the rules of calculus: exact, no differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mfpde.measure.expression import FUNCTIONS
from mfpde.measure.wide import rounded
from mfpde.typing import Float

__all__ = ["JET_FUNCTIONS", "Jet"]

_BY_PRODUCTS = (1, 2, 3, 4, 5, 6, 7)  # powers


class Jet:
    """A value with its first two derivatives by one variable. Values may have twice the digits of doubles (`Wide`).

    >>> x = Jet(np.array([3.0]), 1.0, 0.0)
    >>> cube = x**3
    >>> cube.value, cube.slope, cube.bend
    (array([27.]), array([27.]), array([18.]))
    """

    __array_ufunc__ = None  # so that numpy's numbers leave arithmetic to the methods below

    def __init__(self, value: Any, slope: Any, bend: Any) -> None:
        self.value, self.slope, self.bend = value, slope, bend

    @classmethod
    def of(cls, value: Any) -> Jet:
        """Of a number as well, which does not change."""
        return value if isinstance(value, Jet) else cls(value, 0.0, 0.0)

    def spread(self, shape: tuple[int, ...]) -> tuple[Float, Float, Float]:
        """All three as arrays of that shape."""
        parts = (rounded(self.value), self.slope, self.bend)
        value, slope, bend = (np.broadcast_to(np.asarray(part, dtype=float), shape) for part in parts)
        return value, slope, bend

    def through(self, value: Any, slope: Any, bend: Any) -> Jet:
        """f of it, from f and its derivatives at the value. What does not move does not care for infinite ones."""
        square = np.square(self.slope)
        return Jet(value, _times(slope, self.slope), _times(bend, square) + _times(slope, self.bend))

    def __neg__(self) -> Jet:
        return Jet(-self.value, -np.asarray(self.slope), -np.asarray(self.bend))

    def __pos__(self) -> Jet:
        return self

    def __add__(self, other: Any) -> Jet:
        other = Jet.of(other)
        return Jet(self.value + other.value, self.slope + other.slope, self.bend + other.bend)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Jet:
        return self + (-Jet.of(other))

    def __rsub__(self, other: Any) -> Jet:
        return Jet.of(other) + (-self)

    def __mul__(self, other: Any) -> Jet:
        other = Jet.of(other)
        here, there = rounded(self.value), rounded(other.value)
        slope = here * other.slope + there * self.slope
        return Jet(
            self.value * other.value, slope, here * other.bend + 2 * self.slope * other.slope + there * self.bend
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        other = Jet.of(other)
        here, there, ratio = rounded(self.value), rounded(other.value), self.value / other.value
        slope = (self.slope * there - here * other.slope) / there**2
        bend = (self.bend - 2 * slope * other.slope - rounded(ratio) * other.bend) / there
        return Jet(ratio, slope, bend)

    def __rtruediv__(self, other: Any) -> Jet:
        return Jet.of(other) / self

    def __pow__(self, power: Any) -> Jet:
        if isinstance(power, Jet):
            return JET_FUNCTIONS["exp"](power * JET_FUNCTIONS["log"](self))
        base, n = rounded(self.value), rounded(power)
        slope = n * _raised(base, n - 1) if n != 0 else 0.0
        bend = n * (n - 1) * _raised(base, n - 2) if n not in (0, 1) else 0.0
        return self.through(self.value**power, slope, bend)

    def __rpow__(self, base: Any) -> Jet:
        return JET_FUNCTIONS["exp"](self * np.log(base))


def _raised(base: Any, power: Any) -> Any:
    """`base^power`; small whole powers by products, which take a tenth of the time."""
    if power not in _BY_PRODUCTS:
        return base**power
    found = base
    for _ in range(int(power) - 1):
        found = found * base
    return found


def _times(factor: Any, moving: Any) -> Any:
    if np.ndim(moving) == 0 and moving == 0:
        return 0.0
    return np.where(np.equal(moving, 0), 0.0, factor * np.asarray(moving))


def _lifted(name: str, derivatives: Callable[[Float, Float], tuple[Any, Any]]) -> Callable[[Any], Any]:
    """A function of jets, from its first two derivatives at v, where its value is f."""
    function = FUNCTIONS[name][1]

    def of_jet(given: Any) -> Any:
        if not isinstance(given, Jet):
            return function(rounded(given))
        v = rounded(given.value)
        f = function(v)
        return given.through(f, *derivatives(v, f))

    return of_jet


def _chosen(name: str, sign: float) -> Callable[[Any, Any], Any]:
    """The smaller or the larger of two; where they are equal, half of each."""
    function = FUNCTIONS[name][1]

    def of_jets(first: Any, second: Any) -> Any:
        if not isinstance(first, Jet) and not isinstance(second, Jet):
            return function(rounded(first), rounded(second))
        a, b = Jet.of(first), Jet.of(second)
        here, there = rounded(a.value), rounded(b.value)
        share = 0.5 * (1 + sign * np.sign(here - there))
        slope, bend = (
            np.where(share == 1, p, np.where(share == 0, q, share * p + (1 - share) * q))
            for p, q in ((np.asarray(a.slope), np.asarray(b.slope)), (np.asarray(a.bend), np.asarray(b.bend)))
        )
        return Jet(function(here, there), slope, bend)

    return of_jets


#: what expressions may call, of jets
JET_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": _lifted("sin", lambda v, f: (np.cos(v), -f)),
    "cos": _lifted("cos", lambda v, f: (-np.sin(v), -f)),
    "tan": _lifted("tan", lambda _, f: (1 + f * f, 2 * f * (1 + f * f))),
    "exp": _lifted("exp", lambda _, f: (f, f)),
    "log": _lifted("log", lambda v, _: (1 / v, -1 / v**2)),
    "sqrt": _lifted("sqrt", lambda v, f: (0.5 / f, -0.25 / (f * v))),
    "abs": _lifted("abs", lambda v, _: (np.sign(v), np.zeros_like(v))),
    "tanh": _lifted("tanh", lambda _, f: (1 - f * f, -2 * f * (1 - f * f))),
    "cosh": _lifted("cosh", lambda v, f: (np.sinh(v), f)),
    "sinh": _lifted("sinh", lambda v, f: (np.cosh(v), f)),
    "minimum": _chosen("minimum", -1.0),
    "maximum": _chosen("maximum", 1.0),
}
