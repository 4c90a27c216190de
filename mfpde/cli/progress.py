"""Progress of a run on stderr: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import click

from mfpde.watching.heartbeat import Heartbeat
from mfpde.watching.progress import ProgressReport

__all__ = ["display", "duration", "line"]

SECONDS_BETWEEN_LINES = 5.0  # where standard error is no terminal
SECONDS_BEFORE_FIRST = 0.8  # of a set-up: something is shown within the first second
_HEARTBEAT_SECONDS = 0.25  # between two checks whether there is anything new to show
_STARTING = ProgressReport(0.0, 0.0, 0, 0.0, None, doing="starting")


@contextmanager
def display(quiet: bool) -> Iterator[bool | Callable[[ProgressReport], None]]:
    """What `solve` is to call as its `progress` while the block lasts; False when nothing is to be shown."""
    if quiet:
        yield False
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        lines = _Lines()
        heart = Heartbeat(_HEARTBEAT_SECONDS, lines.again)
        try:
            yield lines
        finally:
            heart.stop()


class _Lines:
    """One plain line at most every few seconds, the first of a set-up after one: for log files."""

    def __init__(self) -> None:
        self._last: float | None = None  # when a line was shown
        self._report = _STARTING
        self._heard = time.perf_counter()
        self._first = True
        self._lock = threading.Lock()

    def __call__(self, report: ProgressReport) -> None:
        with self._lock:
            self._report, self._heard = report, time.perf_counter()
            self._show(report)

    def again(self) -> None:
        """Show the last report again where there is no newer one."""
        with self._lock:
            silence = time.perf_counter() - self._heard
            if silence >= _HEARTBEAT_SECONDS:
                self._show(replace(self._report, elapsed=self._report.elapsed + silence))

    def _show(self, report: ProgressReport) -> None:
        now = time.monotonic()
        if self._last is None:  # the wait is for the run, not for what came before it
            self._last = now
        elif now - self._last >= (SECONDS_BEFORE_FIRST if self._first and report.doing else SECONDS_BETWEEN_LINES):
            self._last, self._first = now, False
            click.echo(line(report), err=True)


@contextmanager
def _bar() -> Iterator[Callable[[ProgressReport], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(bar_width=16), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=None)

        def show(report: ProgressReport) -> None:
            total = None if report.doing else report.until  # the bar swings to and fro during the set-up
            progress.update(task, total=total, completed=report.time, description=report.doing or line(report))

        yield show


def line(report: ProgressReport) -> str:
    """`t = 3.2 of 40, 120 steps, 0.8 of t per second, 46 s left, 128 modes`; or what is being done before that."""
    if report.doing:
        return f"{report.doing}, {duration(report.elapsed)} so far"
    parts = [report.words]
    if report.rate:
        counted = f" of {report.label.removesuffix(' =')}" if report.label.endswith("=") else ""  # t, and no steps
        parts.append(f"{report.rate:.3g}{counted} per second")
    if report.remaining is not None:
        parts.append(f"{duration(report.remaining)} left")
    parts += [f"{value} {name}" for name, value in report.detail.items()]
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Seconds in the units people think in.

    >>> duration(0.25), duration(95), duration(7500), duration(1e6), duration(1e120)
    ('0.25 s', '1 min 35 s', '2 h 5 min', '11 days', 'more than a year')
    """
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min {int(seconds) % 60} s"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    days = minutes // (24 * 60)
    return f"{days} days" if days <= 365 else "more than a year"
