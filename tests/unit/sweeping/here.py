"""Workers in this process: what a sweep does without the seconds that processes take to start."""

from collections.abc import Callable, Iterable, Iterator

from mfpde.workers import Answer, Task
from mfpde.workers.worker import answer


class Here:
    """Does tasks one after another; `dies` says of which a worker would die, by the points that it was to solve."""

    def __init__(self, dies: Callable[[range], bool] = lambda _: False, processes: int = 1) -> None:
        self.processes = processes
        self.batches: list[range] = []
        self.closed = False
        self._dies = dies

    def awaited(self, tasks: Iterable[Task], seconds: float | None) -> Iterator[Answer | None]:
        for number, task in enumerate(tasks):
            yield None
            points = range(*task.arguments[1:3]) if task.arguments else range(0)
            self.batches.append(points)
            if self._dies(points):
                yield Answer(number, None, "its worker process died (signal 9)")
            else:
                yield Answer(number, *answer(task.function, task.arguments))

    def close(self) -> None:
        self.closed = True
