"""How far a run is and how long it will still take."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from mfpde.run import Outcome

if TYPE_CHECKING:
    from mfpde.solvers.base import Integration

__all__ = ["Pace", "Progress", "ProgressReport", "show_line"]

_EVERY = 0.1
_WINDOW = 10.0  # seconds the rate is an average over: step sizes change
_REPORTED = ("modes", "cells", "particles")


@dataclass(frozen=True)
class ProgressReport:
    """Where a run stands: `rate` is simulated time per second of wall time, `remaining` an estimate in seconds."""

    time: float
    until: float
    steps: int
    rate: float
    remaining: float | None
    detail: dict[str, int] = field(default_factory=dict)


class Pace:
    """Measures the rate of a run, and says when `every` seconds have passed."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._until = 0.0
        self._seen: deque[tuple[float, float]] = deque()
        self._reported = 0.0

    def start(self, integration: Integration, until: float) -> None:
        """The clock starts."""
        self._until = until
        self._reported = perf_counter()
        self._seen.append((self._reported, integration.time))

    def due(self) -> bool:
        """True when it is time for another report."""
        return perf_counter() - self._reported >= self._every

    def report(self, integration: Integration) -> ProgressReport:
        """The state of affairs."""
        now, time = perf_counter(), integration.time
        self._reported = now
        self._seen.append((now, time))
        while len(self._seen) > 2 and now - self._seen[1][0] > _WINDOW:
            self._seen.popleft()
        then, before = self._seen[0]
        rate = (time - before) / (now - then) if now > then else 0.0
        remaining = (self._until - time) / rate if rate > 0 else None
        statistics = integration.statistics()
        detail = {name: int(statistics[name]) for name in _REPORTED if name in statistics}
        return ProgressReport(time, self._until, int(statistics.get("steps", 0)), rate, remaining, detail)


class Progress:
    """The observer that calls `show` at most ten times a second, and once more at the end."""

    def __init__(self, show: Callable[[ProgressReport], None]) -> None:
        self._show = show
        self._pace = Pace(_EVERY)

    def begin(self, integration: Integration, until: float) -> None:
        self._pace.start(integration, until)

    def see(self, integration: Integration, *, at_event: bool) -> Outcome | None:
        if self._pace.due():
            self._show(self._pace.report(integration))
        return None

    def end(self, integration: Integration) -> None:
        self._show(self._pace.report(integration))


def show_line(report: ProgressReport) -> None:
    """One line on stderr that overwrites itself: `progress=True`."""
    remaining = "" if report.remaining is None else f", {report.remaining:.0f} s left"
    sys.stderr.write(f"\rt = {report.time:.4g} of {report.until:.4g}, {report.steps} steps{remaining}\033[K")
    sys.stderr.flush()
