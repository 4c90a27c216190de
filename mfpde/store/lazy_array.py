"""Arrays that stay in their file until somebody looks at them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.errors import MfpdeError
from mfpde.store.checksums import Columns, check_rows, read_rows
from mfpde.store.opening import DAMAGE, first_line
from mfpde.typing import AnyArray, Float

__all__ = ["StoredArray", "StoredSeries"]

_KEPT_BYTES_MAX = 2**28  # of an array that was read whole; a larger one is read again


class StoredArray:
    """Committed rows of a dataset. An index reads just that, `numpy.asarray` all; the file is open only meanwhile.

    With `columns` what is read is held against its checksums, and `times` say in an error which row it is."""

    def __init__(
        self, path: Path, name: str, shape: tuple[int, ...], dtype: str, columns: Columns | None, times: Float
    ) -> None:
        self._path = path
        self._name = name
        self._columns = columns
        self._times = times
        self._version = _version(path)
        self._kept: AnyArray | None = None
        self.shape = shape
        self.ndim = len(shape)
        self.dtype = np.dtype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        if self._kept is not None:
            return self._kept[index]
        if isinstance(index, int | np.integer):
            if not -len(self) <= index < len(self):
                raise IndexError(f"snapshot {index} of {len(self)}")
            return self._read(int(index) % len(self), 1)[0]
        return np.asarray(self)[index]

    def __iter__(self) -> Iterator[AnyArray]:
        return (self[index] for index in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        values = self._kept
        if values is None:
            values = self._read(0, len(self))
            if values.nbytes <= _KEPT_BYTES_MAX:
                self._kept = values
        return np.array(values, dtype=dtype, copy=copy)

    def _read(self, first: int, count: int) -> AnyArray:
        import h5py

        if _version(self._path) != self._version:
            raise MfpdeError(f"{self._path} has changed since it was loaded; load it again")
        values = np.empty((count, *self.shape[1:]), self.dtype)
        try:
            with h5py.File(self._path, "r") as file:
                read_rows(file[self._name], values, first)
                if self._columns is not None:
                    check_rows(self._path, file, self._name, self._columns, values, first, self._times)
        except DAMAGE as error:
            raise MfpdeError(f"cannot read {self._name} of {self._path}: {first_line(error)}") from None
        return values


class StoredSeries(Mapping[str, Float]):
    """Series by name, each read when first asked for."""

    def __init__(self, arrays: Mapping[str, StoredArray]) -> None:
        self._arrays = dict(arrays)

    def __getitem__(self, name: str) -> Float:
        return np.asarray(self._arrays[name])

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def _version(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise MfpdeError(f"cannot read {path}: {error.strerror}") from None
    return found.st_ino, found.st_size, found.st_mtime_ns
