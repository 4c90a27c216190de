"""What callers hand to functions, checked: every error says what was given and what is wanted."""

from __future__ import annotations

import operator
import os
from pathlib import Path
from types import UnionType
from typing import Any

import numpy as np

from mfpde.errors import ProblemError, shown
from mfpde.typing import Float

__all__ = ["amount", "file_path", "in_unicode", "instance", "need_memory", "number", "numbers", "truth", "whole"]


#: values that an array may be asked to have: more than any memory holds
_MOST_VALUES = 2**48
#: times their vectors, that a run of so many tokens has in memory at once: six for its steps, seven for the fast sums
_MEMORY_FACTOR = 13
_BYTES = 8  # of a double


def need_memory(name: str, values: int) -> None:
    """Refuse tokens of so many numbers that the machine has no room for them, before anything is allocated."""
    wanted, there = _MEMORY_FACTOR * _BYTES * values, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if wanted > there:
        message = f"that many tokens need about {wanted:.3g} bytes of memory; this machine has {there:.3g}"
        raise ProblemError.at(name, message)


def numbers(name: str, given: Any) -> Float:
    """An array of real numbers, of any shape.

    >>> numbers("points", [[0, 1], [2]])
    Traceback (most recent call last):
        ...
    mfpde.errors.ProblemError: points: must be an array of numbers with rows of one length, not [[0, 1], [2]]
    """
    if isinstance(given, np.ndarray) and given.dtype == np.float64:
        return given
    try:
        array = np.asarray(given)
    except ValueError:
        raise ProblemError.at(
            name, f"must be an array of numbers with rows of one length, not {shown(given)}"
        ) from None
    if array.dtype.kind not in "biuf":
        raise ProblemError.at(name, f"must be an array of real numbers, not {shown(given)}")
    return array.astype(np.float64)


def number(name: str, given: Any) -> float:
    """One real number.

    >>> number("time", "now")
    Traceback (most recent call last):
        ...
    mfpde.errors.ProblemError: time: must be a number, not 'now'
    """
    if isinstance(given, bool) or not isinstance(given, int | float | np.integer | np.floating):
        raise ProblemError.at(name, f"must be a number, not {shown(given)}")
    try:
        return float(given)
    except OverflowError:
        raise ProblemError.at(name, "is too large for a double") from None


def whole(name: str, given: Any, least: int = 0, below: int | None = None) -> int:
    """A whole number from `least` on, below `below`.

    >>> whole("count", -1)
    Traceback (most recent call last):
        ...
    mfpde.errors.ProblemError: count: must be a whole number from 0 on, not -1
    """
    try:
        number = operator.index(given)
    except TypeError:
        number = least - 1
    if isinstance(given, bool) or number < least or (below is not None and number >= below):
        span = f"from {least} on" if below is None else f"from {least} to {below - 1}"
        raise ProblemError.at(name, f"must be a whole number {span}, not {shown(given)}")
    return number


def amount(name: str, given: Any, least: int = 0) -> int:
    """So many of something, which are to be held in memory.

    >>> amount("count", 10**400)
    Traceback (most recent call last):
        ...
    mfpde.errors.ProblemError: count: is more than any memory holds
    """
    count = whole(name, given, least)
    if count > _MOST_VALUES:
        raise ProblemError.at(name, "is more than any memory holds")
    return count


def truth(name: str, given: Any) -> bool:
    """True or False, and nothing that merely counts as one of them.

    >>> truth("resume", "no")
    Traceback (most recent call last):
        ...
    mfpde.errors.ProblemError: resume: must be True or False, not 'no'
    """
    if not isinstance(given, bool | np.bool_):
        raise ProblemError.at(name, f"must be True or False, not {shown(given)}")
    return bool(given)


def instance(name: str, given: Any, wanted: type | UnionType, example: str) -> None:
    """Fail when it is not one of that class.

    >>> instance("problem", 3, dict, "a problem such as {}")
    Traceback (most recent call last):
        ...
    mfpde.errors.ProblemError: problem: must be a problem such as {}, not 3
    """
    if not isinstance(given, wanted):
        what = f"the class {given.__name__} itself" if isinstance(given, type) else shown(given)
        raise ProblemError.at(name, f"must be {example}, not {what}")


def file_path(name: str, given: Any, example: str) -> Path:
    """The name of a file, as text or as a path.

    >>> file_path("output", 3, "run.h5")
    Traceback (most recent call last):
        ...
    mfpde.errors.ProblemError: output: must be the name of a file such as 'run.h5', not 3
    """
    if not isinstance(given, str | os.PathLike) or isinstance(os.fspath(given), bytes):
        raise ProblemError.at(name, f"must be the name of a file such as {example!r}, not {shown(given)}")
    if not os.fspath(given):
        raise ProblemError.at(name, f"must be the name of a file such as {example!r}, not an empty text")
    try:
        os.fsencode(given)
    except UnicodeEncodeError:
        raise ProblemError.at(name, f"{shown(os.fspath(given))} has a character that no file name can have") from None
    return Path(given)


def in_unicode(text: str) -> str:
    """A text that may come from the name of a file, which may be any bytes, as one that can be written down."""
    return text.encode("utf-8", "backslashreplace").decode()
