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
from mfpde.typing import Float

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Stream", "random_stream", "seed_of_part"]

_WORD = 2**64
_PIECE = 2**15  # numbers that a thread makes at a time


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


def seed_of_part(seed: int, part: int) -> int:
    """A seed for each of the parts that a measure is made of."""
    return int(np.random.SeedSequence([seed, part]).generate_state(2, np.uint64)[0])
