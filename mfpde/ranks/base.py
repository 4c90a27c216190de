"""What a run asks of the processes that it is spread over. One process has all there is: every answer is what was
given, bit for bit.

Two questions have to be kept apart. `present()` are the ranks of the run: whoever begins tokens takes a share of them.
`shared()` are those over which the nodes of the sums under way are spread: `ALONE` but inside of a measure of tokens
that are (`sharing`), since everything else that is summed lies in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from mfpde.typing import AnyArray

__all__ = ["ALONE", "Calls", "Ranks", "present", "shared", "sharing", "working"]

Values = TypeVar("Values", float, AnyArray)
Result = TypeVar("Result")
#: what rank 0 may ask the others to do while it does something that only it can
Calls = Mapping[str, Callable[..., Any]]


class Ranks:
    """`size` processes that do the same; this is the one of that `number`. All but `share` is done by all of them
    together, in the same order; in work that is `led` nothing but what is `called` is.

    >>> import numpy as np
    >>> ALONE.share(10), ALONE.sum(1.5), ALONE.gathered(np.arange(2.0)).tolist()
    ((0, 10), 1.5, [0.0, 1.0])
    """

    size: int = 1
    number: int = 0

    @property
    def leads(self) -> bool:
        """Whether this process is the one that writes files and talks to people."""
        return self.number == 0

    def share(self, count: int) -> tuple[int, int]:
        """The first, and the one after the last, of so many rows that this process has."""
        return self.number * count // self.size, (self.number + 1) * count // self.size

    # -- sums
    # ---------------------------------------------------------------------------------------------------------

    def sum(self, values: Values) -> Values:
        """The sum over all ranks, the same bits on each."""
        return values

    def most(self, values: Values) -> Values:
        """The largest; infinite where one of them is no number."""
        return values

    def least(self, values: Values) -> Values:
        """The smallest; -infinite where one of them is no number."""
        return values

    def mean(self, values: AnyArray) -> float:
        """Of the numbers of all ranks."""
        return float(values.mean())

    def gathered(self, rows: AnyArray) -> AnyArray:
        """The rows of all ranks in their order, on each: as much memory as there are rows."""
        return rows

    # -- what rank 0 does for all
    # ---------------------------------------------------------------------------------------------------------

    def spread(self, rows: AnyArray, axis: int = 0) -> Any:
        """An array of which every rank has some rows, or entries of that axis, as what rank 0 can write down."""
        return rows

    def led(self, work: Callable[[], Result], calls: Calls | None = None) -> Result:
        """What rank 0 alone does, and all have of it: its result, or what it raised. The others send their rows of
        what is `spread`, and do what they are called for."""
        return work()

    @contextmanager
    def called(self, name: str, *given: Any) -> Iterator[None]:
        """In work that is `led`: what the others do, too, as one of their `calls`, while rank 0 does it here."""
        yield

    def handed_out(self, state: Mapping[str, AnyArray], of_tokens: frozenset[str]) -> Mapping[str, AnyArray]:
        """Of arrays that rank 0 has, all of them; of those of tokens, this one's share."""
        return state


ALONE = Ranks()
_present: ContextVar[Ranks] = ContextVar("present", default=ALONE)
_shared: ContextVar[Ranks] = ContextVar("shared", default=ALONE)


def present() -> Ranks:
    """The ranks of this run."""
    return _present.get()


def shared() -> Ranks:
    """Those over which the nodes of the sums under way are spread."""
    return _shared.get()


@contextmanager
def working(ranks: Ranks) -> Iterator[Ranks]:
    """Runs that are solved in this context are spread over these ranks."""
    before = _present.set(ranks)
    try:
        yield ranks
    finally:
        _present.reset(before)


@contextmanager
def sharing(ranks: Ranks) -> Iterator[None]:
    """The nodes of sums in this context are those of this rank only, and the sums those over all."""
    before = _shared.set(ranks)
    try:
        yield
    finally:
        _shared.reset(before)
