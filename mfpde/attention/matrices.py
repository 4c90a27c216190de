"""A, or Q and K, or beta, and V: what is written, and the arrays that are meant."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mfpde.blas import blas_in_one_thread
from mfpde.coefficients import MatrixRecipe, Schedule
from mfpde.errors import ProblemError
from mfpde.streams import orthonormal_rows, random_stream, seed_of_part
from mfpde.typing import AnyArray, Float

__all__ = [
    "array_of",
    "as_rows",
    "finite",
    "moved",
    "one_way_to_say_it",
    "product",
    "rectangular",
    "same_rows",
    "square",
]


#: rows of a matrix from which on its array is kept, and how many are
_MIN_ROWS_TO_CACHE, _MAX_CACHED = 32, 32
#: what is added to seeds for the numbers of matrices, which no other draw of the same seed shares
_MATRICES = 0x6D6174726978
#: numbers of a random matrix
_MOST_DRAWN = 10**9
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
    if ways["beta"] and attention.V != 1.0:
        raise ValueError("beta stands for A = beta I, V = I; write A and V for anything else")
    finite(attention, ("beta", "A", "Q", "K", "V"))


def finite(attention: Any, names: tuple[str, ...]) -> None:
    """All entries of all coefficients are finite numbers."""
    for name in names:
        value = getattr(attention, name)
        numbers = [] if value is None else [entry for entry in _values(value) if not isinstance(entry, MatrixRecipe)]
        if not all(np.isfinite(entry).all() for entry in numbers):
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
    array = array_of(f"attention.{name}", value, dimension, rows)
    if array.ndim == 0:
        return float(array) * np.eye(dimension)
    if array.shape[1] != dimension or (rows is not None and array.shape[0] != rows):
        wanted = f"({rows or 'any'}, {dimension})"
        raise ProblemError.at(f"attention.{name}", f"has shape {array.shape}; tokens in R^{dimension} need {wanted}")
    return array


def array_of(path: str, value: Any, columns: int, rows: int | None = None) -> Float:
    """The value at that path as an array, a number as one without axes; of a recipe a matrix of so many columns, and so
    many rows unless it says how many. Large matrices are kept, with their tuples, because it takes long to read half a
    million numbers from tuples."""
    if isinstance(value, MatrixRecipe):
        try:
            return _drawn(value.random, value.rows or rows or columns, columns, value.scale, (value.seed, value.layer))
        except ValueError as refusal:
            raise ProblemError.at(path, str(refusal)) from None
    if not isinstance(value, tuple) or len(value) < _MIN_ROWS_TO_CACHE:
        return np.asarray(value, dtype=float)
    if id(value) not in _arrays:
        while len(_arrays) >= _MAX_CACHED:
            _arrays.pop(next(iter(_arrays)))
        array = np.array(value, dtype=float)
        array.flags.writeable = False
        _arrays[id(value)] = (value, array)
    return _arrays[id(value)][1]


@lru_cache(maxsize=_MAX_CACHED)
def _drawn(law: str, rows: int, columns: int, scale: float | None, number: tuple[int, int | None]) -> Float:
    """The matrix of a recipe (`MatrixRecipe`)."""
    seed, layer = number
    if columns * rows > _MOST_DRAWN:
        raise ValueError(f"would have {rows} x {columns} random numbers, more than {_MOST_DRAWN:,}")
    if layer is not None:
        seed = seed_of_part(seed, layer)
    key = seed_of_part(seed, _MATRICES)
    if law == "orthogonal":
        if rows > columns:
            raise ValueError(f"cannot have {rows} orthonormal rows of {columns} numbers; give rows: {columns} or less")
        matrix = (1.0 if scale is None else scale) * orthonormal_rows(rows, columns, key)
    else:
        matrix = random_stream(rows * columns, key).standard_normal((rows, columns))
        if law == "ginibre":
            matrix *= 1 / np.sqrt(columns) if scale is None else scale
        else:
            with blas_in_one_thread():
                matrix = (1.0 if scale is None else scale) / columns * (matrix.T @ matrix)
    matrix.flags.writeable = False
    return matrix


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
