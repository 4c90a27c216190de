"""Expressions as lists of operations for compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mfpde.measure.expression import FUNCTIONS, Expression
from mfpde.transform.programs import CODES, Program

__all__ = ["program_of"]

_Operation = tuple[int, int, int, float]  # code, answers that it takes, number


class _Answer:
    """Of an operation on a list to which arithmetic with it adds."""

    __array_ufunc__ = None  # so that numpy's numbers leave arithmetic to the methods below

    def __init__(self, listed: list[_Operation], code: str, first: int = 0, second: int = 0, number: float = 0.0):
        self._listed, self._index = listed, len(listed)
        listed.append((CODES[code], first, second, float(number)))

    def _other(self, other: Any) -> _Answer:
        """Of a number as well."""
        return other if isinstance(other, _Answer) else _Answer(self._listed, "number", number=other)

    def _with(self, code: str, other: Any) -> _Answer:
        return _Answer(self._listed, code, self._index, self._other(other)._index)

    def called(self, code: str, number: float = 0.0) -> _Answer:
        """A function of it."""
        return _Answer(self._listed, code, self._index, self._index, number)

    def __neg__(self) -> _Answer:
        return self * -1.0

    def __pos__(self) -> _Answer:
        return self

    def __add__(self, other: Any) -> _Answer:
        return self._with("add", other)

    def __radd__(self, other: Any) -> _Answer:
        return self._other(other) + self

    def __sub__(self, other: Any) -> _Answer:
        return self._with("subtract", other)

    def __rsub__(self, other: Any) -> _Answer:
        return self._other(other) - self

    def __mul__(self, other: Any) -> _Answer:
        return self._with("multiply", other)

    def __rmul__(self, other: Any) -> _Answer:
        return self._other(other) * self

    def __truediv__(self, other: Any) -> _Answer:
        return self._with("divide", other)

    def __rtruediv__(self, other: Any) -> _Answer:
        return self._other(other) / self

    def __pow__(self, power: Any) -> _Answer:
        if isinstance(power, _Answer):
            return (power * self.called("log")).called("exp")
        return self.called("power", power)

    def __rpow__(self, base: Any) -> _Answer:
        return (self * np.log(base)).called("exp")


def _lifted(name: str) -> Callable[..., Any]:
    """A function of answers, or of numbers."""
    count, function = FUNCTIONS[name]

    def of_answers(*given: Any) -> Any:
        answer = next((each for each in given if isinstance(each, _Answer)), None)
        if answer is None:
            return function(*given)
        if count == 1:
            return answer.called(name)
        first, second = (answer._other(each) for each in given)
        return first._with(name, second)

    return of_answers


_FUNCTIONS = {name: _lifted(name) for name in FUNCTIONS}


def program_of(expression: Expression | None, names: Sequence[str]) -> Program:
    """In coordinates of those names, in that order; of nothing, no operations.

    >>> program_of(Expression("x*y"), "xy").numbers.size
    3
    """
    listed: list[_Operation] = []
    if expression is not None:
        variables = {name: _Answer(listed, "coordinate", axis) for axis, name in enumerate(names)}
        last = expression.walked(variables, _FUNCTIONS)
        if not isinstance(last, _Answer):
            return program_of(None, names)
        if last._index != len(listed) - 1:  # a coordinate itself
            last.called("power", 1.0)
    codes, first, second, numbers = zip(*listed, strict=True) if listed else ((), (), (), ())
    whole = [np.array(part, dtype=np.int64) for part in (codes, first, second)]
    return Program(whole[0], whole[1], whole[2], np.array(numbers, dtype=float))
