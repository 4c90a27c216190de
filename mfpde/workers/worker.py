"""What a worker process does: tasks from its standard input, answers to its standard output, until there are none."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from mfpde._version import __version__
from mfpde.errors import MfpdeError
from mfpde.workers.frames import read_frame, write_frame

__all__ = ["BEGUN", "LATE_SIGNAL", "answer", "answer_elsewhere", "ended_after", "serve", "version_here"]

#: of a worker that is ended because what it does has had its time: the system sends it, compiled code or not
LATE_SIGNAL = int(getattr(signal, "SIGALRM", 14))
#: before the answer: if the worker dies from here on, that is counted against the task
BEGUN = "begun"
_SECONDS_BETWEEN_LOOKS = 1.0  # for the parent: a worker does not outlive it by more
#: set in processes that are there for tasks alone
_may_be_ended = threading.Event()


def serve(modules: Sequence[str]) -> NoReturn:
    """Answer tasks, `(function, arguments)` with the function as `module:name`, by `BEGUN` when what a task needs is
    loaded, and then by `(value, error)`; all of them know the parts that the modules register. The process then ends
    at once: to take apart what it had loaded, module by module, takes a quarter of the processor time that starting it
    took."""
    _may_be_ended.set()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the parent, which ends its workers
    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    tasks, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a task prints does not get between answers
    while True:
        try:
            function, arguments = read_frame(tasks)
            called = _loaded(function, modules)
            write_frame(answers, BEGUN)
            answered = _called(called, arguments)
            sys.stdout.flush()
            write_frame(answers, answered)
        except (EOFError, KeyboardInterrupt):  # nothing more comes, or SIGTERM was sent to parent and workers
            sys.stderr.flush()
            os._exit(0)
        except BrokenPipeError:  # the parent was killed
            os._exit(1)


def answer(function: str, arguments: tuple[Any, ...], modules: Sequence[str] = ()) -> tuple[Any, str]:
    """What a task comes to, where these modules are imported first: a value, or an error in words."""
    return _called(_loaded(function, modules), arguments)


def _loaded(function: str, modules: Sequence[str]) -> Callable[..., Any] | str:
    """A function by its name, after these modules are imported; what is wrong in words where one cannot be."""
    module, _, name = function.partition(":")
    for imported in (*modules, module):
        try:
            importlib.import_module(imported)
        except Exception as error:  # noqa: BLE001 - of a user's module
            return f"workers cannot import {imported}: {type(error).__name__}: {error}"
    found: Callable[..., Any] | None = getattr(sys.modules[module], name, None)
    return found or f"workers find no {function}"


def _called(function: Callable[..., Any] | str, arguments: tuple[Any, ...]) -> tuple[Any, str]:
    """A value, or an error in words."""
    if isinstance(function, str):
        return None, function
    try:
        return function(*arguments), ""
    except MfpdeError as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - an answer like any other
        return None, f"{type(error).__name__}: {error}"


def answer_elsewhere(
    asking: int, function: str, arguments: tuple[Any, ...], modules: Sequence[str]
) -> tuple[str, Any, str]:
    """For workers that others have started: this version of mfpde and the answer to the process of that number, which
    may be this one."""
    if os.getpid() != asking:
        _may_be_ended.set()
    return __version__, *answer(function, arguments, modules)


def version_here() -> str:
    """That of the mfpde which a worker has."""
    return __version__


@contextmanager
def ended_after(seconds: float | None) -> Iterator[None]:
    """A worker process whose block takes longer ends, whatever it is at; any other goes on."""
    if seconds is None or not _may_be_ended.is_set() or not hasattr(signal, "setitimer"):
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _follow(parent: int) -> NoReturn:
    """End when the parent has."""
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)
