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
from mfpde.errors import MfpdeError, OutputError
from mfpde.store.recorder import reason

__all__ = [
    "check_target",
    "companion",
    "is_locked",
    "is_writable",
    "made_folder",
    "publish",
    "replacing",
    "sweep",
    "temporary",
]

_LEFT = 60.0  # seconds without a change: a process on another machine may be about to open its file
_LONGEST_NAME = 255  # bytes, where a file system does not say
_PART_OF_NAME = 80  # bytes that a temporary name keeps of its file's: what comes after them is at most 36 long


def check_target(path: str | Path, *, force: bool) -> Path:
    """The path to write to, or an error that says why nothing can be written there. Nothing is left behind."""
    try:
        target = Path(os.path.realpath(path))
        _check_place(path, target)
        if target.exists() and not force:
            raise OutputError(f"{path} exists already; --force (force=True) overwrites it, --resume continues it")
        if target.exists() and not is_writable(target):
            raise OutputError(f"cannot write {path}: the file that is there is read-only")
        if is_locked(target):
            raise OutputError(f"{path} is being written by a run that is under way")
        trial = temporary(target)
        trial.touch(exist_ok=False)
        trial.unlink()
        sweep(target)
    except OutputError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write {path}: {_words(error)}") from None
    return target


def _check_place(path: str | Path, target: Path) -> None:
    """Fail where no file can be: in a folder that is not there, over something that is no file."""
    if target.is_dir():
        example = Path(path) / f"run{Path(path).suffix or '.h5'}"
        raise OutputError(f"{path} is a folder; name a file in it, such as {example}")
    if target.is_symlink():  # all links that lead somewhere have been followed
        raise OutputError(f"cannot write {path}: it is a link that leads back to itself")
    if not target.parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no folder {target.parent}")
    if os.path.basename(os.fspath(path)) in ("", ".", ".."):  # noqa: PTH119  a Path forgets the slash at its end
        raise OutputError(f"cannot write to {path}: there is no such folder")
    if target.exists() and not target.is_file():
        raise OutputError(f"cannot write {path}: it is not a regular file")
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
        raise OutputError(f"cannot write to {path}: it is a file, and a folder is wanted") from None
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write to {path}: {_words(error)}") from None
    return folder


def _words(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "a character of it is not Unicode"
    return reason(error) if isinstance(error, OSError) else str(error)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary neighbour of `path`, which takes its place when the block ends well and is removed otherwise.

    Whether it can be written shows before the work is done.
    """
    folder = Path(path).parent
    if not os.path.isdir(folder):  # noqa: PTH112  which is true or false, however long the name is
        raise OutputError(f"cannot write {path}: there is no folder {folder}")
    target = check_target(path, force=True)
    part = temporary(target)
    try:
        yield part
        part.replace(target)
    except MfpdeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            part.unlink()


def temporary(target: Path) -> Path:
    """A name nobody else uses, in the same folder."""
    return target.with_name(f"{_beginning(target)}{os.getpid()}-{secrets.token_hex(4)}.part")


def _beginning(target: Path) -> str:
    return f".{_cut(target.name, _PART_OF_NAME)}."


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
        return _LONGEST_NAME


def sweep(target: Path) -> None:
    """Remove what runs that were killed have left half written beside the target: files as `temporary` names them that
    nobody has touched or holds, of processes that are no more."""
    beginning = _beginning(target)
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
