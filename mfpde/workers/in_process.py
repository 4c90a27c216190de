"""Tasks in this process, one after the other, where others lack what they need."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Protocol

from mfpde.registry import own_modules
from mfpde.workers.pool import Answer, Pool, Task
from mfpde.workers.worker import answer

__all__ = ["InProcess", "Processes", "processes_for"]


class Processes(Protocol):
    """What answers tasks."""

    #: what is to be said of how it does
    notes: tuple[str, ...]

    @property
    def processes(self) -> int:
        """How many tasks are done at a time."""

    def __enter__(self) -> Processes: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def answers(self, tasks: Iterable[Task]) -> Iterator[Answer]:
        """In the order in which they come."""


class InProcess:
    """No other process: tasks are answered where they are asked, with all threads.

    >>> with InProcess() as here:
    ...     [answer.value for answer in here.answers([Task("math:sqrt", (4.0,))])]
    [2.0]
    """

    processes = 1

    def __init__(self, notes: tuple[str, ...] = ()) -> None:
        self.notes = notes

    def __enter__(self) -> InProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def answers(self, tasks: Iterable[Task]) -> Iterator[Answer]:
        """In the order of the tasks."""
        for number, task in enumerate(tasks):
            yield Answer(number, *answer(*task))


def processes_for(count: int) -> Processes:
    """So many worker processes, which import the modules in which a user's parts are registered; none where that is
    the script that runs, which nobody would run again, or what was typed."""
    modules = own_modules()
    lacking = [name for name in modules if not _can_be_imported(name)]
    if lacking:
        words = f"parts registered in {', '.join(lacking)} are known to this process alone"
        return InProcess((f"tokens were moved one system after the other: {words}, put them in a module for more",))
    return Pool(count, modules)


def _can_be_imported(name: str) -> bool:
    found = None
    if name != "__main__":
        with suppress(ImportError, ValueError):
            found = importlib.util.find_spec(name)
    return found is not None
