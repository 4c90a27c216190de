"""What can go wrong, as data: every message says what was given, what is wanted and what is near."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["Fault", "MfpdeError", "OutputError", "ProblemError", "ResumeError", "nearest", "shown"]

_MOST_LETTERS = 60  # of a part of a path, or of a value that is shown
_MOST_OF_A_NAME = 500  # letters of a path
_MOST_OF_A_MESSAGE = 1000  # letters


class MfpdeError(Exception):
    """Base of everything mfpde raises on purpose: one `except` for whatever a user can do something about.

    >>> import mfpde
    >>> try:
    ...     mfpde.load("nowhere.h5")
    ... except mfpde.MfpdeError as error:
    ...     print(error)
    there is no file nowhere.h5
    """

    def __str__(self) -> str:
        return _cut(super().__str__(), _MOST_OF_A_MESSAGE)


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a problem: the path of keys that leads to it, and a sentence.

    `source`, `line` and `column` (both counted from 1) are known when the problem came from a file; a command line has
    a source and no lines.
    """

    path: tuple[str | int, ...]
    message: str
    source: str | None = None
    line: int | None = None
    column: int | None = None

    @property
    def order(self) -> tuple[str, int, int]:
        """Sorts faults as one reads their source."""
        return (self.source or "", self.line or 0, self.column or 0)

    def __str__(self) -> str:
        place = ""
        if self.source is not None:
            position = "" if self.line is None else f":{self.line}:{self.column or 1}"
            place = f"{_cut(self.source, _MOST_OF_A_NAME)}{position}: "
        key = ".".join(_cut(str(part), _MOST_LETTERS) for part in self.path)
        message = _cut(self.message, _MOST_OF_A_MESSAGE)
        return f"{place}{key}: {message}" if key else f"{place}{message}"


class ProblemError(MfpdeError, ValueError):
    """A problem that cannot be solved as written. Carries every fault found, not only the first.

    >>> str(ProblemError.at("noise.kappa", "must be positive, not -1"))
    'noise.kappa: must be positive, not -1'
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    def __str__(self) -> str:
        return str(self.args[0])

    @classmethod
    def at(cls, path: str, message: str) -> ProblemError:
        """One fault at a dotted path of keys."""
        return cls([Fault(tuple(path.split(".")) if path else (), message)])


class OutputError(MfpdeError, OSError):
    """The output cannot be written, or an existing file would be overwritten. Raised before the first step.

    >>> import mfpde
    >>> diffusion = mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"}, "initial": {"kind": "uniform"}, "time": {"until": 1}
    ... })
    >>> try:
    ...     mfpde.solve(diffusion, "no/such/folder/run.h5")
    ... except mfpde.OutputError as error:
    ...     print(error)
    cannot write no/such/folder/run.h5: there is no folder ...no/such/folder
    """


class ResumeError(MfpdeError, ValueError):
    """A file that cannot be resumed: foreign, corrupt, or of another problem.

    >>> raise ResumeError("run.h5 holds another problem")
    Traceback (most recent call last):
        ...
    mfpde.errors.ResumeError: run.h5 holds another problem
    """


def nearest(given: str, known: Iterable[str]) -> str:
    """`" (did you mean 'kappa'?)"` when something known is near, otherwise an empty string.

    >>> nearest("kapa", ["kappa", "beta"])
    " (did you mean 'kappa'?)"
    """
    matches = difflib.get_close_matches(given, list(known), n=1, cutoff=0.6)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def shown(given: Any) -> str:
    """What was given, short enough for a message.

    >>> shown("x" * 1000000), shown([3])
    ("'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'...", '[3]')
    """
    if isinstance(given, str | bytes) and len(given) > _MOST_LETTERS:
        return f"{given[:_MOST_LETTERS]!r}..."
    try:
        text = " ".join(repr(given).split())
    except ValueError:  # Python does not write down whole numbers of more than 4300 digits
        return "what is too long to be shown"
    return text if len(text) <= _MOST_LETTERS + 2 else f"{text[: _MOST_LETTERS - 1]}..."


def _cut(text: str, most: int) -> str:
    """Beginning and end of what is too long."""
    return text if len(text) <= most else f"{text[: most * 3 // 4]} ... {text[-most // 4 :]}"
