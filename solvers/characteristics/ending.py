"""How runs end whose steps have shrunk to nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mfpde.solvers.base import Progress, State
from mfpde.solvers.blow_up import BlowUp, blow_up, ended_early
from mfpde.solvers.characteristics.flow import Flow
from mfpde.solvers.march import March

__all__ = ["ending"]

_AT_ONCE = 0.1  # of the time of a blow-up, between those of nodes that reach out to different distances
_NEAR = 1e-11  # steps, in units of t, that only a pole asks for
_SAFETY = 3.0

#: a looser march of a flow
Looser = Callable[[Flow], March]


def ending(flow: Flow, march: March, other: Flow | None, looser: Looser, compact: bool) -> Progress:
    """A blow-up, whose time other nodes of the same law must agree about, or no reason that is known."""
    again = looser(flow)
    found = blow_up(flow.escape, march, again)
    if found is None or other is None:
        return ended_early("the variance", found, march)
    apart = abs(_pole(flow, again, found) - _pole(other, looser(other), found))
    if not compact and apart > _AT_ONCE * found.time:
        message = "tokens of the tails run to infinity, the sooner the farther out they are: there is no solution"
        return Progress(State.NOT_FINITE, message, "use data of bounded support")
    return ended_early("the variance", _within(found, _SAFETY * apart), march)


def _pole(flow: Flow, march: March, found: BlowUp) -> float:
    """The end of a march, or where it must be when steps have become short."""
    while march.time < 2 * found.time and march.step > _NEAR * march.time:
        march.attempt()
    rate = flow.escape(march.time, march.state)
    return march.time + 1 / rate if rate > 0 else march.time


def _within(found: BlowUp, apart: float) -> BlowUp:
    known = found.uncertainty if np.isfinite(found.uncertainty) else 0.0
    return replace(found, uncertainty=max(known, apart))
