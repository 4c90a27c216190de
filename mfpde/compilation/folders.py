"""Where compiled kernels are kept.

Usually in the user's cache folder. Where that cannot be written (a container, a cluster, a user of a service) what is
there already is still read, and new code goes to a folder of this user's in the temporary directory, if nobody else can
write to that one: what is read from it is executed.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["Kept", "cache_folder", "kept", "mark_used", "refused", "remove_unused", "temporary_folder"]

DAYS_UNUSED = 60  # older code is of an earlier version, most likely
_SECONDS_PER_DAY = 86_400.0  # 24 hours
_NAME = "kernels"


class Kept(NamedTuple):
    """Where compiled code is kept in this process."""

    written: Path | None  # None where there is no place
    read: tuple[Path, ...]
    usual: Path | None  # where it would be kept; None without a home
    refused: str | None  # why it is not kept there; None where it is


@cache
def kept() -> Kept:
    """Found out once for the process, when the first kernel is needed."""
    usual = usual_folder()
    why = "there is no home folder" if usual is None else refused(usual)
    if usual is not None and why is None:
        return Kept(usual, (usual,), usual, None)
    temporary = temporary_folder()
    written = None if temporary is None or refused(temporary / _NAME) else temporary / _NAME
    return Kept(written, tuple(folder for folder in (usual, written) if folder is not None), usual, why)


def cache_folder() -> Path | None:
    """Where compiled kernels are kept in this process; None where there is no place."""
    return kept().written


def usual_folder() -> Path | None:
    """In NUMBA_CACHE_DIR, XDG_CACHE_HOME or ~/.cache."""
    given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        parent = Path(given) if given else Path.home() / ".cache"
    except RuntimeError:
        return None
    return parent.absolute() / "mfpde" / _NAME


def refused(folder: Path) -> str | None:
    """Why a folder cannot be written to, or made; None if it can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return (error.strerror or str(error)).lower()


def temporary_folder() -> Path | None:
    """A folder of this user's own in the temporary directory, for all of the user's processes; None where there is none
    that nobody else can write to."""
    user = os.geteuid() if hasattr(os, "geteuid") else None
    try:
        own = Path(tempfile.gettempdir()) / ("mfpde" if user is None else f"mfpde-{user}")
        own.mkdir(mode=0o700, exist_ok=True)
        status = own.lstat()  # not where a link leads that somebody else has put there
    except OSError:
        return None
    if not stat.S_ISDIR(status.st_mode):
        return None
    if user is not None and (status.st_uid != user or status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)):
        return None
    return own if refused(own) is None else None


def remove_unused(folder: Path) -> None:
    """Remove what nobody has loaded for a long time."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_file() and time.time() - entry.stat().st_mtime > DAYS_UNUSED * _SECONDS_PER_DAY:
                    Path(entry.path).unlink()


def mark_used(file: Path) -> None:
    """So that `remove_unused` spares it; once a day is enough."""
    with contextlib.suppress(OSError):
        if time.time() - file.stat().st_mtime > _SECONDS_PER_DAY:
            os.utime(file)
