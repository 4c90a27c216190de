"""What watches a piece of work from its first moment on: signals, and whatever shows people that it is alive."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from mfpde.activity import told_to
from mfpde.arguments import instance
from mfpde.contracts import Watched
from mfpde.watching.interruption import Interruption
from mfpde.watching.progress import ProgressReport, ProgressReporter, Reporter, show_line
from mfpde.watching.status import StatusFile

__all__ = ["Show", "Watch", "check_progress"]

#: what users give as `progress`: True is a line on stderr
Show = bool | Callable[[ProgressReport], None]


def check_progress(progress: object) -> None:
    """Fail for anything else."""
    if not isinstance(progress, bool):
        instance("progress", progress, Callable, "True, False or a function that takes a ProgressReport")  # type: ignore[arg-type]


class Watch:
    """While this context lasts, `progress` shows how far the work is, and `interruption` tells when it is to stop: the
    first signal ends it at once until it has begun, later the work is asked.

    >>> from types import SimpleNamespace
    >>> with Watch(end=3, progress=lambda report: print(report.words)) as watch:
    ...     work = SimpleNamespace(position=0, end=3, label="point", counts=dict)
    ...     watch.begin(work)
    ...     while work.position < work.end and not watch.interruption.asked:
    ...         work.position += 1
    ...         watch.see()
    ...     watch.done()
    point 3 of 3
    """

    def __init__(self, end: float, progress: Show) -> None:
        self.interruption = Interruption(patient=False)
        self._end = end
        self._show = show_line if progress is True else progress or None
        self._reporters: list[Reporter] = []
        self._open = ExitStack()

    def __enter__(self) -> Watch:
        self._open.enter_context(self.interruption)
        self._open.enter_context(told_to(self._say))
        if self._show is not None:
            self._add(ProgressReporter(self._show, self._end))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def write_status(self, path: Path) -> None:
        """From now on, beside the output."""
        self._add(StatusFile(path, self._end))

    def begin(self, work: Watched, *, patient: bool = True) -> None:
        """The first step comes; from now on patient work asks itself from time to time whether it is to stop."""
        self.interruption.patient = patient
        for reporter in self._reporters:
            reporter.begin(work)

    def see(self) -> None:
        """After a piece of the work."""
        for reporter in self._reporters:
            reporter.see()

    def done(self) -> None:
        """After the last one."""
        for reporter in self._reporters:
            reporter.end()

    def _add(self, reporter: Reporter) -> None:
        self._reporters.append(reporter)
        self._open.callback(reporter.close)

    def _say(self, words: str) -> None:
        if self.interruption.asked and not self.interruption.patient:  # somebody has swallowed the exception
            raise KeyboardInterrupt
        for reporter in self._reporters:
            reporter.say(words)
