"""How calls are timed."""

import time
from collections.abc import Callable
from typing import Any

__all__ = ["best"]


def best(function: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds, after one call that compiles."""
    function()
    times = []
    for _ in range(repeats):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)
