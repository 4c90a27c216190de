"""How far a run is and how long it will still take."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING

from mfpde.contracts import Outcome
from mfpde.observe.heartbeat import Heartbeat

if TYPE_CHECKING:
    from mfpde.contracts.solver import Integration

__all__ = ["Pace", "Progress", "ProgressReport", "Reporter", "show_line"]

_EVERY = 0.1
_LINE_EVERY = 1.0  # seconds after which a line is shown again when there is nothing new
_WINDOW = 10.0  # seconds the rate is an average over: step sizes change
_REPORTED = ("modes", "cells", "particles", "nodes")


@dataclass(frozen=True)
class ProgressReport:
    """Where a run stands: `rate` is simulated time per second of wall time, `remaining` an estimate in seconds.

    `doing` says what else is going on than steps, such as the set-up; `elapsed` is the wall time so far, in seconds.
    """

    time: float
    until: float
    steps: int
    rate: float
    remaining: float | None
    detail: dict[str, int] = field(default_factory=dict)
    doing: str = ""
    elapsed: float = 0.0


class Pace:
    """Measures the rate of a run."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self._until = 0.0
        self._seen: deque[tuple[float, float]] = deque()

    @property
    def elapsed(self) -> float:
        """Seconds since this was made."""
        return perf_counter() - self._began

    def start(self, integration: Integration, until: float) -> None:
        """The first step is about to come."""
        self._until = until
        self._seen.append((perf_counter(), integration.time))

    def report(self, integration: Integration) -> ProgressReport:
        """The state of affairs."""
        now, time = perf_counter(), integration.time
        self._seen.append((now, time))
        while len(self._seen) > 2 and now - self._seen[1][0] > _WINDOW:
            self._seen.popleft()
        then, before = self._seen[0]
        rate = (time - before) / (now - then) if now > then else 0.0
        remaining = (self._until - time) / rate if rate > 0 else None
        statistics = integration.statistics()
        detail = {name: int(statistics[name]) for name in _REPORTED if name in statistics}
        steps = int(statistics.get("steps", 0))
        return ProgressReport(time, self._until, steps, rate, remaining, detail, elapsed=self.elapsed)


class Reporter:
    """Calls `show` at most every so many seconds, from the set-up of a run to its end.

    `beating`: when nothing is heard of the run for `beating` seconds, the last report is shown again by a thread, which
    never looks at the run itself. Without it `show` is called by the thread that the run is in, and no other.
    """

    def __init__(
        self, show: Callable[[ProgressReport], None], every: float, until: float, beating: float | None = None
    ) -> None:
        self._show, self._every = show, every
        self._pace = Pace()
        self._last = ProgressReport(0.0, until, 0, 0.0, None, doing="starting")
        self._heard = perf_counter()
        self._shown = self._heard - 0.5 * every  # what is over at once shows nothing
        self._lock = threading.Lock()
        self._heart = None if beating is None else Heartbeat(0.5 * beating, lambda: self._beat(beating))

    def say(self, words: str) -> None:
        """What is being done between steps, or before the first one."""
        self._last = replace(self._last, doing=words)
        if self._due():
            self._tell(replace(self._last, elapsed=self._pace.elapsed))

    def begin(self, integration: Integration, until: float) -> None:
        """Before the first step."""
        self._pace.start(integration, until)
        self._last, self._shown = self._pace.report(integration), perf_counter()

    def see(self, integration: Integration, *, at_event: bool) -> Outcome | None:
        """After a slice of work."""
        if self._due():
            self._tell(self._pace.report(integration))
        return None

    def end(self, integration: Integration) -> None:
        """After the last step."""
        self._tell(self._pace.report(integration))

    def close(self) -> None:
        """Nothing is shown any more."""
        if self._heart is not None:
            self._heart.stop()

    def _due(self) -> bool:
        self._heard = perf_counter()
        return self._heard - self._shown >= self._every

    def _tell(self, report: ProgressReport) -> None:
        with self._lock:
            self._last, self._shown = report, perf_counter()
            self._show(report)

    def _beat(self, seconds: float) -> None:
        with self._lock:
            if perf_counter() - max(self._heard, self._shown) >= seconds:
                self._shown = perf_counter()
                self._show(replace(self._last, elapsed=self._pace.elapsed))


class Progress(Reporter):
    """The reporter that calls `show` at most ten times a second, and once more at the end."""

    def __init__(self, show: Callable[[ProgressReport], None], until: float) -> None:
        super().__init__(show, _EVERY, until, _LINE_EVERY if show is show_line else None)


def show_line(report: ProgressReport) -> None:
    """One line on stderr that overwrites itself: `progress=True`."""
    if report.doing:
        text = f"{report.doing}, {report.elapsed:.0f} s so far"
    else:
        remaining = "" if report.remaining is None else f", {report.remaining:.0f} s left"
        text = f"t = {report.time:.4g} of {report.until:.4g}, {report.steps} steps{remaining}"
    sys.stderr.write(f"\r{text}\033[K")
    sys.stderr.flush()
