"""Workers: whoever does tasks, in processes of this machine, on others, or in this process."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self

__all__ = ["Answer", "Task", "Workers", "usable_processors"]


class Task(NamedTuple):
    """A function of a module, `module:name`, and what it is called with; all of it can be pickled."""

    function: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Answer:
    """What a task, by its number, came to: a value, or an error in words. `died` says that the error is the end of its
    worker process, `late` that this was ended because the task had had its time."""

    number: int
    value: Any = None
    error: str = ""
    died: bool = False
    late: bool = False


class Workers(ABC):
    """Wherever tasks are done; what is left of them ends with the `with` block."""

    #: what is to be said of how tasks are done
    notes: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    @abstractmethod
    def processes(self) -> int:
        """How many tasks are done at a time."""

    @abstractmethod
    def awaited(self, tasks: Iterable[Task], seconds: float | None) -> Iterator[Answer | None]:
        """Answers as they come, and None whenever so many seconds have brought none. Tasks are taken from their source
        when there is somebody to do them."""

    @abstractmethod
    def close(self) -> None:
        """End what is under way."""

    def answers(self, tasks: Iterable[Task]) -> Iterator[Answer]:
        """In the order in which they come."""
        return (answer for answer in self.awaited(tasks, None) if answer is not None)


def usable_processors() -> int:
    """Those that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
