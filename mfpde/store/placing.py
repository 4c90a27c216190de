"""Where a file may be put, and how it gets there: complete or not at all, and never over another one unasked."""

from __future__ import annotations

import errno
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

from mfpde.errors import OutputError
from mfpde.store.recorder import reason

__all__ = ["check_target", "is_locked", "publish", "sweep", "temporary"]

_LEFT = 60.0  # seconds without a change: a process on another machine may be about to open its file


def check_target(path: str | Path, *, force: bool) -> Path:
    """The path to write to, or an error that says why nothing can be written there. Nothing is left behind."""
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise OutputError(f"{path} is a folder; name a file in it, such as {Path(path) / 'run.h5'}")
        if not target.parent.is_dir():
            raise OutputError(f"cannot write {path}: there is no folder {target.parent}")
        if target.exists() and not target.is_file():
            raise OutputError(f"cannot write {path}: it is not a regular file")
        if target.exists() and not force:
            raise OutputError(f"{path} exists already; --force (force=True) overwrites it, --resume continues it")
        if is_locked(target):
            raise OutputError(f"{path} is being written by a run that is under way")
        trial = temporary(target)
        trial.touch(exist_ok=False)
        trial.unlink()
        sweep(target)
    except OutputError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write {path}: {reason(error) if isinstance(error, OSError) else error}") from None
    return target


def temporary(target: Path) -> Path:
    """A name nobody else uses, in the same folder."""
    return target.with_name(f".{target.name[:80]}.{os.getpid()}-{secrets.token_hex(4)}.part")


def sweep(target: Path) -> None:
    """Remove what runs that were killed have left half written beside the target: files as `temporary` names them that
    nobody has touched or holds, of processes that are no more."""
    beginning = f".{target.name[:80]}."
    with suppress(OSError):
        for path in target.parent.iterdir():
            process = path.name.removeprefix(beginning).partition("-")[0]
            ours = path.name.startswith(beginning) and path.suffix == ".part" and process.isdecimal()
            if ours and time.time() - path.stat().st_mtime > _LEFT and not _runs(int(process)) and not is_locked(path):
                path.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def is_locked(path: Path) -> bool:
    """True while a run writes this file."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.EAGAIN, errno.EACCES)
    finally:
        os.close(descriptor)
    return False


def publish(part: Path, target: Path, *, force: bool) -> None:
    """Give a complete file its name in one step. Without `force`, a file that appeared there meanwhile wins."""
    if force:
        part.replace(target)
        return
    try:
        os.link(part, target)
    except FileExistsError:
        raise OutputError(f"{target} was created by somebody else meanwhile; it is left as it is") from None
    except OSError:  # a file system without hard links: claim the name, then replace the claim
        try:
            target.touch(exist_ok=False)
        except FileExistsError:
            raise OutputError(f"{target} was created by somebody else meanwhile; it is left as it is") from None
        part.replace(target)
    else:
        part.unlink()
