"""Which workers know the parts that a user has registered."""

from __future__ import annotations

import importlib.util
from contextlib import suppress

from mfpde.registry import own_modules
from mfpde.workers.in_process import InProcess
from mfpde.workers.pool import Pool
from mfpde.workers.workers import Workers

__all__ = ["known_here_alone", "workers_for"]


def workers_for(count: int) -> Workers:
    """So many worker processes, which import the modules in which a user's parts are registered; this process where
    one of these is the script that runs, which nobody would run again, or what was typed."""
    why = known_here_alone()
    if why:
        return InProcess((f"all was done one after the other in this process: {why}; put them in a module for more",))
    return Pool(count, own_modules())


def known_here_alone() -> str:
    """Which parts other processes cannot have, in words; empty where there is none."""
    lacking = [name for name in own_modules() if not _can_be_imported(name)]
    return f"parts registered in {', '.join(lacking)} are known to this process alone" if lacking else ""


def _can_be_imported(name: str) -> bool:
    found = None
    if name != "__main__":
        with suppress(ImportError, ValueError):
            found = importlib.util.find_spec(name)
    return found is not None
