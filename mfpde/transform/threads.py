"""Threads over independent pieces of work.

Kernels release the interpreter's lock, so plain threads are enough: no second compilation for a parallel version, and
no threading layer that fails in a forked process. Results of a piece do not depend on the thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

__all__ = ["pieces", "run_pieces", "thread_count"]

_MIN_NUMBERS_TO_SPLIT = 20_000  # a thread with fewer costs more than it saves

_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}
_lock = threading.Lock()
_here = threading.local()


def thread_count() -> int:
    """The setting of numba: NUMBA_NUM_THREADS, or `numba.set_num_threads`."""
    import numba
    from numba.np.ufunc import parallel

    if getattr(parallel, "_is_initialized", False):  # asking otherwise would start numba's own threads
        return int(numba.get_num_threads())
    return int(vars(numba.config)["NUMBA_NUM_THREADS"])


def _pool(threads: int) -> ThreadPoolExecutor:
    with _lock:
        key = (os.getpid(), threads)  # a forked process inherits the pool, but not its threads
        if key not in _pools:
            _pools[key] = ThreadPoolExecutor(threads, thread_name_prefix="mfpde")
        return _pools[key]


def run_pieces(work: Callable[[int], Any], count: int, numbers: int = _MIN_NUMBERS_TO_SPLIT) -> None:
    """work(0) .. work(count - 1), in any order. Nested calls, and calls on few `numbers`, run serially in the
    calling thread."""
    threads = (
        1
        if count <= 1 or numbers < _MIN_NUMBERS_TO_SPLIT or getattr(_here, "busy", False)
        else min(thread_count(), count)
    )
    if threads <= 1:
        for piece in range(count):
            work(piece)
        return
    left = iter(range(count))  # shared by all threads
    # in this thread's context, of which numpy's handling of overflows is part
    others = [_pool(threads).submit(copy_context().run, _take, work, left) for _ in range(1, threads)]
    _take(work, left)
    for other in others:
        other.result()


def _take(work: Callable[[int], Any], left: Iterator[int]) -> None:
    _here.busy = True
    try:
        for piece in left:
            work(piece)
    finally:
        _here.busy = False


def pieces(length: int, size: int) -> list[tuple[int, int]]:
    """[0, length) in pieces of at most `size`, by sizes only."""
    return [(start, min(start + size, length)) for start in range(0, length, size)]
