"""What every result answers: a run, a diagram, a sweep, a report; `load`, `info`, `plot` and `cite` know no more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mfpde.contracts.agreement import Agreement
from mfpde.contracts.outcome import Outcome
from mfpde.errors import MfpdeError

if TYPE_CHECKING:
    import xarray

__all__ = ["Result", "Stated", "Summary"]


class Stated(Protocol):
    """The problem that a result is of, as far as every result's is alike."""

    @property
    def title(self) -> str | None:
        """What figures and files call it."""

    def canonical(self) -> dict[str, Any]:
        """Its keys and values in plain Python."""

    def to_yaml(self) -> str:
        """As a file that reads back to it."""


@dataclass(frozen=True)
class Summary:
    """A result in a few lines.

    `method` says what found it, `extent` what it spans and `contents` what it holds, in words by name; `counts` are
    statistics that everybody is told, `last` the values at its end (`when`), `invariants` what must not change. `data`
    is for programs, beyond its problem, outcome and provenance.
    """

    method: Mapping[str, str] = field(default_factory=dict)
    extent: Mapping[str, str] = field(default_factory=dict)
    contents: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)
    last: Mapping[str, Any] = field(default_factory=dict)
    when: str = ""
    invariants: Mapping[str, float] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)


class Result(ABC):
    """What came out of a piece of work, in memory or loaded from a file.

    What loads it is registered in the family `archive` under the word that its file has as `mfpde_kind`.
    """

    problem: Stated
    outcome: Outcome
    provenance: Mapping[str, Any]
    path: Path | None

    @property
    def agreement(self) -> Agreement | None:
        """How it stands to what its problem compares it with; None if nothing."""
        return None

    @abstractmethod
    def summary(self) -> Summary:
        """What it comes to, in a few lines."""

    @abstractmethod
    def citations(self) -> list[str]:
        """Keys of the papers behind it, in the order of their weight."""

    @abstractmethod
    def to_xarray(self) -> xarray.Dataset:
        """Everything as a labelled dataset (needs the `analysis` extra)."""

    @abstractmethod
    def plot(self, path: str | Path | None = None) -> Any:
        """It at one glance: a matplotlib figure, also written to `path` when given."""

    def frames(self, most: int) -> Sequence[tuple[float, bytes]]:
        """Its times and their pictures as PNG files, at most so many; none where it does not change in time."""
        return ()

    def animate(self, path: str | Path) -> Path:
        """It as a movie, where it has one."""
        raise MfpdeError(f"{path}: there is no movie of a {type(self).__name__.lower()}, only a figure")
