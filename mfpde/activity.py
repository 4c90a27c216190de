"""What is being done: work that takes long says so on its way, and whoever shows it to people listens.

Whatever listens only looks. It may end the work by an exception; it cannot change what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["doing", "told_to"]

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def doing(words: str) -> None:
    """Say what is being done; called between pieces of work of less than a second, where that is possible."""
    listener = _listener.get()
    if listener is not None:
        listener(words)


@contextmanager
def told_to(listener: Callable[[str], None]) -> Iterator[None]:
    """While the block lasts, what this thread does is told to `listener`.

    >>> with told_to(print):
    ...     doing("pilot on 64 cells")
    pilot on 64 cells
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
