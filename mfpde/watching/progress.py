"""How far a piece of work is and how long it will still take."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter

from mfpde.contracts import Watched
from mfpde.watching.heartbeat import Heartbeat

__all__ = ["Pace", "ProgressReport", "ProgressReporter", "Reporter", "show_line"]

_SECONDS_BETWEEN_REPORTS = 0.1  # a terminal shows no more
_SECONDS_BETWEEN_LINES = 1.0  # after which a line is shown again when there is nothing new
_RATE_SECONDS = 10.0  # the rate is an average over so many: step sizes change


@dataclass(frozen=True)
class ProgressReport:
    """Where a run, or any other work, stands: `rate` is simulated time per second of wall time, `remaining` an estimate
    in seconds.

    `doing` says what else is going on than steps, such as the set-up; `elapsed` is the wall time so far, in seconds.
    `label` is what stands before the time where that is another position: `point`.
    """

    time: float
    until: float
    steps: int | None
    rate: float
    remaining: float | None
    detail: dict[str, int] = field(default_factory=dict)
    doing: str = ""
    elapsed: float = 0.0
    label: str = "t ="

    @property
    def words(self) -> str:
        """`t = 3.2 of 40, 120 steps`."""
        steps = "" if self.steps is None else f", {self.steps} steps"
        return f"{self.label} {self.time:.4g} of {self.until:.4g}{steps}"


class Pace:
    """Measures the rate of a piece of work."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self._seen: deque[tuple[float, float]] = deque()

    @property
    def elapsed(self) -> float:
        """Seconds since this was made."""
        return perf_counter() - self._began

    def start(self, watched: Watched) -> None:
        """The first step is about to come."""
        self._seen.append((perf_counter(), watched.position))

    def report(self, watched: Watched) -> ProgressReport:
        """The state of affairs."""
        now, position, end = perf_counter(), watched.position, watched.end
        self._seen.append((now, position))
        while len(self._seen) > 2 and now - self._seen[1][0] > _RATE_SECONDS:
            self._seen.popleft()
        then, before = self._seen[0]
        rate = (position - before) / (now - then) if now > then else 0.0
        remaining = (end - position) / rate if rate > 0 else None
        counts = dict(watched.counts())
        steps = counts.pop("steps", None)
        return ProgressReport(position, end, steps, rate, remaining, counts, elapsed=self.elapsed, label=watched.label)


class Reporter:
    """Calls `show` at most every so many seconds, from the set-up of a piece of work to its `end`.

    `beating`: when nothing is heard of it for so many seconds, the last report is shown again by a thread, which never
    looks at the work itself. Without it `show` is called by the thread that the work is in, and no other.
    """

    def __init__(
        self, show: Callable[[ProgressReport], None], every: float, end: float, beating: float | None = None
    ) -> None:
        self._show, self._every = show, every
        self._pace = Pace()
        self._watched: Watched | None = None
        self._last = ProgressReport(0.0, end, 0, 0.0, None, doing="starting")
        self._heard = perf_counter()
        self._told = self._shown = self._heard - 0.5 * every  # what is over at once shows nothing
        self._lock = threading.Lock()
        self._heart = None if beating is None else Heartbeat(0.5 * beating, lambda: self._beat(beating))

    def say(self, words: str) -> None:
        """What is being done between steps, or before the first one."""
        self._last = replace(self._last, doing=words)
        if self._due():
            self._tell(replace(self._last, elapsed=self._pace.elapsed))

    def begin(self, watched: Watched) -> None:
        """Before the first step."""
        self._watched = watched
        self._pace.start(watched)
        self._last, self._told = self._pace.report(watched), perf_counter()
        self._shown = self._told

    def see(self) -> None:
        """After a piece of work."""
        if self._watched is not None and self._due():
            self._tell(self._pace.report(self._watched))

    def end(self) -> None:
        """After the last step."""
        if self._watched is not None:
            self._tell(self._pace.report(self._watched))

    def close(self) -> None:
        """Nothing is shown any more."""
        if self._heart is not None:
            self._heart.stop()

    def _due(self) -> bool:
        self._heard = perf_counter()
        return self._heard - self._told >= self._every  # news do not wait because old ones were shown again

    def _tell(self, report: ProgressReport) -> None:
        with self._lock:
            self._last, self._told = report, perf_counter()
            self._shown = self._told
            self._show(report)

    def _beat(self, seconds: float) -> None:
        with self._lock:
            if perf_counter() - max(self._heard, self._shown) >= seconds:
                self._shown = perf_counter()
                self._show(replace(self._last, elapsed=self._pace.elapsed))


class ProgressReporter(Reporter):
    """The reporter that calls `show` at most ten times a second, and once more at the end."""

    def __init__(self, show: Callable[[ProgressReport], None], end: float) -> None:
        super().__init__(show, _SECONDS_BETWEEN_REPORTS, end, _SECONDS_BETWEEN_LINES if show is show_line else None)


def show_line(report: ProgressReport) -> None:
    """One line on stderr that overwrites itself: `progress=True`."""
    if report.doing:
        text = f"{report.doing}, {report.elapsed:.0f} s so far"
    else:
        remaining = "" if report.remaining is None else f", {report.remaining:.0f} s left"
        text = f"{report.words}{remaining}"
    sys.stderr.write(f"\r{text}\033[K")
    sys.stderr.flush()
