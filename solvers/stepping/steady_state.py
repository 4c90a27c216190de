"""States at rest: once a solution does not move any more, and would come back if it were pushed, no steps are needed.

A residual that has sunk to nothing does not tell a stable state from an unstable one, which rounding errors leave in
the end. So a copy of the solution is pushed by a thousandth and followed for as long again as the run has taken to come
to rest. Every motion that grows or hardly decays would then show in the residual of the copy: at a rate above
`allowed / (PUSH * elapsed)`. Only what is slower than that, and rounding errors, is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from mfpde.contracts.solver import Integration, State
from mfpde.typing import AnyArray

__all__ = ["PUSH", "REST_SHARE", "Rest", "Restful"]

#: of a tolerance: what a solution at rest would still move, relative to its size
REST_SHARE = 0.1
#: relative size of the change of the density that a copy begins with
PUSH = 1e-3
#: roundings of the fastest rate, below which a residual is not known
ROUNDINGS = 64.0
#: times what is allowed, that rounding errors may seem to move a solution at rest: it has relaxed several times since
_ROUNDING_RATIO_MAX = 1e3
#: times the push, that the copy may end up away: along a family of equal states, such as those turned
_DISTANCE_MAX = 10.0
#: how often a copy is looked at while it is followed
_LOOKS_AT_COPY = 16


class Restful(Protocol):
    """An integration that can be asked whether it rests."""

    @property
    def time(self) -> float:
        """Where it stands."""

    def residual(self) -> float:
        """`int |d_t mu|`."""

    def fastest_rate(self) -> float:
        """The largest rate in the linearised equations, whose roundings the residual is made of at rest."""

    def pushed(self) -> Integration:
        """A copy, changed by `PUSH`, that is never asked whether it rests."""

    def distance(self, other: Integration) -> float:
        """How far a copy is away, relative to the size of the solution."""


class Rest:
    """Whether a solution has come to rest for good. It follows from the solution and its times alone: neither clocks
    nor the way a run is cut into calls have any part in it.

    At rest it would move by less than `allowed`, relative to its size, in as much time as it has had since
    coefficients changed last.
    """

    def __init__(self, allowed: float, last_break: float = 0.0) -> None:
        self.found = False
        self._allowed, self._since = allowed, last_break
        self._after = last_break  # the time that the next look has to be later than
        self._copy: Integration | None = None
        self._pieces = 0  # of the elapsed time, that the copy has been followed

    def due(self, time: float) -> bool:
        """Whether a look at that time is worth while; coefficients must not change any more."""
        return not self.found and time > self._after

    def never(self) -> None:
        """No looks from now on."""
        self._after = np.inf

    def look(self, solution: Restful, budget: int) -> bool:
        """Spend about `budget` microseconds; False when there is more to do before the solution may move on."""
        elapsed = solution.time - self._since
        level = self._level(solution.fastest_rate(), elapsed)
        if self._copy is None:
            if not solution.residual() <= level:
                self._after = solution.time
                return True
            self._copy, self._pieces = solution.pushed(), 0
        state = self._copy.advance(solution.time + elapsed * (self._pieces + 1) / _LOOKS_AT_COPY, budget).state
        if state is State.REACHED:
            self._pieces += 1
            self.found = bool(self._copy.residual() <= level and solution.distance(self._copy) <= _DISTANCE_MAX * PUSH)
        if not self.found and (state is State.UNDER_WAY or (state is State.REACHED and self._pieces < _LOOKS_AT_COPY)):
            return False
        self._copy, self._after = None, solution.time + elapsed
        return True

    def _level(self, fastest: float, elapsed: float) -> float:
        """The residual of a solution that does not move any more."""
        rounding = ROUNDINGS * float(np.finfo(float).eps) * fastest
        return max(self._allowed / elapsed, min(rounding, _ROUNDING_RATIO_MAX * self._allowed / elapsed))

    def arrays(self) -> dict[str, AnyArray]:
        """What `restore` needs."""
        return {"rest": np.array([float(self.found), self._after])}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self.found, self._after = bool(arrays["rest"][0]), float(arrays["rest"][1])
        self._copy = None
