"""A pool of worker processes."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from mfpde.errors import MfpdeError
from mfpde.workers.frames import read_frame, write_frame
from mfpde.workers.worker import BEGUN, LATE_SIGNAL
from mfpde.workers.workers import Answer, Task, Workers

__all__ = ["Pool"]

#: set before NumPy is imported: every worker has one processor
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_LIVES = 2  # workers that may die at a task before it is given up
_STARTS = 20  # workers in a row that may die before they begin a task: fewer are killed by chance, more are broken
_SECONDS_TO_LEAVE = 5.0  # for a worker that was told to; then it is killed
_PROGRAM = "import sys; sys.path[:] = sys.argv[2:]; from mfpde.workers.worker import serve; serve(sys.argv[1].split())"


class Pool(Workers):
    """So many worker processes, which are started when there is something to do and wait for more until it is closed.

    A worker that dies is replaced, and its task is tried once more; deaths while a worker starts or waits are not
    counted against a task. Functions are found by name: nothing of a user's script is run again.

    >>> with Pool(2) as pool:
    ...     answers = list(pool.answers([Task("math:sqrt", (4.0,)), Task("math:sqrt", (-1.0,))]))
    >>> sorted((answer.number, answer.value, answer.error) for answer in answers)
    [(0, 2.0, ''), (1, None, 'ValueError: math domain error')]
    """

    def __init__(self, processes: int, modules: Sequence[str] = ()) -> None:
        """modules: what workers import first."""
        self._processes, self._modules = processes, modules
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._idle: list[subprocess.Popen[bytes]] = []
        self._closed = False

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
            self._dismiss(worker)
        for worker in self._idle:
            self._awaited_end(worker)

    def awaited(self, tasks: Iterable[Task], seconds: float | None) -> Iterator[Answer | None]:
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
                worker, answer = self._tried(worker, *item)
                done.put(answer)
        except BaseException as error:  # noqa: BLE001 - of the source of tasks, or of a start that failed
            done.put(error)
        finally:
            if worker is not None:
                with self._lock:
                    self._idle.append(worker)
            done.put(None)

    def _tried(
        self, worker: subprocess.Popen[bytes] | None, number: int, task: Task
    ) -> tuple[subprocess.Popen[bytes] | None, Answer]:
        """The answer to a task, and the worker that gave it; None where the last one died."""
        lives, starts = _LIVES, _STARTS
        while True:
            worker, begun = worker or self._woken(), False
            try:
                begun = self._begins(worker, task)
                return worker, Answer(number, *self._heard(worker))
            except (EOFError, OSError):
                code, worker = self._buried(worker), None
            lives, starts = (lives - 1, _STARTS) if begun else (lives, starts - 1)
            late = code == -LATE_SIGNAL
            if self._closed or late or not lives:
                return None, Answer(number, None, f"its worker process died ({_death(code)})", True, late)
            if not starts:
                raise MfpdeError(f"worker processes die before they begin anything ({_death(code)})")

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
    def _begins(worker: subprocess.Popen[bytes], task: Task) -> bool:
        """Hand a task over, and wait until the worker has loaded what it needs."""
        assert worker.stdin is not None  # noqa: S101 - for the type checker
        write_frame(worker.stdin, tuple(task))
        return bool(Pool._heard(worker) == BEGUN)

    @staticmethod
    def _heard(worker: subprocess.Popen[bytes]) -> Any:
        """What it says next."""
        assert worker.stdout is not None  # noqa: S101 - for the type checker
        return read_frame(worker.stdout)

    def _buried(self, worker: subprocess.Popen[bytes]) -> int:
        worker.kill()
        code = worker.wait()
        self._forget(worker)
        return code

    @staticmethod
    def _dismiss(worker: subprocess.Popen[bytes]) -> None:
        """Tell it that nothing more comes."""
        assert worker.stdin is not None  # noqa: S101 - for the type checker
        try:
            worker.stdin.close()
        except OSError:
            worker.kill()

    def _awaited_end(self, worker: subprocess.Popen[bytes]) -> None:
        try:
            worker.wait(_SECONDS_TO_LEAVE)
        except subprocess.TimeoutExpired:
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
