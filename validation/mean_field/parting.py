"""Where tokens and the solution part, because chance grows in an unstable, critical or metastable state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.typing import Float
from mfpde.validation.mean_field.plan import LEAST_COUNTS

__all__ = ["LATER", "Parting"]

#: factor between the times of parting of the most and the fewest tokens
LATER = 1.05
#: spread of observables of modulus 1 up to which it grows as linear theory says: the relative correction is about the
#: spread itself (an eighth at 0.1 and a quarter at 0.2 for tokens that leave the uniform state of the circle)
_LINEAR_SPREAD_MAX = 0.1
_CHANCE_FACTOR = 1.5  # times n^-1/2, the spread of few tokens from the beginning: no sign that they part


@dataclass(frozen=True, eq=False)
class Parting:
    """Spreads and errors of smooth observables, `(count, time)`. The spread among systems of tokens is chance alone,
    the error is the bias as well: a system that has another limit does not part, it is wrong.

    >>> times, counts = np.array([0.0, 1.0, 2.0, 3.0]), 10.0 ** np.arange(2, 6)
    >>> grown = np.minimum(np.exp(times) / np.sqrt(counts)[:, None], 0.7)
    >>> parting = Parting(times, counts, grown, grown)
    >>> parting.together, parting.from_count, bool(parting.later > 2)
    ([1], 1, True)
    """

    times: Float
    counts: Float
    spreads: Float
    errors: Float

    @cached_property
    def together(self) -> list[int]:
        """Times, but for the first, up to which chance grows as linear theory says for as many of the largest numbers
        of tokens as a rate is made of."""
        followed = []
        for index in range(1, self.times.size):
            if (self.spreads[:, index] > self.bounds)[-LEAST_COUNTS:].any():
                break
            followed.append(index)
        return followed

    @property
    def bounds(self) -> Float:
        """The spread from which on tokens follow the solution no more, by the number of tokens."""
        return np.maximum(_LINEAR_SPREAD_MAX, _CHANCE_FACTOR / np.sqrt(self.counts))

    @property
    def from_count(self) -> int:
        """Place of the first number of tokens whose spreads are small at all these times."""
        small = (self.spreads[:, self.together] <= self.bounds[:, None]).all(axis=1)
        return min(int(np.argmax(small)), self.counts.size - LEAST_COUNTS)

    @property
    def parted(self) -> int:
        """Place of the most tokens of those that have parted then."""
        after = len(self.together) + 1
        return int(np.flatnonzero(self.spreads[:, after] > self.bounds)[-1])

    @property
    def when(self) -> float | None:
        """The first time at which they have parted, or None."""
        after = len(self.together) + 1
        return float(self.times[after]) if after < self.times.size else None

    @property
    def later(self) -> float:
        """Time at which the error of the most tokens passes the bound of the fewest that are small at first, over the
        time at which the error of these does; infinite, or not a number, where that is after the end."""
        place = self.from_count
        first, last = (self._time(self.errors[each], self.bounds[place]) for each in (place, -1))
        return last / max(first, float(np.finfo(float).tiny))

    def _time(self, errors: Float, bound: float) -> float:
        """When the error passes the bound, between two looks by its logarithm; infinite where it does not."""
        beyond = np.flatnonzero(errors > bound)
        if not beyond.size:
            return math.inf
        index = int(beyond[0])
        if index == 0:
            return 0.0
        low, high = np.log(errors[index - 1 : index + 1])
        share = (np.log(bound) - low) / (high - low)
        before, after = self.times[index - 1 : index + 1]
        return float(before + share * (after - before))
