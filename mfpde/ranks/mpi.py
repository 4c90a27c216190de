"""Ranks of MPI."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import sleep
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from mpi4py import MPI

from mfpde.ranks.base import Calls, Ranks, Values
from mfpde.ranks.spread import InPieces, Spread, local_pieces, pieces_of
from mfpde.typing import AnyArray

__all__ = ["MpiRanks"]

Result = TypeVar("Result")
_ORDERS, _ROWS = 1, 2  # tags of messages: what rank 0 wants, and rows that are sent to or from it
_LOOK_SECONDS = 0.01  # between two looks whether all ranks have met: MPI would take a whole core to wait
_PIECE, _CALL, _DONE, _RAISED = "piece", "call", "done", "raised"


class MpiRanks(Ranks):
    """The processes of a communicator. Reductions go by way of rank 0, so that all have the same bits; `sent` counts
    the bytes that this one has given to sums."""

    def __init__(self, world: MPI.Intracomm) -> None:
        self._world = world
        self.size, self.number = world.size, world.rank
        self.sent = 0
        self._leading = False
        self._numbers = itertools.count()
        self._spread: WeakValueDictionary[int, _SpreadOverMpi] = WeakValueDictionary()

    # -- sums
    # ---------------------------------------------------------------------------------------------------------

    def sum(self, values: Values) -> Values:
        return self._reduced(values, MPI.SUM)

    def most(self, values: Values) -> Values:
        return self._reduced(_without_nan(values, np.inf), MPI.MAX)

    def least(self, values: Values) -> Values:
        return self._reduced(_without_nan(values, -np.inf), MPI.MIN)

    def mean(self, values: AnyArray) -> float:
        total = self.sum(np.array([values.sum(), values.size], dtype=float))
        return float(total[0] / total[1])

    def _check_together(self) -> None:
        if self._leading:
            raise RuntimeError("rank 0 asks all ranks in work that it leads: the others would not answer")

    def _reduced(self, values: Any, operation: MPI.Op) -> Any:
        self._check_together()
        given = np.asarray(values, order="C")
        found = np.empty_like(given)
        self.sent += given.nbytes
        self._world.Reduce(given, found, operation)
        self._world.Bcast(found)
        return found if isinstance(values, np.ndarray) else type(values)(found.item())

    def gathered(self, rows: AnyArray) -> AnyArray:
        self._check_together()
        given = np.ascontiguousarray(rows)
        sizes = self._world.allgather(given.size)
        whole = np.empty(sum(sizes), given.dtype)
        self.sent += given.nbytes
        self._world.Allgatherv(given.reshape(-1), (whole, sizes))
        return whole.reshape(-1, *given.shape[1:])

    # -- what rank 0 does for all
    # ---------------------------------------------------------------------------------------------------------

    def spread(self, rows: AnyArray, axis: int = 0) -> Any:
        self._check_together()
        counts = self._world.allgather(rows.shape[axis])
        shape = (*rows.shape[:axis], sum(counts), *rows.shape[axis + 1 :])
        number = next(self._numbers)
        width = rows.size // max(1, rows.shape[axis])
        made = _SpreadOverMpi(shape, rows, self, number, [count * width for count in counts])
        self._spread[number] = made
        return made

    def led(self, work: Callable[[], Result], calls: Calls | None = None) -> Result:
        if self._leading:  # a part of what is led already
            return work()
        return self._lead(work) if self.leads else self._follow(calls or {})

    def _lead(self, work: Callable[[], Result]) -> Result:
        self._leading = True
        try:
            result = work()
        except BaseException as error:
            self._leading = False
            self._order(_RAISED, error)
            raise
        self._leading = False
        self._order(_DONE, result)
        return result

    def _follow(self, calls: Calls) -> Any:
        kept = []  # what was spread by a call is asked for later
        while True:
            order, *given = self._world.recv(source=0, tag=_ORDERS)
            if order == _PIECE:
                number, start, stop = given
                self._world.Send(self._spread[number].local.reshape(-1)[start:stop], dest=0, tag=_ROWS)
            elif order == _CALL:
                kept.append(calls[given[0]](*given[1:]))
            elif order == _RAISED:
                raise given[0]
            else:
                return given[0]

    @contextmanager
    def called(self, name: str, *given: Any) -> Iterator[None]:
        if not self._leading:
            yield
            return
        self._order(_CALL, name, *given)
        self._leading = False
        try:
            yield
        finally:
            self._leading = True

    def _order(self, *order: Any) -> None:
        for rank in range(1, self.size):
            self._world.send(order, dest=rank, tag=_ORDERS)

    def piece(self, rank: int, number: int, start: int, out: AnyArray) -> None:
        """Numbers of an array of another rank, from that place on."""
        if not self._leading:
            raise RuntimeError("an array that is spread over ranks is read in work that rank 0 leads")
        self._world.send((_PIECE, number, start, start + out.size), dest=rank, tag=_ORDERS)
        self._world.Recv(out, source=rank, tag=_ROWS)

    def handed_out(self, state: Mapping[str, AnyArray], of_tokens: frozenset[str]) -> Mapping[str, AnyArray]:
        said = [(name, each.shape, each.dtype) for name, each in state.items()]
        tokens, found = self._world.bcast(state["weights"].size if self.leads else 0), {}
        for name, shape, dtype in self._world.bcast(said):
            whole = state[name] if self.leads else None
            if name in of_tokens and math.prod(shape):
                found[name] = self._share_of(whole, shape, dtype, tokens)
            else:
                found[name] = self._world.bcast(np.asarray(whole))
        return found

    def _share_of(self, whole: AnyArray | InPieces | None, shape: tuple[int, ...], dtype: Any, tokens: int) -> AnyArray:
        """Of an array whose numbers are those of one token after the other."""
        width = math.prod(shape) // tokens
        bounds = [width * (rank * tokens // self.size) for rank in range(self.size + 1)]
        mine = np.empty(bounds[self.number + 1] - bounds[self.number], dtype)
        if whole is None:
            self._receive(mine)
        else:
            for place, piece in pieces_of(whole):
                ends = np.clip(np.array(bounds) - place, 0, piece.size)
                mine[place : place + ends[1]] = piece[: ends[1]]
                for rank in range(1, self.size):
                    self._send(piece[ends[rank] : ends[rank + 1]], rank)
        return (
            mine.reshape([mine.size // width if extent == tokens else extent for extent in shape])
            if tokens in shape
            else mine
        )

    def _send(self, numbers: AnyArray, rank: int) -> None:
        for start, stop in local_pieces(numbers.size):
            self._world.Send(numbers[start:stop], dest=rank, tag=_ROWS)

    def _receive(self, out: AnyArray) -> None:
        place, status = 0, MPI.Status()
        while place < out.size:
            self._world.Recv(out[place:], source=0, tag=_ROWS, status=status)
            place += status.Get_count() // out.itemsize

    def abort(self, code: int) -> None:
        """End all processes at once."""
        self._world.Abort(code)

    def meets(self, seconds: float) -> bool:
        """Whether all ranks come to this place within that time."""
        request, end = self._world.Ibarrier(), MPI.Wtime() + seconds
        while not request.Test():
            if MPI.Wtime() > end:
                return False
            sleep(_LOOK_SECONDS)
        return True


class _SpreadOverMpi(Spread):
    def __init__(
        self, shape: tuple[int, ...], local: AnyArray, ranks: MpiRanks, number: int, counts: list[int]
    ) -> None:
        super().__init__(shape, local)
        self._ranks, self._number, self._counts = ranks, number, counts

    def as_row(self) -> Spread:
        return _SpreadOverMpi((1, *self.shape), self.local, self._ranks, self._number, self._counts)

    def pieces(self) -> Iterator[AnyArray]:
        for rank, count in enumerate(self._counts):
            for start, stop in local_pieces(count, math.prod(self.local.shape[1:])):
                if rank == self._ranks.number:
                    yield self.local.reshape(-1)[start:stop]
                else:
                    piece = np.empty(stop - start, self.dtype)
                    self._ranks.piece(rank, self._number, start, piece)
                    yield piece


def _without_nan(values: Any, instead: float) -> Any:
    found = np.where(np.isnan(values), instead, values)
    return found if isinstance(values, np.ndarray) else type(values)(found.item())
