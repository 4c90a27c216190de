"""Random numbers, all of them, from one generator: Philox4x64-10 (Salmon, Moraes, Dror, Shaw 2011), a function of a
counter and a key, without a state.

`Stream` gives the numbers of a token in a step, whoever asks for them, in whatever order. `random_stream` gives a
sequence for the draws of a measure. Their counters have no value in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.arguments import amount, whole
from mfpde.blas import blas_in_one_thread
from mfpde.typing import Float

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Stream",
    "normal_rows",
    "orthonormal_rows",
    "random_stream",
    "seed_of_part",
    "uniform_rows",
]

_WORD = 2**64  # values of an unsigned word
_PIECE = 2**15  # numbers that a thread makes at a time
_NUMBERS_PER_COUNT = 4  # of 64 bits, that Philox makes of one value of its counter


@dataclass(frozen=True)
class Stream:
    """Numbers that depend on (seed, copy, token, step) alone: not on threads, on the slice of tokens asked for, or on
    when a run was resumed.

    `copy` tells runs of one seed apart, `purpose` (from 1 on) what is drawn for different ends in one step. Tokens have
    the same number of `components` throughout: those of token i are numbers `i components ..` of its step.

    >>> stream = Stream(seed=7)
    >>> noise = stream.normals(step=3, count=100, components=2)
    >>> np.array_equal(stream.normals(step=3, count=10, components=2, first=50), noise[50:60])
    True
    """

    seed: int = 0
    copy: int = 0
    purpose: int = 1

    def __post_init__(self) -> None:
        whole("seed", self.seed, below=_WORD)
        whole("copy", self.copy, below=_WORD)
        amount("purpose", self.purpose, least=1)  # 0 is the counter of `random_stream`

    def uniforms(self, step: int, count: int, components: int = 1, first: int = 0, out: Float | None = None) -> Float:
        """`(count, components)` for tokens from `first` on: odd multiples of 2^-53 in (0, 1), equally likely."""
        from mfpde.transform.philox_kernels import fill_uniforms

        return self._filled(fill_uniforms, step, (count, components), first, out)

    def normals(self, step: int, count: int, components: int = 1, first: int = 0, out: Float | None = None) -> Float:
        """The same of the standard normal law, by Box and Muller, cut off at 9.4."""
        from mfpde.transform.philox_kernels import fill_normals

        return self._filled(fill_normals, step, (count, components), first, out)

    def _filled(
        self, fill: Callable[..., None], step: int, shape: tuple[int, int], first: int, out: Float | None
    ) -> Float:
        from mfpde.transform.threads import pieces, run_pieces

        made = np.empty(shape) if out is None else out
        numbers, start = made.reshape(-1), first * shape[1]
        key, counter = _words(self.seed, self.copy), _words(0, step, 0, self.purpose)
        parts = pieces(numbers.size, _PIECE)

        def work(piece: int) -> None:
            low, high = parts[piece]
            fill(key, counter, start + low, numbers[low:high])

        run_pieces(work, len(parts), numbers.size)
        return made


def _words(*values: int) -> Any:
    return np.array(values, dtype=np.uint64)


def random_stream(count: int, seed: int, stream: int | None = None) -> np.random.Generator:
    """Random numbers for so many draws: one stream of a seed, or its only one."""
    amount("count", count)
    key = whole("seed", seed, below=_WORD**2 if stream is None else _WORD)
    return np.random.Generator(np.random.Philox(key=key if stream is None else [key, stream]))


def uniform_rows(count: int, width: int, seed: int, stream: int | None = None, first: int = 0) -> Float:
    """Rows `(count, width)` of the uniform numbers of a stream, from that row on; those before cost nothing.

    >>> rows = uniform_rows(10, 3, seed=1)
    >>> np.array_equal(uniform_rows(4, 3, seed=1, first=5), rows[5:9])
    True
    """
    random = random_stream(count, seed, stream)
    skipped = first * width
    if skipped:
        random.bit_generator.advance(skipped // _NUMBERS_PER_COUNT)  # type: ignore[attr-defined]
        random.random(skipped % _NUMBERS_PER_COUNT)
    return random.random((count, width))


def normal_rows(count: int, width: int, seed: int, stream: int | None = None, first: int = 0) -> Float:
    """The same of standard normal numbers. Those before are drawn, since each takes as many uniform ones as it needs,
    and dropped: they cost time, ten nanoseconds each, and no memory.

    >>> np.array_equal(normal_rows(4, 3, seed=1, first=5), normal_rows(10, 3, seed=1)[5:9])
    True
    """
    random = random_stream(count, seed, stream)
    for start in range(0, first * width, _PIECE):
        random.standard_normal(min(_PIECE, first * width - start))
    return random.standard_normal((count, width))


def seed_of_part(seed: int, part: int) -> int:
    """A seed for each of the parts that a measure is made of."""
    return int(np.random.SeedSequence([seed, part]).generate_state(2, np.uint64)[0])


def orthonormal_rows(rows: int, columns: int, seed: int) -> Float:
    """The first rows of an orthogonal matrix with the uniform law on the group (Haar's): the QR decomposition of normal
    numbers, R with a positive diagonal [mezzadri2007]."""
    normals = random_stream(rows * columns, seed).standard_normal((columns, rows))
    with blas_in_one_thread():
        unit, triangle = np.linalg.qr(normals)
    signs = np.where(np.diagonal(triangle) < 0, -1.0, 1.0)
    return np.ascontiguousarray((unit * signs).T)
