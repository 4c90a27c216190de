"""Compiled code on disk: one file for each kernel and signature, named after all that the code depends on.

So files never change, processes that compile the same at once write the same, and there is no index that they could
disagree about. A file begins with the hash of the rest: a damaged one is compiled again, not executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mfpde.compilation.folders import kept, mark_used, remove_unused
from mfpde.compilation.sources import source_digest, surroundings

__all__ = ["KernelCache", "KernelFiles", "watched"]

_HASH_BYTES = 32  # of sha256
_WATCHERS: list[Callable[[bool], None]] = []
_SWEPT: set[Path] = set()


@contextmanager
def watched(watcher: Callable[[bool], None]) -> Iterator[None]:
    """While this lasts, `watcher` is called whenever compiled code is needed for the first time: with True where it has
    to be compiled, which takes seconds, with False where it is kept."""
    _WATCHERS.append(watcher)
    try:
        yield
    finally:
        _WATCHERS.remove(watcher)


class KernelFiles:
    """The code of one function, of which there is a file for each signature."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        self._options = options

    def find(self, signature: Any, codegen: Any) -> Any:
        """What was kept for a signature, None if nothing was; watchers are told which."""
        name = self._file_name(signature, codegen)
        for folder in kept().read if name else ():
            payload = _read(folder / name)
            if payload is not None:
                _tell(compiling=False)
                return pickle.loads(payload)  # noqa: S301  our own, and whole
        _tell(compiling=True)
        return None

    def keep(self, signature: Any, codegen: Any, payload: bytes) -> None:
        """Keep what `find` is to find, pickled, if there is room; a run does not need it."""
        name, folder = self._file_name(signature, codegen), kept().written
        if not name or folder is None:
            return
        with contextlib.suppress(OSError):
            _write(folder / name, payload)
        if folder not in _SWEPT:
            _SWEPT.add(folder)
            remove_unused(folder)

    def _file_name(self, signature: Any, codegen: Any) -> str:
        """Named after all that the code depends on; empty for what cannot be kept."""
        function = self._function
        digest = source_digest(function.__module__)
        if digest is None or function.__closure__:
            return ""
        arguments = getattr(signature, "args", signature)
        key = (
            digest,
            surroundings(),
            sorted(self._options.items()),
            function.__qualname__,
            function.__code__.co_firstlineno,
            [_described(kind) for kind in arguments],
            codegen.magic_tuple(),
        )
        short = hashlib.sha256(repr(key).encode()).hexdigest()[:32]
        return f"{function.__module__.rpartition('.')[2]}.{function.__name__}-{short}.nbc"


class KernelCache(KernelFiles):
    """The cache of one kernel, as numba's dispatchers use it."""

    @property
    def cache_path(self) -> str | None:
        """For numba's statistics."""
        folder = kept().written
        return None if folder is None else str(folder)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function for a signature, None if there is none."""
        from numba.core.compiler import CompileResult

        rebuild: Any = CompileResult._rebuild
        target.refresh()
        found = self.find(signature, target.codegen())
        return None if found is None else rebuild(target, *found)

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled function."""
        from numba.core import serialize

        dumps: Any = serialize.dumps
        if not (compiled.lifted or compiled.library.has_dynamic_globals):
            self.keep(signature, compiled.codegen, dumps(compiled._reduce()))

    def enable(self) -> None:
        """Part of numba's interface; it is always enabled."""

    def disable(self) -> None:
        """Part of numba's interface."""

    def flush(self) -> None:
        """Part of numba's interface; files are never stale."""


def _described(kind: Any) -> tuple[Any, ...]:
    """A type of numba's with the names of its fields, which its own name leaves out."""
    fields = tuple(getattr(kind, "fields", ()))
    return (str(kind), fields, *(_described(part) for part in getattr(kind, "types", ())))


def _tell(*, compiling: bool) -> None:
    for watcher in tuple(_WATCHERS):
        watcher(compiling)


def _read(file: Path) -> bytes | None:
    """What a file keeps; None if there is none, or a damaged one."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    payload = content[_HASH_BYTES:]
    if hashlib.sha256(payload).digest() != content[:_HASH_BYTES]:
        return None
    mark_used(file)
    return payload


def _write(file: Path, payload: bytes) -> None:
    """Whole or not at all, whoever else writes the same."""
    handle, name = tempfile.mkstemp(prefix=".writing-", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(hashlib.sha256(payload).digest() + payload)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
