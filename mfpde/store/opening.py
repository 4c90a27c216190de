"""Opening files for reading: whatever is wrong with one is said in one line."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mfpde.errors import MfpdeError
from mfpde.store.atomic_file import is_locked, reason

__all__ = ["DAMAGE", "attribute", "first_line", "opened", "typed"]

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
#: what reading a damaged file may raise
DAMAGE = (
    *(OSError, KeyError, ValueError, RuntimeError, TypeError, IndexError, AttributeError, ArithmeticError),
    *(MemoryError, AssertionError, SystemError, BufferError, EOFError),
)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The file, open for reading; every error, also while it is read, becomes a `MfpdeError`."""
    _look(path)
    import h5py

    try:
        with h5py.File(path, "r") as file:
            yield file
    except MfpdeError:
        raise
    except DAMAGE as error:
        if is_locked(path) or getattr(error, "errno", None) in (errno.EAGAIN, errno.EACCES):
            raise MfpdeError(
                f"{path} is being written by a run that is under way; `mfpde info {path}` shows how far it is"
            ) from None
        raise MfpdeError(f"{path} is damaged or cut short: {first_line(error)}") from None


def first_line(error: BaseException) -> str:
    """What an error says, however much h5py adds to it."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _look(path: Path) -> None:
    """What can be seen without HDF5."""
    try:
        if path.is_dir():
            raise MfpdeError(f"{path} is a folder, not a file of mfpde's")
        with path.open("rb") as file:
            start = file.read(len(_SIGNATURE))
    except FileNotFoundError:
        raise MfpdeError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise MfpdeError(f"cannot read {path}: {reason(error) if isinstance(error, OSError) else error}") from None
    if not start:
        raise MfpdeError(f"{path} is empty")
    if start != _SIGNATURE:
        raise MfpdeError(f"{path} is not an HDF5 file")


def typed(dataset: Any) -> Any:
    """The dataset, where its type on the disk is one that numpy has. HDF5 converts any other, and where the place of
    its bits is damaged it does so beyond the end of its buffers."""
    _check_type(dataset.name, dataset.dtype, dataset.id.get_type())
    return dataset


def attribute(holder: Any, name: str) -> Any:
    """The same of the numbers in an attribute."""
    found = holder.attrs.get_id(name)
    _check_type(name, found.dtype, found.get_type())
    return holder.attrs[name]


def _check_type(name: str, dtype: Any, stored: Any) -> None:
    import h5py

    if not h5py.h5t.py_create(dtype, logical=True).equal(stored):
        raise ValueError(f"{name} has a type that nobody has written")
