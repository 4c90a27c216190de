"""What everything that advances answers to whoever shows people how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

__all__ = ["Watched"]


class Watched(Protocol):
    """A piece of work on its way: a run, a continuation, a sweep, a validation."""

    @property
    def position(self) -> float:
        """How far it is, in its own unit: a time, a parameter, a number of points done."""

    @property
    def end(self) -> float:
        """The position at which it will be done."""

    @property
    def label(self) -> str:
        """What people read before the position: `t =`, `point`."""

    def counts(self) -> Mapping[str, int]:
        """What it counts on its way that people are told, `steps` for one."""
