"""States of a branch at a given parameter, and which of them is meant."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from mfpde.bifurcation.continuation import Tracer
from mfpde.bifurcation.launching import tracer_of
from mfpde.bifurcation.quadrature import harmonic_counts
from mfpde.bifurcation.stationary import StationaryState, state_from_moments
from mfpde.bifurcation.symmetry import stride_of_moments
from mfpde.errors import MfpdeError
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.bifurcation.diagram import Branch

__all__ = ["choose", "coexistence", "solve_between"]

_VERTICAL_WIDTH = 1e-10  # relative width of a step along a vertical branch


def solve_between(branch: Branch, point: int, parameter: float) -> StationaryState | None:
    """The state at that parameter between a point and the next, or None where Newton's method finds none."""
    family = branch.family
    rows = np.nan_to_num(branch.moments[point : point + 2])
    stride = int(np.gcd.reduce([max(stride_of_moments(row, family.dimension), 0) for row in rows]))
    if stride == 0:  # the uniform state is one at every value of the parameter
        return StationaryState(state_from_moments(family.make(parameter), rows[0]), max(branch.mode, 1))
    tracer = tracer_of(family, stride, family.place(parameter), 0)
    share = (parameter - branch.parameter[point]) / (branch.parameter[point + 1] - branch.parameter[point])
    moments = (1 - share) * rows[0] + share * rows[1]
    found = _solved(tracer, moments, family.place(parameter))
    return None if found is None else StationaryState(tracer.system.state(found), max(branch.mode, 1))


def _solved(tracer: Tracer, moments: Float, u: float) -> Float | None:
    """Newton's method from moments, on a rule that resolves the solution."""
    system = tracer.system
    padded = np.zeros(system.family.top + 1)
    size = min(padded.size, moments.size)
    padded[:size] = moments[:size] * np.sqrt(harmonic_counts(system.family.dimension, size - 1))
    x = np.append(padded[system.active], u)
    system.refined(x)
    found = tracer.at_parameter(x, u)
    while found is not None and system.refined(found):
        found = tracer.at_parameter(found, u)
    return found


def choose(states: list[StationaryState], side: str | None, what: str, nearest: str) -> StationaryState:
    """The state on a side: upper and lower are the larger and the smaller amplitude of those with positive moment."""
    positive = sorted((s for s in states if _own(s) > 0), key=lambda s: s.amplitude)
    negative = sorted((s for s in states if _own(s) < 0), key=lambda s: s.amplitude)
    if side is None and len(states) == 1:
        return states[0]
    found = {"upper": positive[-1:], "lower": positive[:-1][:1], "oblate": negative[-1:]}
    if side is not None and side not in found:
        raise MfpdeError(f"side must be upper, lower or oblate, not {side!r}")
    if side is None and states:
        listed = ", ".join(f"{name} (amplitude {s[0].amplitude:.4g})" for name, s in found.items() if s)
        raise MfpdeError(f"{what}: several states are there, say which side: {listed}")
    if side is None or not found[side]:
        there = ", ".join(name for name, s in found.items() if s) or "none"
        on = "" if side is None else f"on the side {side} "
        raise MfpdeError(f"{what}: no state {on}is there (sides: {there}); {nearest}")
    return found[side][0]


def _own(state: StationaryState) -> float:
    return float(state.state.b[state.mode])


def coexistence(branches: list[Branch]) -> tuple[float, float] | None:
    """Where two or more stable states are."""
    spans = []
    for branch in branches:
        spans += [tuple(sorted(branch.parameter[i : i + 2])) for i in branch.stable_segments()]
    edges = sorted({edge for span in spans for edge in span})
    middle = [0.5 * (a + b) for a, b in pairwise(edges)]
    wide = [(low, high) for low, high in spans if high - low > _VERTICAL_WIDTH * abs(high)]
    shared = [i for i, at in enumerate(middle) if sum(low < at < high for low, high in wide) > 1]
    return (float(edges[shared[0]]), float(edges[shared[-1] + 1])) if shared else None
