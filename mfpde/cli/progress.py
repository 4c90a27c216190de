"""How far a run has come: a bar on a terminal, a line now and then elsewhere. On stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mfpde.observe.progress import ProgressReport

__all__ = ["display", "duration", "line"]

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def display(quiet: bool) -> Iterator[bool | Callable[[ProgressReport], None]]:
    """What `solve` is to call as its `progress` while the block lasts; False when nothing is to be shown."""
    if quiet:
        yield False
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _Lines()


class _Lines:
    """One plain line at most every few seconds: for log files."""

    def __init__(self) -> None:
        self._last: float | None = None

    def __call__(self, report: ProgressReport) -> None:
        now = time.monotonic()
        if self._last is None:  # the wait is for the run, not for what came before it
            self._last = now
        elif now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            click.echo(line(report), err=True)


@contextmanager
def _bar() -> Iterator[Callable[[ProgressReport], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=16), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=None)

        def show(report: ProgressReport) -> None:
            progress.update(task, total=report.until, completed=report.time, description=line(report))

        yield show


def line(report: ProgressReport) -> str:
    """`t = 3.2 of 40, 120 steps, rate 0.8/s, 46 s left, modes 128`."""
    parts = [f"t = {report.time:.4g} of {report.until:.4g}", f"{report.steps} steps"]
    if report.rate:
        parts.append(f"{report.rate:.3g} per second")
    if report.remaining is not None:
        parts.append(f"{duration(report.remaining)} left")
    parts += [f"{value} {name}" for name, value in report.detail.items()]
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Seconds in the units people think in.

    >>> duration(0.25), duration(95), duration(7500)
    ('0.25 s', '1 min 35 s', '2 h 5 min')
    """
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min {int(seconds) % 60} s"
    return f"{minutes // 60} h {minutes % 60} min"
