"""How calls are timed."""

import time
from collections.abc import Callable
from typing import Any

__all__ = ["best"]

_SECONDS_MIN = 0.3  # of all calls: what takes milliseconds is otherwise timed while caches and clocks warm up


def best(function: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of the fastest of so many calls or more, after one that compiles."""
    function()
    times: list[float] = []
    while len(times) < repeats or sum(times) < _SECONDS_MIN:
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)
