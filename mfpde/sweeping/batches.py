"""The points that are still to be solved, in batches of about as much work as pays for sending them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from mfpde.workers import Task

__all__ = ["Batches", "ranges_of"]

_BATCH_SECONDS = 0.25  # of work: sending a batch takes a thousandth of it, and people see progress
_GROWTH = 4  # times as many points as in the largest batch so far, at most: the first ones may have been quick
_LEFT_SHARE = 0.25  # of what is left for each worker, at most, so that all end together
_COMPILING_SECONDS_MAX = 120.0  # that others wait for the first point, which compiles what all points share


class Batches:
    """Makes tasks when workers ask for them; `sent` are their ranges of points, by number of the task.

    The first task is one point alone; workers that ask meanwhile get ready. From then on batches are as long as what
    was `learned` of the time that a point takes says.
    """

    def __init__(
        self, function: str, before: tuple[object, ...], after: tuple[object, ...], todo: Iterable[range], workers: int
    ) -> None:
        """Tasks call `function(*before, first, stop, *after)`."""
        self._function, self._before, self._after = function, before, after
        self._todo = list(todo)[::-1]
        self._left = sum(map(len, self._todo))
        self._workers = max(workers, 1)
        self._point_seconds: float | None = None
        self._largest = 1
        self._first = threading.Event()
        self.sent: list[range] = []
        self.ready: Task | None = None  # what others do while the first point is under way
        self.alone = False  # every point is a task of its own

    def __iter__(self) -> Iterator[Task]:
        if self._todo:
            yield self._next()
            for _ in range(self._workers - 1 if self.ready is not None and not self.alone else 0):
                self.sent.append(range(0))
                assert self.ready is not None  # noqa: S101 - for the type checker
                yield self.ready
            if self.ready is not None:
                self._first.wait(_COMPILING_SECONDS_MAX)
        while self._todo:
            yield self._next()

    @property
    def under_way(self) -> bool:
        """Whether the first answer is there."""
        return self._first.is_set()

    def learn(self, seconds: float, points: int) -> None:
        """So many points have taken so long. What the first one took is not typical: it may have compiled."""
        if self._first.is_set() and points:
            mean = seconds / points
            old = self._point_seconds
            self._point_seconds = mean if old is None else 0.5 * (old + mean)
        self._first.set()

    def _next(self) -> Task:
        batch, rest = self._split(self._todo.pop(), self._size())
        if rest:
            self._todo.append(rest)
        self._left -= len(batch)
        self.sent.append(batch)
        return Task(self._function, (*self._before, batch.start, batch.stop, *self._after))

    def _size(self) -> int:
        if self._point_seconds is None or self.alone:
            return 1
        wanted = int(_BATCH_SECONDS / max(self._point_seconds, 1e-9))
        fair = int(_LEFT_SHARE * self._left / self._workers)
        size = max(1, min(wanted, _GROWTH * self._largest, fair))
        self._largest = max(self._largest, size)
        return size

    @staticmethod
    def _split(points: range, size: int) -> tuple[range, range]:
        return points[:size], points[size:]


def ranges_of(numbers: Iterable[int]) -> Iterator[range]:
    """Ascending numbers as ranges without gaps.

    >>> list(ranges_of([0, 1, 2, 5, 7, 8]))
    [range(0, 3), range(5, 6), range(7, 9)]
    """
    found = range(0)
    for number in numbers:
        if found and number == found.stop:
            found = range(found.start, number + 1)
        else:
            if found:
                yield found
            found = range(number, number + 1)
    if found:
        yield found
