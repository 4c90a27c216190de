"""How kernels are compiled: cached on disk, keyed on what they depend on.

A cached numba function does not notice that a function it calls in another file changed. So the cache folder is named
after a hash of all kernel sources (in a checkout) or after the version (installed): a stale kernel is never found
again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from mfpde._version import __version__

__all__ = ["allocating_kernel", "cache_folder", "compiled_before", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])
_ROOT = Path(__file__).resolve().parent


def kernel_sources() -> list[Path]:
    """Every file that holds compiled code, constants that are compiled in, or how to compile."""
    folders = [_ROOT / "transform", _ROOT / "solvers" / "kernels", _ROOT / "solvers" / "steppers"]
    return [Path(__file__).resolve(), *sorted(path for folder in folders for path in folder.rglob("*.py"))]


def _key() -> str:
    if (_ROOT.parent / "setup.cfg").exists():
        digest = hashlib.sha256(__version__.encode())
        for path in kernel_sources():
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
        return digest.hexdigest()[:16]
    return __version__


@cache
def cache_folder() -> Path:
    """Where this version's compiled kernels are kept; a NUMBA_CACHE_DIR of the user's is its parent."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    cache_home = os.environ.get("XDG_CACHE_HOME")
    parent = Path(given) if given else (Path(cache_home) if cache_home else Path.home() / ".cache") / "mfpde"
    folder = parent / f"kernels-{_key()}"
    with contextlib.suppress(OSError):  # a read-only home: numba then finds a place of its own
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def compiled_before() -> bool:
    """Whether kernels of this version are kept already, so that nothing has to be compiled first."""
    return any(cache_folder().rglob("*.nbi"))


def kernel(function: Function) -> Function:
    """Compile a function of arrays and scalars that allocates nothing. Fused multiply-add is allowed, reordering of
    sums is not (same bits everywhere). Without reference counts, which count every slice taken, the loop of the circle
    is 1.7 times faster.
    """
    return _compiled(function, counted=False)


def allocating_kernel(function: Function) -> Function:
    """The same for a function that makes room for itself, once per call: with reference counts."""
    return _compiled(function, counted=True)


def _compiled(function: Function, *, counted: bool) -> Function:
    import numba

    settings: Any = numba.config
    theirs = settings.CACHE_DIR
    settings.CACHE_DIR = str(cache_folder())  # read while the function is decorated; the user's own stay elsewhere
    try:
        options: dict[str, Any] = {"cache": True, "error_model": "numpy", "nogil": True}
        options["_nrt"] = counted
        compiled: Any = numba.njit(**options)(function)
    finally:
        settings.CACHE_DIR = theirs
    return compiled
