"""Who merged with whom, and when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.typing import Float, Integers

__all__ = ["Mergers"]


@dataclass(frozen=True, eq=False)
class Mergers:
    """Mergers of clusters of tokens in the order of their times. Tokens and copies are counted from 0; a cluster has
    the number of its first token, and `token`, the first one of the cluster that ends, is joined to the cluster `into`.

    >>> import mfpde
    >>> run = mfpde.solve(mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "attention": {"kind": "softmax", "beta": 1},
    ...     "initial": {"kind": "points", "values": [0.0, 2.0, 0.1]},
    ...     "solver": {"kind": "particles", "merge": 1e-3},
    ...     "time": {"until": 20},
    ... }))
    >>> run.mergers.token, run.mergers.into, run.mergers.labels([0.0, 20.0], 3)
    (array([2, 1]), array([0, 0]), array([[0, 1, 2],
           [0, 0, 0]]))
    """

    time: Float
    copy: Integers
    token: Integers
    into: Integers

    def __len__(self) -> int:
        """How many there were."""
        return self.time.size

    def labels(self, times: Float, count: int, copy: int = 0) -> Integers:
        """Number of the cluster of each of `count` tokens of a copy at these times, `(time, count)`."""
        here, rows = self.copy == copy, []
        for time in np.asarray(times, dtype=float):
            label, past = np.arange(count), here & (self.time <= time)
            label[self.token[past]] = self.into[past]
            while not np.array_equal(label, label[label]):
                label = label[label]
            rows.append(label)
        return np.array(rows, dtype=int).reshape(-1, count)
