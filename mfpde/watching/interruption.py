"""Ctrl-C and SIGTERM ask work to stop cleanly; asking twice, or before its first step, stops it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["Interruption"]

_SIGNALS = ("SIGINT", "SIGTERM")


class Interruption:
    """While this context lasts, `asked` turns true at the first signal and KeyboardInterrupt comes with the second, or
    with the first as long as it is not `patient`.

    Only the main thread gets signals; in others, and where a program ignores them, nothing is touched. Work inside
    other work, a run of a sweep, passes on that it was asked.
    """

    def __init__(self, *, patient: bool = True) -> None:
        self.asked = False
        self.patient = patient
        self._again = False
        self._shielded = False
        self._previous: dict[signal.Signals, Any] = {}
        self._around: object = None  # the Interruption of the work that this one is a part of

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for name in _SIGNALS:
                number = getattr(signal, name)
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._previous[number] = signal.signal(number, self._answer)
                    self._around = getattr(self._previous[number], "__self__", None)
        return self

    def __exit__(self, *_: object) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)
        self._previous.clear()

    @contextmanager
    def shield(self) -> Iterator[None]:
        """A stretch that is finished even when asked twice: writing to a file."""
        self._shielded = True
        try:
            yield
        finally:
            self._shielded = False
        if self._again:
            self._again = False
            raise KeyboardInterrupt

    def _answer(self, number: int, frame: FrameType | None) -> None:
        at_once = self.asked or not self.patient
        self.asked = True
        if isinstance(self._around, Interruption):
            self._around.asked = True
        if at_once and not self._shielded:
            raise KeyboardInterrupt
        self._again = at_once  # after the stretch that is shielded
