"""Python values over a pipe: eight bytes of length, then a pickle."""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any

__all__ = ["read_frame", "write_frame"]

_LENGTH = struct.Struct("<Q")


def write_frame(stream: IO[bytes], value: Any) -> None:
    """One value, and at once."""
    content = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def read_frame(stream: IO[bytes]) -> Any:
    """The next value; `EOFError` where the other side has gone, in the middle of one as well."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return pickle.loads(_exactly(stream, length))  # noqa: S301 - of our own processes


def _exactly(stream: IO[bytes], count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content
