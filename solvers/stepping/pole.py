"""When a solution becomes infinite: the pole that steps shrink towards.

A quantity that grows like `(t* - t)^{-p}` does so at the rate `r = p / (t* - t)`. Where steps have become too short to
go on, `t + 1/r` is t* to the last digits, whatever p is. Where they cannot become so short, two steps tell the straight
line `1/r = (t* - t) / p`, and its zero. Both kinds of estimates are accepted by one rule.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mfpde.contracts.solver import Progress, State
from mfpde.solvers.stepping.adaptive_ode import March, Verdict
from mfpde.typing import Float

__all__ = [
    "LOOSER",
    "BlowUp",
    "PoleLine",
    "blow_up",
    "ended_early",
    "ending",
    "is_near",
    "line_zero",
    "pole_of_another",
]

#: times the tolerance: the march that gives the second opinion on a blow-up
LOOSER = 1e3

# shares of the time of a pole that may be left to go where it is accepted: of a march whose steps have vanished, and
# of a looser one, which also shows poles as blunt as that of a logarithm
_LEFT_OF_MARCH, _LEFT_OF_LOOSER = 1e-9, 1e-6
_SHORTEST_OF_LOOSER = 1e-11  # steps of the looser march, relative to the time: shorter ones might step over the pole
_ATTEMPTS_MAX = 100_000  # of the looser march; a pole it has not found by then has no second opinion
_SAFETY = 10.0  # between the error and a thousandth of what the looser march is off
_ROUNDING = 5e-14  # relative uncertainty of every pole: rounding of some hundred steps, in case both agree by chance
_OTHERS_SAFETY = 3.0  # between the error and how far other nodes are off
_TAILS_APART = 0.1  # of the time of a blow-up: how far apart those of nodes that end elsewhere are where tails make it
_LINE_ROWS = 12  # estimates of the straight line, over which the distance to the pole shrinks by ten or so


@dataclass(frozen=True)
class BlowUp:
    """A pole, and how far its time may be wrong."""

    time: float
    uncertainty: float

    @classmethod
    def accepted(
        cls, now: float, estimates: Sequence[float], left: float, spread_share: float, error: float
    ) -> BlowUp | None:
        """The last of some estimates, where at most the share `left` of its time is to go. It may be wrong by a share
        of the spread of all estimates, and by the relative `error`."""
        latest = estimates[-1]
        if not is_near(now, latest, left):
            return None
        return cls(latest, spread_share * float(np.ptp(estimates)) + error * latest)

    def progress(self, what: str) -> Progress:
        """What `advance` says of it."""
        message = f"{what} becomes infinite"
        return Progress(State.BLOW_UP, message, "end the run earlier", self.time, self.uncertainty)


def is_near(now: float, pole: float, left: float) -> bool:
    """Whether at most the share `left` of the time of a pole is to go."""
    return 0 <= pole - now < left * pole


# -- from the rate of a march
# -------------------------------------------------------------------------------------------------------------


def blow_up(march: March, looser: March) -> BlowUp | None:
    """The pole at which the steps of a march have vanished; its uncertainty is ten times the share that the error of a
    march with a `LOOSER` tolerance makes one expect, and what the march may err by: where first steps or stability
    bound the steps of both, they agree better than each is right. None when they have not vanished for that reason."""
    time = _pole(march)
    if not is_near(march.time, time, _LEFT_OF_MARCH):
        return None
    other = pole_of_another(looser, time)
    estimates = [np.inf if other is None else other, time]
    return BlowUp.accepted(march.time, estimates, _LEFT_OF_MARCH, _SAFETY / LOOSER, _ROUNDING + march.error_max)


def pole_of_another(march: March, time: float) -> float | None:
    """What a march that has yet to come there says of a pole at that time; None when it finds none till twice that."""
    for _ in march.to(2 * time, _ATTEMPTS_MAX):
        if march.step <= _SHORTEST_OF_LOOSER * march.time:
            break
    pole = _pole(march)
    return pole if is_near(march.time, pole, _LEFT_OF_LOOSER) else None


def _pole(march: March) -> float:
    """Where the rate `1 / (t* - t)` is infinite."""
    rate = march.growth
    return march.time + 1 / rate if rate > 0 else np.inf


def ending(march: March, looser: March, others: March | None, compact: bool) -> Progress:
    """How a march of nodes ends whose steps have vanished: by a blow-up, whose time other nodes of the same law must
    agree about, or for no reason that is known. A looser one of the same nodes and one of the others give opinions."""
    found = blow_up(march, looser)
    here = None if found is None else pole_of_another(looser, found.time)
    if found is None or here is None or others is None:
        return ended_early("the variance", found, march)
    there = pole_of_another(others, found.time)
    apart = np.inf if there is None else abs(here - there)
    if not compact and apart > _TAILS_APART * found.time:
        message = "tokens of the tails run to infinity, the sooner the farther out they are: there is no solution"
        return Progress(State.NOT_FINITE, message, "use data of bounded support")
    within = replace(found, uncertainty=max(found.uncertainty, _OTHERS_SAFETY * apart))
    return ended_early("the variance", within, march)


def ended_early(what: str, found: BlowUp | None, march: March) -> Progress:
    """What `advance` says when steps have become too short to go on."""
    if found is None:
        message = march.trouble or Verdict.VANISHED.value
        return Progress(State.NOT_FINITE, message, "check the size of the coefficients against time.until")
    return found.progress(what)


# -- from a straight line
# -------------------------------------------------------------------------------------------------------------


def line_zero(before: float, last: float, time: float, inverse_rate: float) -> float:
    """Where the straight line through 1/r at two times is zero; infinite where it does not fall towards it."""
    if not (time > before and math.isfinite(inverse_rate) and math.isfinite(last)):
        return math.inf
    slope = (inverse_rate - last) / (time - before)
    return time - inverse_rate / slope if slope < 0 < inverse_rate else math.inf


class PoleLine:
    """The zeros of the straight lines through 1/r at the ends of steps."""

    def __init__(self) -> None:
        self._rows: deque[tuple[float, float, float]] = deque(maxlen=_LINE_ROWS)  # t, 1/r, estimate of t*

    def add(self, time: float, inverse_rate: float) -> None:
        """Remember 1/r at a time, once for each time."""
        before, last = self.last
        if time == before:
            return
        self._rows.append((time, inverse_rate, line_zero(before, last, time, inverse_rate)))

    @property
    def last(self) -> tuple[float, float]:
        """The last time, and 1/r then; infinite before the first one."""
        return self._rows[-1][:2] if self._rows else (math.inf, math.inf)

    def pole(self, left: float, error: float) -> BlowUp | None:
        """The pole, once there are enough estimates and the last leaves at most the share `left` of its time to go;
        `error` is the relative one of the rates."""
        estimates = [estimate for _, _, estimate in self._rows]
        if len(estimates) < _LINE_ROWS or not all(map(math.isfinite, estimates)):
            return None
        return BlowUp.accepted(self._rows[-1][0], estimates, left, 1.0, error)

    def array(self) -> Float:
        """What a checkpoint keeps of it, `(rows, 3)`."""
        return np.array(self._rows, dtype=float).reshape(-1, 3)

    def restore(self, kept: Float) -> None:
        """Go on from there."""
        self._rows = deque(map(tuple, kept.tolist()), maxlen=_LINE_ROWS)
