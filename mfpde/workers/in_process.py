"""Tasks in this process, one after the other, where others lack what they need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mfpde.workers.worker import answer
from mfpde.workers.workers import Answer, Task, Workers

__all__ = ["InProcess"]


class InProcess(Workers):
    """No other process: tasks are answered where they are asked, with all threads.

    >>> with InProcess() as here:
    ...     [answer.value for answer in here.answers([Task("math:sqrt", (4.0,))])]
    [2.0]
    """

    def __init__(self, notes: tuple[str, ...] = ()) -> None:
        self.notes = notes

    @property
    def processes(self) -> int:
        return 1

    def awaited(self, tasks: Iterable[Task], seconds: float | None) -> Iterator[Answer | None]:
        """In the order of the tasks."""
        for number, task in enumerate(tasks):
            yield Answer(number, *answer(*task))

    def close(self) -> None:
        """Nothing: a task is done before anybody can ask for it."""
