"""Points on a Dask cluster: the same tasks, handed to whatever workers its scheduler has."""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from mfpde._version import __version__
from mfpde.errors import MfpdeError
from mfpde.registry import own_modules
from mfpde.workers import Answer, Task, Workers, known_here_alone
from mfpde.workers.worker import answer_elsewhere, version_here

__all__ = ["Cluster", "ClusterLostError"]

_ANSWER_SECONDS_MAX = 10  # until a scheduler counts as absent: promised
_WORKERS_SECONDS_MAX = 60  # that a scheduler without any worker is given to get one
_TASKS_PER_THREAD = 2  # under way or waiting at a worker: it never waits for the next
_LOOK_SECONDS = 1.0  # between two looks whether the scheduler is still there
#: of Dask, which has a level of its own for most
_LOGGERS = ("asyncio", "distributed", "distributed.client", "distributed.comm", "distributed.core", "distributed.utils")
_LAST, _FAILURE = -1, -2  # news that is no number of a task
_INSTALL = 'a scheduler needs Dask, which is not installed: pip install "mfpde[sweep]"'


class ClusterLostError(MfpdeError):
    """The scheduler has gone away in the middle of a sweep, or a worker came that cannot go on with it."""


class Cluster(Workers):
    """The workers of the scheduler at an address. They may come and go; tasks of one that dies are done by another."""

    def __init__(self, address: str) -> None:
        why = known_here_alone()
        if why:
            raise MfpdeError(f"{why}; put them in a module that the workers of a scheduler can import")
        try:
            from distributed import Client
        except ImportError:
            raise MfpdeError(_INSTALL) from None
        self.address = address
        for name in _LOGGERS:  # what is wrong is told in a sentence of ours
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        _need_answer(address)
        self._client = Client(address, timeout=_ANSWER_SECONDS_MAX, set_as_default=False)
        try:
            self._need_workers()
            self._need_single_threads()
            self._need_same_version()
        except BaseException:
            self._client.close(timeout=_LOOK_SECONDS)
            raise

    @property
    def processes(self) -> int:
        return max(sum(self._threads().values()), 1)

    def awaited(self, tasks: Iterable[Task], seconds: float | None) -> Iterator[Answer | None]:
        """As `Workers.awaited`; `ClusterLostError` when there is no scheduler any more."""
        course = _Course(self, self._client, tasks)
        threading.Thread(target=course.feed, daemon=True).start()
        return course.answers(min(seconds or _LOOK_SECONDS, _LOOK_SECONDS))

    def close(self) -> None:
        """Cancel what is under way; the cluster itself stays."""
        with suppress(Exception):
            self._client.close(timeout=_LOOK_SECONDS)

    def answered(self, number: int, future: Any) -> Answer:
        """What became of a task."""
        if future.status == "finished":
            version, value, error = future.result(timeout=_ANSWER_SECONDS_MAX)
            if version != __version__:
                raise ClusterLostError(f"a worker came {_other_version(version)}")
            return Answer(number, value, error)
        self.need_scheduler()
        if future.status == "error":
            error = future.exception(timeout=_ANSWER_SECONDS_MAX)
            died = type(error).__name__ == "KilledWorker"
            told = "its worker processes died" if died else f"{type(error).__name__}: {error}"
            return Answer(number, None, told, died)
        raise ClusterLostError(f"the scheduler at {self.address} has dropped what it was to do")

    def need_scheduler(self) -> None:
        """Fail when it is gone."""
        if self._client.status != "running":
            raise ClusterLostError(f"the scheduler at {self.address} went away")

    def _threads(self) -> dict[str, int]:
        """Of each worker, by address."""
        found: dict[str, int] = self._client.nthreads()
        return found

    def _need_workers(self) -> None:
        from distributed import TimeoutError as Late

        try:
            self._client.wait_for_workers(1, timeout=_WORKERS_SECONDS_MAX)
        except Late:
            told = f"the scheduler at {self.address} has no workers: dask worker {self.address} --nthreads 1"
            raise MfpdeError(told) from None

    def _need_single_threads(self) -> None:
        wide = [address for address, threads in self._threads().items() if threads > 1]
        if wide:
            raise MfpdeError(f"worker {wide[0]} has more than one thread; start it with --nthreads 1")

    def _need_same_version(self) -> None:
        for address, version in self._client.run(version_here, on_error="return").items():
            if isinstance(version, BaseException):
                raise MfpdeError(f"worker {address} cannot import mfpde: {type(version).__name__}: {version}")
            if version != __version__:
                raise MfpdeError(f"worker {address} came {_other_version(version)}")


