"""Points that are diagrams of stationary states: what is collected of them, and what cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mfpde.bifurcation.bifurcating import check_bifurcation
from mfpde.bifurcation.diagram import Branch, Diagram, observed_state
from mfpde.bifurcation.families import equation_at
from mfpde.bifurcation.selection import choose
from mfpde.bifurcation.stationary import StationaryState
from mfpde.collect_block import Collected
from mfpde.errors import Fault
from mfpde.problem import Problem
from mfpde.sweeping.collecting import Variable
from mfpde.typing import Float

__all__ = ["stationary_faults", "stationary_values"]


def stationary_faults(problem: Problem, collected: Sequence[Collected]) -> Iterator[Fault]:
    """Why there is no diagram of a problem, or why it does not have what is collected, by places in the file."""
    asked, _ = check_bifurcation(problem)
    low, high = asked.range
    equation = equation_at(problem.equation, asked.parameter, low)
    for place, entry in enumerate(collected):
        if entry.at is not None and not low <= entry.at <= high:
            told = f"must be in the diagram's range, {low:g} to {high:g}, not {entry.at:g}"
            yield Fault(("collect", place, "at"), told)
        why = None if entry.observe is None else entry.observe.unfit(equation)
        if why is not None and entry.observe is not None:
            yield Fault(("collect", place, "observe"), f"{entry.observe.kind} cannot be observed here: {why}")


def stationary_values(variables: Sequence[Variable], diagram: Diagram) -> Float:
    """The values of all variables, NaN where the diagram has no such state."""
    return np.array([_value(variable, diagram) for variable in variables], dtype=float)


def _value(variable: Variable, diagram: Diagram) -> float:
    entry = variable.entry
    if entry.of_all_states:
        states = [state for branch in diagram.branches for state in branch.states_at(entry.at or 0.0)]
        return float(len(states) if entry.state == "count" else sum(state.stable for state in states))
    branch = next((one for one in diagram.branches if entry.branch in (one.number, one.name)), None)
    found = None if branch is None else _state_of(entry, branch)
    if found is None:
        return float("nan")
    parameter, state = found
    if entry.observe is not None:
        equation = equation_at(diagram.problem.equation, diagram.parameter, parameter)
        return float(observed_state(entry.observe, state, equation)[variable.series])
    return _quantity(entry, parameter, state)


def _state_of(entry: Collected, branch: Branch) -> tuple[float, StationaryState] | None:
    """That state of the branch with its parameter."""
    if entry.at is None:
        point = next((point for point in branch.special if point.kind == entry.special), None)
        return None if point is None else (point.parameter, point.state)
    states = branch.states_at(entry.at)
    if len(states) < 2 and entry.side is None:
        return (entry.at, states[0]) if states else None
    there = {side for side in ("upper", "lower", "oblate") if _has(states, side)}
    side = entry.side or "upper"
    return (entry.at, choose(states, side, branch.name, branch.nearest(entry.at))) if side in there else None


def _has(states: Sequence[StationaryState], side: str) -> bool:
    """Whether one is on that side: of two or more with a positive moment the smaller is the lower one."""
    positive = sum(state.state.b[state.mode] > 0 for state in states)
    negative = sum(state.state.b[state.mode] < 0 for state in states)
    return bool({"upper": positive > 0, "lower": positive > 1, "oblate": negative > 0}[side])


def _quantity(entry: Collected, parameter: float, state: StationaryState) -> float:
    match entry.state:
        case "amplitude":
            return state.amplitude
        case "spectral-gap":
            return state.spectral_gap
        case "unstable":
            return float(state.unstable)
    return parameter
