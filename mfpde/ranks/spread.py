"""Arrays of which every rank has a part."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from mfpde.typing import AnyArray

__all__ = ["Spread", "finite", "pieces_of"]

#: of an array that are on their way to rank 0 at a time: 4 MiB
_PIECE_NUMBERS = 2**19


class Spread(ABC):
    """An array whose numbers, in the order of their places in memory, are first those of rank 0, then of rank 1, and
    so on. Rank 0 reads it by `pieces`, in work that is led."""

    def __init__(self, shape: tuple[int, ...], local: AnyArray) -> None:
        self.shape, self.local = shape, np.ascontiguousarray(local)
        self.dtype = self.local.dtype

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def as_row(self) -> Spread:
        """The same with one more axis, of length one, before the others."""

    @abstractmethod
    def pieces(self) -> Iterator[AnyArray]:
        """Its numbers in their order, a few at a time, `(k,)`."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """All of it, in the memory of this process."""
        whole = np.empty(self.size, self.dtype)
        place = 0
        for piece in self.pieces():
            whole[place : place + piece.size] = piece
            place += piece.size
        return whole.reshape(self.shape).astype(dtype or self.dtype, copy=False)


def pieces_of(array: AnyArray | Spread) -> Iterator[tuple[int, AnyArray]]:
    """The numbers of an array in their order, a few at a time, with the place of the first; an ordinary one at once."""
    if not isinstance(array, Spread):
        yield 0, array.reshape(-1)
        return
    place = 0
    for piece in array.pieces():
        yield place, piece
        place += piece.size


def local_pieces(count: int, width: int = 1) -> Iterator[tuple[int, int]]:
    """Of so many numbers of one rank, whole rows of that width."""
    step = max(1, _PIECE_NUMBERS // width) * width
    for start in range(0, count, step):
        yield start, min(start + step, count)


def finite(values: AnyArray | Spread) -> bool:
    """Whether all its numbers here are."""
    return bool(np.isfinite(values.local if isinstance(values, Spread) else values).all())
