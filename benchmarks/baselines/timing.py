"""How calls are timed."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["best", "best_after"]

_Made = TypeVar("_Made")
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


def best_after(make: Callable[[], _Made], function: Callable[[_Made], Any], repeats: int) -> float:
    """Seconds of the processor of the fastest call with what is made anew, unclocked, for each."""
    times: list[float] = []

    def both() -> None:
        made = make()
        start = time.process_time()
        function(made)
        times.append(time.process_time() - start)

    best(both, repeats)
    return min(times)
