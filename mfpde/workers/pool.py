"""A pool of worker processes."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from mfpde.workers.frames import read_frame, write_frame

__all__ = ["Answer", "Pool", "Task", "Workers", "usable_processors"]

#: set before NumPy is imported: every worker has one processor
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_LIVES = 2  # workers that may die of a task before it is given up
_SECONDS_TO_LEAVE = 5.0  # for a worker that was told to; then it is killed
_PROGRAM = "import sys; sys.path[:] = sys.argv[2:]; from mfpde.workers.worker import serve; serve(sys.argv[1].split())"


class Task(NamedTuple):
    """A function of a module, `module:name`, and what it is called with; all of it can be pickled."""

    function: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Answer:
    """What a task, by its number, came to: a value, or an error in words."""

    number: int
    value: Any = None
    error: str = ""


class Workers(Protocol):
    """Wherever tasks are done: in processes of this machine, or on others."""

    @property
    def processes(self) -> int:
        """How many tasks are done at a time."""

    def awaited(self, tasks: Iterable[Task], seconds: float | None) -> Iterator[Answer | None]:
        """Answers as they come, and None whenever so many seconds have brought none. Tasks are taken from their source
        when there is somebody to do them."""

    def close(self) -> None:
        """End what is under way."""


class Pool:
    """So many worker processes, which are started when there is something to do and wait for more until it is closed.

    A worker that dies is replaced, and its task is tried once more. Functions are found by name: nothing of a user's
    script is run again.

    >>> with Pool(2) as pool:
    ...     answers = list(pool.answers([Task("math:sqrt", (4.0,)), Task("math:sqrt", (-1.0,))]))
    >>> sorted((answer.number, answer.value, answer.error) for answer in answers)
    [(0, 2.0, ''), (1, None, 'ValueError: math domain error')]
    """

    notes: tuple[str, ...] = ()

    def __init__(self, processes: int, modules: Sequence[str] = ()) -> None:
        """modules: what workers import first."""
        self._processes, self._modules = processes, modules
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._idle: list[subprocess.Popen[bytes]] = []
        self._closed = False

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def processes(self) -> int:
        return self._processes

    def close(self) -> None:
        """End all workers, whatever they are doing."""
        with self._lock:
            self._closed = True
            for worker in self._running.difference(self._idle):
                worker.kill()
        for worker in self._idle:
            self._dismissed(worker)

    def answers(self, tasks: Iterable[Task]) -> Iterator[Answer]:
        """In the order in which they come. Tasks are taken from their source when a worker is free."""
        return (answer for answer in self.awaited(tasks, None) if answer is not None)

    def awaited(self, tasks: Iterable[Task], seconds: float | None) -> Iterator[Answer | None]:
        """The same, and None whenever so many seconds have brought no answer."""
        numbered, lock = enumerate(tasks), threading.Lock()
        done: queue.SimpleQueue[Answer | BaseException | None] = queue.SimpleQueue()

        def take() -> tuple[int, Task] | None:
            with lock:
                return next(numbered, None)

        threads = [
            threading.Thread(target=self._work, args=(take, done), daemon=True) for _ in range(max(self.processes, 1))
        ]
        for thread in threads:
            thread.start()
        left = len(threads)
        while left:
            try:
                found = done.get(timeout=seconds)
            except queue.Empty:
                yield None
                continue
            if found is None:
                left -= 1
            elif isinstance(found, BaseException):
                raise found
            else:
                yield found

    def _work(self, take: Any, done: queue.SimpleQueue[Answer | BaseException | None]) -> None:
        """The tasks of one worker, and of those that follow it."""
        worker: subprocess.Popen[bytes] | None = None
        try:
            while (item := take()) is not None:
                number, task = item
                for life in range(_LIVES):
                    worker = worker or self._woken()
                    try:
                        value, error = self._asked(worker, task)
                        break
                    except (EOFError, OSError):
                        code, worker = self._buried(worker), None
                        if self._closed or life + 1 == _LIVES:
                            value, error = None, f"its worker process died ({_death(code)})"
                            break
                done.put(Answer(number, value, error))
        except BaseException as error:  # noqa: BLE001 - of the source of tasks, or of a start that failed
            done.put(error)
        finally:
            if worker is not None:
                with self._lock:
                    self._idle.append(worker)
            done.put(None)

    def _woken(self) -> subprocess.Popen[bytes]:
        """One that has nothing to do, or a new one."""
        environment = os.environ | dict.fromkeys(_ONE_THREAD, "1")
        command = [sys.executable, "-c", _PROGRAM, " ".join(self._modules), *sys.path]
        with self._lock:
            if self._closed:
                raise OSError("the pool is closed")
            if self._idle:
                return self._idle.pop()
            worker = subprocess.Popen(  # noqa: S603 - this Python, and modules of ours
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
            self._running.add(worker)
        return worker

    @staticmethod
    def _asked(worker: subprocess.Popen[bytes], task: Task) -> tuple[Any, str]:
        assert worker.stdin is not None and worker.stdout is not None  # noqa: S101, PT018 - for the type checker
        write_frame(worker.stdin, tuple(task))
        value, error = read_frame(worker.stdout)
        return value, error

    def _buried(self, worker: subprocess.Popen[bytes]) -> int:
        worker.kill()
        code = worker.wait()
        self._forget(worker)
        return code

    def _dismissed(self, worker: subprocess.Popen[bytes]) -> None:
        """Told that nothing more comes."""
        assert worker.stdin is not None  # noqa: S101 - for the type checker
        try:
            worker.stdin.close()
            worker.wait(_SECONDS_TO_LEAVE)
        except (OSError, subprocess.TimeoutExpired):
            worker.kill()
            worker.wait()
        self._forget(worker)

    def _forget(self, worker: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._running.discard(worker)
        for stream in (worker.stdin, worker.stdout):
            if stream is not None:
                with suppress(OSError):  # what was not yet written to one that has gone
                    stream.close()


def _death(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def usable_processors() -> int:
    """Those that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
