"""The disk under an HDF5 file: changes are gathered and applied in an order that no kill and no full disk can spoil.

What lies beyond the committed end of the file is written at once: nothing on the disk refers to it yet. What overwrites
the committed part waits in memory for `commit`, which applies it in ascending order. So a disk that fills up is noticed
before anything committed is touched, and the file is cut back to where it was.

What nothing relies on, such as the slot of a checkpoint that is about to be replaced, may be declared so: it is
overwritten at once, and a large state never waits in memory.

HDF5 writes whole chunks. Only what differs from the file, from its first to its last byte, is held and written: rows
that are committed are never written again, whichever new ones share their chunk.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.store.pieces import Pieces
from mfpde.typing import AnyArray

__all__ = ["Transaction", "open_file"]

_BLOCK_BYTES = 2**16  # compared at once: a chunk
_ZEROS = bytes(2**20)  # written at once


class Transaction:
    """A file object for h5py's `fileobj` driver, locked like a file that HDF5 itself writes."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        flags = os.O_RDWR | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(path, flags | (os.O_CREAT | os.O_EXCL if create else 0), 0o666)
        try:
            _lock(self._descriptor)
            if not os.path.samestat(os.fstat(self._descriptor), path.stat()):  # a resumed run has put another there
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        except OSError:
            os.close(self._descriptor)
            raise
        self._committed = self._disk_end = self._end = os.fstat(self._descriptor).st_size
        self._position = 0
        self._pending = Pieces()
        self._free: Sequence[tuple[int, int]] = ()  # places inside the committed part on which nothing relies
        self._failure: OSError | None = None
        self._abandoned = False

    # -- what h5py calls; it must never see an error of the disk, after which it could not even close the file

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As for any file."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._end}[whence]
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        """As for any file."""
        return self._position

    def read(self, size: int = -1) -> bytes:
        """As for any file."""
        buffer = bytearray(self._end - self._position if size < 0 else size)
        return bytes(buffer[: self.readinto(memoryview(buffer))])

    def readinto(self, buffer: memoryview) -> int:
        """What the file will hold after the commit, zeros beyond its end: a damaged file asks for that, and h5py takes
        what is left of the buffer for read."""
        count = max(min(len(buffer), self._end - self._position), 0)
        self._look(self._position, memoryview(buffer)[:count])
        memoryview(buffer)[count:] = bytes(len(buffer) - count)
        self._position += count
        return count

    def write(self, data: memoryview) -> int:
        """Beyond the committed end, or where nothing is relied on, to the disk; else to memory."""
        piece, offset = memoryview(data), self._position
        inside = max(0, min(len(piece), self._committed - offset))
        if any(start <= offset and offset + len(piece) <= stop for start, stop in self._free):
            self._extend(offset, piece)
            inside = len(piece)
        elif inside:
            self._hold(offset, piece[:inside])
        if inside < len(piece):
            self._extend(offset + inside, piece[inside:])
        self._position = offset + len(piece)
        self._end = max(self._end, self._position)
        return len(piece)

    def truncate(self, size: int) -> int:
        """The length that the file will have. Growth is filled with real zeros: a hole could run out of disk later."""
        if size > self._disk_end:
            self._extend(size, memoryview(b""))
        self._end = size
        return size

    def flush(self) -> None:
        """Nothing: see `commit`."""

    # -- what the store calls

    def commit(self) -> None:
        """Make everything since the last commit part of the file, or raise OSError and leave the file as it was."""
        if self._failure is not None:
            raise self._failure
        for offset, piece in self._pending:
            self._put(offset, memoryview(piece))
        if self._end < self._disk_end:
            self._cut(self._end)
        self._pending.clear()
        self._committed = self._disk_end = self._end

    @contextmanager
    def overwriting(self, places: Sequence[tuple[int, int]]) -> Iterator[None]:
        """While the block lasts, what is written into one of these places goes to the disk at once."""
        self._free = places
        try:
            yield
        finally:
            self._free = ()

    def sync(self) -> None:
        """Have the operating system write everything to the device."""
        os.fsync(self._descriptor)

    def close(self, file: Any = None) -> None:
        """Close the HDF5 file over this disk, forget what was not committed, give the file and its lock back."""
        self._abandoned = True
        try:
            if file is not None:
                file.close()
        finally:
            if os.fstat(self._descriptor).st_size > self._committed:
                os.ftruncate(self._descriptor, self._committed)
            os.close(self._descriptor)

    def _hold(self, offset: int, piece: memoryview) -> None:
        start, stop = self._difference(offset, piece)
        if start < stop:
            self._pending.put(offset + start, piece[start:stop])

    def _difference(self, offset: int, piece: memoryview) -> tuple[int, int]:
        """From where to where a piece differs from what the file will hold there."""
        start, stop = 0, len(piece)
        while start < stop:
            block = piece[start : start + _BLOCK_BYTES]
            differ = self._differing(offset + start, block)
            start += int(differ[0]) if differ.size else len(block)
            if differ.size:
                break
        while stop > start:
            first = max(start, stop - _BLOCK_BYTES)
            differ = self._differing(offset + first, piece[first:stop])
            if differ.size:
                return start, first + int(differ[-1]) + 1
            stop = first
        return start, stop

    def _differing(self, offset: int, block: memoryview) -> AnyArray:
        held = bytearray(len(block))
        self._look(offset, memoryview(held))
        return np.flatnonzero(np.frombuffer(block, np.uint8) != np.frombuffer(held, np.uint8))

    def _look(self, offset: int, buffer: memoryview) -> None:
        """Fill the buffer with what the file will hold; zeros where nothing was written."""
        found = os.preadv(self._descriptor, [buffer], offset) if len(buffer) else 0
        while 0 < found < len(buffer):
            more = os.preadv(self._descriptor, [buffer[found:]], offset + found)
            if more == 0:
                break
            found += more
        buffer[found:] = bytes(len(buffer) - found)
        self._pending.lay_over(buffer, offset)

    def _extend(self, offset: int, piece: memoryview) -> None:
        if self._failure is None and not self._abandoned:
            try:
                while self._disk_end < offset:
                    zeros = memoryview(_ZEROS)[: offset - self._disk_end]
                    self._put(self._disk_end, zeros)
                    self._disk_end += len(zeros)
                self._put(offset, piece)
            except OSError as error:
                self._failure = error
            else:
                self._disk_end = max(self._disk_end, offset + len(piece))
                return
        self._hold(offset, piece)

    def _put(self, offset: int, piece: memoryview) -> None:
        while piece:
            written = os.pwrite(self._descriptor, piece, offset)
            if written == 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            piece, offset = piece[written:], offset + written

    def _cut(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)


def open_file(disk: Transaction, mode: str) -> Any:
    """The HDF5 file over a transaction, in the default format, which every tool reads."""
    import h5py

    return h5py.File(disk, mode, libver=("earliest", "latest"))


def _lock(descriptor: int) -> None:
    """Make HDF5 refuse to open a file under way. Where the file system has no locks, HDF5 goes without, too."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise
