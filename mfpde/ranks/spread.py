"""Arrays that nobody holds whole: of which every rank has a part, or which are in a file."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from mfpde.typing import AnyArray

__all__ = ["InPieces", "Spread", "finite", "local_pieces", "pieces_of"]

#: of an array that are on their way at a time: 4 MiB
_PIECE_NUMBERS = 2**19


class InPieces(ABC):
    """An array that is read by `pieces`, so that it need not fit into the memory of one process."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype

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


class Spread(InPieces):
    """An array whose numbers, in the order of their places in memory, are first those of rank 0, then of rank 1, and
    so on. Rank 0 reads it, in work that is led."""

    def __init__(self, shape: tuple[int, ...], local: AnyArray) -> None:
        self.local = np.ascontiguousarray(local)
        super().__init__(shape, self.local.dtype)

    @abstractmethod
    def as_row(self) -> Spread:
        """The same with one more axis, of length one, before the others."""


def pieces_of(array: AnyArray | InPieces) -> Iterator[tuple[int, AnyArray]]:
    """The numbers of an array in their order, a few at a time, with the place of the first; an ordinary one at once."""
    if not isinstance(array, InPieces):
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
