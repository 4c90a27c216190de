"""What a worker process does: tasks from its standard input, answers to its standard output, until there are none."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from mfpde.errors import MfpdeError
from mfpde.workers.frames import read_frame, write_frame

__all__ = ["answer", "serve"]

_SECONDS_BETWEEN_LOOKS = 1.0  # for the parent: a worker does not outlive it by more


def serve(modules: Sequence[str]) -> None:
    """Answer tasks, `(function, arguments)` with the function as `module:name`, by `(value, error)`; all of them know
    the parts that the modules register."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the parent, which ends its workers
    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    tasks, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a task prints does not get between answers
    while True:
        try:
            function, arguments = read_frame(tasks)
            missing = _cannot_be_imported(modules)
            write_frame(answers, (None, missing) if missing else answer(function, arguments))
        except EOFError:
            return
        except BrokenPipeError:  # the parent was killed; what is left in the buffer cannot be written at exit either
            os._exit(1)


def _cannot_be_imported(modules: Sequence[str]) -> str:
    """What is wrong with the first that cannot; empty where all can."""
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:  # noqa: BLE001 - of a user's module
            return f"workers cannot import {module}: {type(error).__name__}: {error}"
    return ""


def answer(function: str, arguments: tuple[Any, ...]) -> tuple[Any, str]:
    """What a task comes to: a value, or an error in words."""
    module, _, name = function.partition(":")
    try:
        return getattr(importlib.import_module(module), name)(*arguments), ""
    except MfpdeError as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - an answer like any other
        return None, f"{type(error).__name__}: {error}"


def _follow(parent: int) -> NoReturn:
    """End when the parent has."""
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)
