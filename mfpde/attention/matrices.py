"""A, or Q and K, or beta, and V: what is written, and the arrays that are meant."""

from __future__ import annotations

from typing import Any

import numpy as np

from mfpde.coefficients import Schedule
from mfpde.errors import ProblemError
from mfpde.typing import AnyArray, Float

__all__ = [
    "as_rows",
    "finite",
    "moved",
    "one_way_to_say_it",
    "product",
    "rectangular",
    "same_rows",
    "square",
]


#: the arrays of larger matrices are cached, up to so many
_MIN_ROWS_TO_CACHE, _MAX_CACHED = 32, 32
_arrays: dict[int, tuple[Any, Float]] = {}


def one_way_to_say_it(attention: Any) -> None:
    """Exactly one of beta, A, or Q and K; all of it finite."""
    ways = {
        "beta": attention.beta is not None,
        "A": attention.A is not None,
        "Q and K": attention.Q is not None or attention.K is not None,
    }
    given = [name for name, there in ways.items() if there]
    if len(given) != 1:
        raise ValueError(f"needs exactly one of beta, A, or Q and K; given: {', '.join(given) or 'none'}")
    if ways["Q and K"] and (attention.Q is None or attention.K is None):
        raise ValueError("needs Q and K together")
    if ways["beta"] and (attention.V != 1.0 or min(_values(attention.beta)) < 0):
        raise ValueError("beta stands for A = beta I, V = I with beta >= 0; write A and V for anything else")
    finite(attention, ("beta", "A", "Q", "K", "V"))


def finite(attention: Any, names: tuple[str, ...]) -> None:
    """All entries of all coefficients are finite numbers."""
    for name in names:
        value = getattr(attention, name)
        if value is not None and not all(np.isfinite(entry).all() for entry in _values(value)):
            raise ValueError(f"{name} must be finite")


def _values(value: Any) -> tuple[Any, ...]:
    return value.entries if isinstance(value, Schedule) else (value,)


def square(name: str, value: Any, dimension: int) -> Float:
    """A coefficient as a `(d, d)` array, numbers as multiples of the identity."""
    return rectangular(name, value, dimension, rows=dimension)


def rectangular(name: str, value: Any, dimension: int, rows: int | None = None) -> Float:
    """A coefficient as a `(rows, d)` array; any number of rows if None."""
    if isinstance(value, Schedule):
        raise ProblemError.at(f"attention.{name}", "depends on time; ask law.at(time) for its drift")
    array = _array(value)
    if array.ndim == 0:
        return float(array) * np.eye(dimension)
    if array.shape[1] != dimension or (rows is not None and array.shape[0] != rows):
        wanted = f"({rows or 'any'}, {dimension})"
        raise ProblemError.at(f"attention.{name}", f"has shape {array.shape}; tokens in R^{dimension} need {wanted}")
    return array


def _array(value: Any) -> Float:
    """The value as an array. Large matrices are kept, with their tuples, because it takes long to read half a million
    numbers from tuples."""
    if not isinstance(value, tuple) or len(value) < _MIN_ROWS_TO_CACHE:
        return np.asarray(value, dtype=float)
    if id(value) not in _arrays:
        while len(_arrays) >= _MAX_CACHED:
            _arrays.pop(next(iter(_arrays)))
        array = np.array(value, dtype=float)
        array.flags.writeable = False
        _arrays[id(value)] = (value, array)
    return _arrays[id(value)][1]


def product(key: Any, query: Any, dimension: int) -> Float:
    """`A = K^T Q`."""
    keys, queries = same_rows(key, query, dimension)
    return keys.T @ queries


def same_rows(key: Any, query: Any, dimension: int) -> tuple[Float, Float]:
    """K and Q as `(rows, d)` arrays."""
    keys, queries = rectangular("K", key, dimension), rectangular("Q", query, dimension)
    if keys.shape[0] != queries.shape[0]:
        raise ProblemError.at(
            "attention.K", f"has shape {keys.shape} and Q {queries.shape}: they need the same number of rows"
        )
    return keys, queries


def as_rows(matrix: Float) -> tuple[tuple[float, ...], ...]:
    """An array as a specification holds it."""
    return tuple(tuple(float(entry) for entry in row) for row in matrix)


def moved(attention: Any, matrix: AnyArray, *names: str) -> dict[str, Any]:
    """The coefficients that map tokens to tokens, and the weight, in the coordinates `x' = T x`: `T V T^-1`."""
    there = np.asarray(matrix, dtype=float)
    given = {name: getattr(attention, name) for name in ("weight", *names)}
    return {
        name: as_rows(there @ square(name, value, there.shape[0]) @ np.linalg.inv(there))
        for name, value in given.items()
        if value is not None
    }
