"""When a solution becomes infinite: the pole that steps shrink towards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.contracts.solver import Progress, State
from mfpde.solvers.stepping.adaptive_ode import Attempt, March

__all__ = ["LOOSER", "BlowUp", "Growth", "blow_up", "ended_early", "pole_of_another"]

#: `d/dt log` of a variance, at a time and a state
Growth = Callable[[float, Any], float]
#: times the tolerance: the second opinion on a blow-up
LOOSER = 1e3

_FASTER = 1e9  # growth rates that only a pole has, in units of 1/t
_NEAR = 1e-11  # steps, in units of t, that only a pole asks for
_FAST = 1e6  # growth rates in units of 1/t that go with them, also where a pole is as blunt as that of a logarithm
_SAFETY = 10.0
_ROUNDING = 5e-14  # least relative uncertainty: rounding of some hundred steps, in case both estimates agree by chance


@dataclass(frozen=True)
class BlowUp:
    """A pole, and how far its time may be wrong."""

    time: float
    uncertainty: float

    def progress(self, what: str) -> Progress:
        """What `advance` says of it."""
        return Progress(
            State.BLOW_UP,
            f"{what} becomes infinite",
            "end the run earlier",
            time=self.time,
            uncertainty=self.uncertainty,
        )


def blow_up(growth: Growth, march: March, looser: March) -> BlowUp | None:
    """The pole, and how far it may be wrong: ten times the share that the error of a march with a `LOOSER` tolerance
    makes one expect. None when steps have not vanished for that reason."""
    time = _pole(growth, march, _FASTER)
    if time is None:
        return None
    other = pole_of_another(growth, looser, time)
    apart = _SAFETY / LOOSER * abs(time - other) if other is not None else np.inf
    return BlowUp(time, max(apart, _ROUNDING * time))


def pole_of_another(growth: Growth, march: March, time: float) -> float | None:
    """What a march that has yet to come there says of a pole at that time; None when it finds none till twice that."""
    while march.time < 2 * time and march.step > _NEAR * march.time:  # shorter ones might step over the pole
        march.attempt()
    return _pole(growth, march, _FAST)


def ended_early(what: str, found: BlowUp | None, march: March) -> Progress:
    """What `advance` says when steps have become too short to go on."""
    if found is None:
        message = march.trouble or Attempt.VANISHED.value
        return Progress(State.NOT_FINITE, message, "check the size of the coefficients against time.until")
    return found.progress(what)


def _pole(growth: Growth, march: March, faster: float) -> float | None:
    """Where `growth = p / (t* - t)` is infinite, once steps have become too short to go on: some roundings of t
    further."""
    rate = growth(march.time, march.place)
    return march.time + 1 / rate if rate * march.time > faster else None
