"""The disk under an HDF5 file: changes are gathered and applied in an order that no kill and no full disk can spoil.

What lies beyond the committed end of the file is written at once: nothing on the disk refers to it yet. What overwrites
the committed part waits in memory for `commit`, which applies it in ascending order. So a disk that fills up is noticed
before anything committed is touched, and the file is cut back to where it was.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

__all__ = ["Transaction", "open_file"]


class Transaction:
    """A file object for h5py's `fileobj` driver, locked like a file that HDF5 itself writes."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        flags = os.O_RDWR | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(path, flags | (os.O_CREAT | os.O_EXCL if create else 0), 0o666)
        try:
            _lock(self._descriptor)
        except OSError:
            os.close(self._descriptor)
            raise
        self._committed = self._disk_end = self._end = os.fstat(self._descriptor).st_size
        self._position = 0
        self._pending: dict[int, bytes] = {}  # in order of time: a later piece lies over an earlier one
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
        """What the file will hold after the commit."""
        start, stop = self._position, min(self._position + len(buffer), self._end)
        wanted = bytearray(max(stop - start, 0))
        found = os.pread(self._descriptor, len(wanted), start)
        wanted[: len(found)] = found
        for offset, piece in self._pending.items():
            _lay(wanted, start, piece, offset)
        buffer[: len(wanted)] = bytes(wanted)
        self._position = start + len(wanted)
        return len(wanted)

    def write(self, data: memoryview) -> int:
        """Beyond the committed end to the disk, before it to memory."""
        piece, offset = bytes(data), self._position
        inside = max(0, min(len(piece), self._committed - offset))
        if inside:
            self._hold(offset, piece[:inside])
        if inside < len(piece):
            self._extend(offset + inside, piece[inside:])
        self._position = offset + len(piece)
        self._end = max(self._end, self._position)
        return len(piece)

    def truncate(self, size: int) -> int:
        """The length that the file will have. Growth is filled with real zeros: a hole could run out of disk later."""
        if size > self._disk_end:
            self._extend(self._disk_end, bytes(size - self._disk_end))
        self._end = size
        return size

    def flush(self) -> None:
        """Nothing: see `commit`."""

    # -- what the store calls

    def commit(self) -> None:
        """Make everything since the last commit part of the file, or raise OSError and leave the file as it was."""
        if self._failure is not None:
            raise self._failure
        for offset, piece in _joined(self._pending):
            self._put(offset, piece)
        if self._end < self._disk_end:
            self._cut(self._end)
        self._pending.clear()
        self._committed = self._disk_end = self._end

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
            if self._disk_end > self._committed:
                os.ftruncate(self._descriptor, self._committed)
            os.close(self._descriptor)

    def _hold(self, offset: int, piece: bytes) -> None:
        earlier = self._pending.pop(offset, b"")
        self._pending[offset] = piece + earlier[len(piece) :]

    def _extend(self, offset: int, piece: bytes) -> None:
        if self._failure is None and not self._abandoned:
            try:
                if offset > self._disk_end:
                    self._put(self._disk_end, bytes(offset - self._disk_end))
                self._put(offset, piece)
            except OSError as error:
                self._failure = error
            else:
                self._disk_end = max(self._disk_end, offset + len(piece))
                return
        self._hold(offset, piece)

    def _put(self, offset: int, piece: bytes) -> None:
        view = memoryview(piece)
        while view:
            written = os.pwrite(self._descriptor, view, offset)
            if written == 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            view, offset = view[written:], offset + written

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


def _lay(below: bytearray, start: int, piece: bytes, offset: int) -> None:
    """Put a piece at `offset` over bytes that begin at `start`."""
    first, last = max(offset, start), min(offset + len(piece), start + len(below))
    if first < last:
        below[first - start : last - start] = piece[first - offset : last - offset]


def _joined(pieces: dict[int, bytes]) -> list[tuple[int, bytes]]:
    """Pieces that touch or overlap made one, in ascending order: fewer moments at which a kill could fall."""
    regions: list[list[int]] = []
    for offset in sorted(pieces):
        stop = offset + len(pieces[offset])
        if regions and offset <= regions[-1][1]:
            regions[-1][1] = max(regions[-1][1], stop)
        else:
            regions.append([offset, stop])
    joined = []
    for start, stop in regions:
        region = bytearray(stop - start)
        for offset, piece in pieces.items():
            _lay(region, start, piece, offset)
        joined.append((start, bytes(region)))
    return joined