def _need_answer(address: str) -> None:
    """Fail where no scheduler answers. A `Client` that got no answer closes itself for 20 s more, and in a traceback;
    what answers in another language than Dask's can make it fail in any way."""
    asked = ThreadPoolExecutor(1).submit(asyncio.run, _identity(address))  # a notebook has a loop in its own thread
    try:
        kind = asked.result()
    except Exception as error:  # noqa: BLE001 - of whoever answers there
        why = f": {error}" if isinstance(error, ValueError | TypeError) else ""
        told = f"no scheduler answers at {address} within {_ANSWER_SECONDS_MAX} s{why}"
        raise MfpdeError(f"{told}; dask scheduler starts one, tcp://HOST:8786") from None
    if kind != "Scheduler":
        raise MfpdeError(f"a {kind} answers at {address}, and no scheduler; workers and clients have its address")


async def _identity(address: str) -> str:
    """What kind of server of Dask it is."""
    from distributed.comm.core import connect

    async def asked() -> str:
        comm = await connect(address, timeout=_ANSWER_SECONDS_MAX)
        try:
            await comm.write({"op": "identity", "reply": True})
            return str((await comm.read())["type"])
        finally:
            await comm.close()

    return await asyncio.wait_for(asked(), _ANSWER_SECONDS_MAX)


def _other_version(version: str) -> str:
    return f"with mfpde {version}, and the sweep is of mfpde {__version__}: values would not be those of one program"


class _Course:
    """Tasks on their way: a thread hands over new ones when workers have room, for their source may make it wait."""

    def __init__(self, cluster: Cluster, client: Any, tasks: Iterable[Task]) -> None:
        self._cluster, self._client, self._tasks = cluster, client, tasks
        self._modules = own_modules()
        self._waiting: dict[int, Any] = {}
        self._freed = threading.Event()
        self._news: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._count: int | None = None  # of all tasks, once it is known

    def feed(self) -> None:
        """Hand over all tasks; what keeps this thread from it is news, too."""
        number = -1
        try:
            for number, task in enumerate(self._tasks):
                while len(self._waiting) >= _TASKS_PER_THREAD * self._cluster.processes:
                    self._freed.wait(_LOOK_SECONDS)
                    self._freed.clear()
                future = self._client.submit(answer_elsewhere, os.getpid(), *task, self._modules, pure=False)
                self._waiting[number] = future
                future.add_done_callback(partial(self._tell, number))
        except BaseException as error:  # noqa: BLE001 - of the source of tasks, or of a client that lost its scheduler
            self._news.put((_FAILURE, error))
        else:
            self._news.put((_LAST, number + 1))

    def answers(self, seconds: float) -> Iterator[Answer | None]:
        """As they come, and None after so many seconds without."""
        given = 0
        while self._count is None or given < self._count:
            try:
                number, news = self._news.get(timeout=seconds)
            except queue.Empty:
                self._cluster.need_scheduler()
                yield None
                continue
            if number == _FAILURE:
                self._cluster.need_scheduler()
                raise news
            if number == _LAST:
                self._count = news
                continue
            given += 1
            self._waiting.pop(number, None)
            self._freed.set()
            yield self._cluster.answered(number, news)

    def _tell(self, number: int, future: Any) -> None:
        self._news.put((number, future))
