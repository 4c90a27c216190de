"""A thread that calls something again and again, so that people see life during one long piece of work."""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["Heartbeat"]


class Heartbeat:
    """Calls `beat` every so many seconds until it is stopped, or `beat` cannot write any more."""

    def __init__(self, every: float, beat: Callable[[], None]) -> None:
        self._every, self._beat = every, beat
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="mfpde heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No call is under way, and none comes, after this."""
        self._stopped.set()
        self._thread.join()

    def _go_on(self) -> None:
        while not self._stopped.wait(self._every):
            try:
                self._beat()
            except (OSError, ValueError):  # a stream or a folder that is gone
                return
