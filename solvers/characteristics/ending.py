"""The outcome of runs whose steps have vanished."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mfpde.contracts.solver import Progress, State
from mfpde.solvers.characteristics.flow import Flow
from mfpde.solvers.stepping.adaptive_ode import March
from mfpde.solvers.stepping.pole import blow_up, ended_early, pole_of_another

__all__ = ["ending"]

_SIMULTANEOUS = 0.1  # share of the time of a blow-up by which the times of different node sets may differ
_UNCERTAINTY_FACTOR = 3.0  # times the difference between two node sets

#: a looser march of a flow
Looser = Callable[[Flow], March]


def ending(flow: Flow, march: March, other: Flow | None, looser: Looser, compact: bool) -> Progress:
    """A blow-up, whose time other nodes of the same law must agree about, or no reason that is known."""
    again = looser(flow)
    found = blow_up(flow.escape, march, again)
    here = None if found is None else pole_of_another(flow.escape, again, found.time)
    if found is None or here is None or other is None:
        return ended_early("the variance", found, march)
    there = pole_of_another(other.escape, looser(other), found.time)
    apart = np.inf if there is None else abs(here - there)
    if not compact and apart > _SIMULTANEOUS * found.time:
        message = "tokens of the tails run to infinity, the sooner the farther out they are: there is no solution"
        return Progress(State.NOT_FINITE, message, "use data of bounded support")
    within = replace(found, uncertainty=max(found.uncertainty, _UNCERTAINTY_FACTOR * apart))
    return ended_early("the variance", within, march)
