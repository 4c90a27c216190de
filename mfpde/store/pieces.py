"""Bytes that wait to be written, by their place in a file."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

__all__ = ["Pieces"]


class Pieces:
    """Pieces in ascending order, of which no two overlap."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._pieces: list[bytearray] = []

    def __iter__(self) -> Iterator[tuple[int, bytearray]]:
        return iter(zip(self._starts, self._pieces, strict=True))

    def clear(self) -> None:
        """None waits any more."""
        self._starts, self._pieces = [], []

    def put(self, offset: int, data: memoryview) -> None:
        """These bytes, over whatever waits for the same place."""
        stop = offset + len(data)
        first, last = self._touched(offset, stop)
        if last - first == 1 and self._starts[first] <= offset and stop <= self._stop(first):
            self._pieces[first][offset - self._starts[first] : stop - self._starts[first]] = data
            return
        if first == last:
            start, region = offset, bytearray(data)
        else:
            start, end = min(offset, self._starts[first]), max(stop, self._stop(last - 1))
            region = bytearray(end - start)
            self.lay_over(region, start)
            region[offset - start : stop - start] = data
        self._starts[first:last], self._pieces[first:last] = [start], [region]

    def lay_over(self, below: bytearray | memoryview, start: int) -> None:
        """Put what waits over bytes that begin at `start`."""
        end = start + len(below)
        for index in range(*self._touched(start, end)):
            offset, piece = self._starts[index], self._pieces[index]
            first, last = max(offset, start), min(offset + len(piece), end)
            below[first - start : last - start] = memoryview(piece)[first - offset : last - offset]

    def _touched(self, start: int, stop: int) -> tuple[int, int]:
        """The range of the pieces that hold a byte between the two places."""
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self._stop(first) <= start:
            first += 1
        return first, max(first, bisect_left(self._starts, stop))

    def _stop(self, index: int) -> int:
        return self._starts[index] + len(self._pieces[index])
