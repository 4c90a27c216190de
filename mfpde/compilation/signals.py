"""Signals while LLVM makes machine code: it calls back into Python, where what their handlers raise would be lost.

Handlers run as soon as Python does, which after seconds in LLVM is the function that takes the machine code. ctypes
prints what a handler raises there and goes on without the code: a Ctrl-C ended as "no compiled object yet".
"""

# numba's types cover what it documents, and these are its insides
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["hold_signals", "signals_held"]

_SIGNALS = signal.SIGINT, signal.SIGTERM


@contextmanager
def signals_held() -> Iterator[None]:
    """Signals that come meanwhile go to their handlers afterwards. Those without a handler in Python, and threads
    other than the main one, which get none, are left alone."""
    held: list[int] = []
    previous: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        previous = {number: handler for number in _SIGNALS if callable(handler := signal.getsignal(number))}
    for number in previous:
        signal.signal(number, lambda arrived, _: held.append(arrived))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    for number in held:
        signal.raise_signal(number)


def hold_signals(context: Any) -> None:
    """While LLVM makes or loads machine code for this context of numba's, which has one engine for all of it."""
    engine = context.codegen()._engine
    if "finalize_object" in vars(engine):
        return
    plain = engine.finalize_object

    def finalize_object() -> None:
        with signals_held():
            plain()

    engine.finalize_object = finalize_object
