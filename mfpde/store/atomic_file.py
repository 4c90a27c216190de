"""Where a file may be put, and how it gets there: complete or not at all, and never over another one unasked."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mfpde.arguments import file_path
from mfpde.errors import OutputError

__all__ = [
    "appearing",
    "cannot_write",
    "check_target",
    "companion",
    "is_alive",
    "is_locked",
    "is_writable",
    "made_folder",
    "reason",
    "replacing",
    "sweep",
    "temporary",
]

_UNTOUCHED_SECONDS = 60.0  # before a leftover goes: a process on another machine may be about to open its file
_NAME_BYTES_MAX = 255  # where a file system does not say
_NAME_BYTES_KEPT = 80  # of its file's name, by a temporary one: what comes after them is at most 36 long
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file has reached the largest size allowed here",
    errno.EIO: "the disk reports an input/output error",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EAGAIN: "a run that is under way is writing it",
}


def check_target(path: str | Path, *, force: bool) -> Path:
    """The path to write to, or an error that says why nothing can be written there. Nothing is left behind."""
    try:
        target = Path(os.path.realpath(path))
        _check_place(path, target)
        if target.exists() and not force:
            ways = "--force (force=True) overwrites it, --resume continues it, --output names another file"
            raise OutputError(f"{path} exists already; {ways}")
        if target.exists() and not is_writable(target):
            raise cannot_write(path, "the file that is there is read-only")
        if is_locked(target):
            raise OutputError(f"{path} is being written by a run that is under way")
        trial = temporary(target)
        trial.touch(exist_ok=False)
        trial.unlink()
        sweep(target)
    except OutputError:
        raise
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from None
    return target


def _check_place(path: str | Path, target: Path) -> None:
    """Fail where no file can be: in a folder that is not there, over something that is no file."""
    if target.is_dir():
        example = Path(path) / f"run{Path(path).suffix or '.h5'}"
        raise OutputError(f"{path} is a folder; name a file in it, such as {example}")
    if target.is_symlink():  # all links that lead somewhere have been followed
        raise cannot_write(path, "it is a link that leads back to itself")
    if not target.parent.is_dir():
        raise cannot_write(path, f"there is no folder {target.parent}")
    if os.path.basename(os.fspath(path)) in ("", ".", ".."):  # noqa: PTH119  a Path forgets the slash at its end
        raise cannot_write(f"to {path}", "there is no such folder")
    if target.exists() and not target.is_file():
        raise cannot_write(path, "it is not a regular file")
    os.lstat(target.parent)  # told by its reason: a folder that cannot be looked into
    with suppress(FileNotFoundError):
        os.lstat(target)  # a name that is too long


def is_writable(target: Path) -> bool:
    """Whether anybody may write to it, and we: who may do everything is still told that a file is protected."""
    return bool(target.stat().st_mode & 0o222) and os.access(target, os.W_OK)


def made_folder(path: str | Path) -> Path:
    """The folder of that name, made where there is none."""
    folder = file_path("directory", path, "report")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise cannot_write(f"to {path}", "it is a file, and a folder is wanted") from None
    except (OSError, ValueError) as error:
        raise cannot_write(f"to {path}", error) from None
    return folder


def cannot_write(path: str | Path, why: str | OSError | ValueError) -> OutputError:
    """The error that says so; where an exception is the reason, in its words."""
    if isinstance(why, UnicodeEncodeError):
        why = "a character of it is not Unicode"
    return OutputError(f"cannot write {path}: {reason(why) if isinstance(why, OSError) else why}")


def reason(error: OSError) -> str:
    """Why the disk refused, in words."""
    return _REASONS.get(error.errno or 0, error.strerror or str(error))


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary neighbour of `path`, which takes its place when the block ends well and is removed otherwise.

    Whether it can be written shows before the work is done; what goes wrong is an `OutputError`.
    """
    folder = Path(path).parent
    if not os.path.isdir(folder):  # noqa: PTH112  which is true or false, however long the name is
        raise cannot_write(path, f"there is no folder {folder}")
    target = check_target(path, force=True)
    try:
        with appearing(target, force=True) as part:
            yield part
    except OSError as error:
        raise cannot_write(path, error) from None


@contextmanager
def appearing(target: Path, *, force: bool) -> Iterator[Path]:
    """A temporary neighbour, which gets the target's name in one step when the block ends well and is removed
    otherwise. Without `force`, a file that appeared there meanwhile wins."""
    part = temporary(target)
    try:
        yield part
        if force:
            part.replace(target)
        else:
            _claim(part, target)
    finally:
        with suppress(OSError):
            part.unlink()


def temporary(target: Path) -> Path:
    """A name nobody else uses, in the same folder."""
    return target.with_name(f"{_beginning(target)}{os.getpid()}-{secrets.token_hex(4)}.part")


def _beginning(target: Path) -> str:
    return f".{_cut(target.name, _NAME_BYTES_KEPT)}."


def companion(target: Path, ending: str) -> Path:
    """`run.h5` -> `run` and that ending. Where that would be too long for the file system the end of the stem gives way
    to a hash of it: whatever name the file has, there is one for its companion."""
    stem, longest = target.stem, _longest_name(target.parent)
    name = f"{stem}{ending}"
    if len(os.fsencode(name)) > longest:
        end = f"~{hashlib.blake2b(os.fsencode(stem), digest_size=8).hexdigest()}{ending}"
        name = _cut(stem, longest - len(end)) + end
    return target.with_name(name)


def _cut(name: str, most: int) -> str:
    """As many whole characters as fit into so many bytes."""
    kept = name[:most]
    while len(os.fsencode(kept)) > most:
        kept = kept[:-1]
    return kept


def _longest_name(folder: Path) -> int:
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (AttributeError, OSError, ValueError):
        return _NAME_BYTES_MAX


def sweep(target: Path) -> None:
    """Remove what runs that were killed have left half written beside the target: files as `temporary` names them that
    nobody has touched or holds, of processes that are no more."""
    beginning = _beginning(target)
    with suppress(OSError):
        for path in target.parent.iterdir():
            process = path.name.removeprefix(beginning).partition("-")[0]
            ours = path.name.startswith(beginning) and path.suffix == ".part" and process.isdecimal()
            if (
                ours
                and time.time() - path.stat().st_mtime > _UNTOUCHED_SECONDS
                and not is_alive(int(process))
                and not is_locked(path)
            ):
                path.unlink()


def is_alive(process: int) -> bool:
    """Whether there is a process of that number on this machine."""
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


def _claim(part: Path, target: Path) -> None:
    """Give a complete file a name that nobody has taken meanwhile."""
    try:
        try:
            os.link(part, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links: claim the name, then replace the claim
            target.touch(exist_ok=False)
            part.replace(target)
    except FileExistsError:
        raise OutputError(f"{target} was created by somebody else meanwhile; it is left as it is") from None
