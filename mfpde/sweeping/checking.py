"""Before the first point: everything that can be known to be wrong with a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, zip_longest
from time import monotonic
from typing import Any

from mfpde.errors import Fault, MfpdeError, ProblemError, nearest, shown
from mfpde.prepare import faults
from mfpde.problem import Problem
from mfpde.sweeping.collecting import OBSERVE_TIME
from mfpde.sweeping.plan import Plan

__all__ = ["POINTS_MAX", "check_sweep"]

POINTS_MAX = 200_000  # without force: at 5 ms a point that is a quarter of an hour of a processor
_CHECK_SECONDS = 1.0  # of complete checks of solver, observables and initial measure; values alone are quick
_NUMBERS_MAX = 1000  # of an axis that are validated: keys that take numbers take intervals, or whole numbers only


def check_sweep(problem: Problem, *, force: bool = False) -> Plan:
    """The plan of a sweep; `ProblemError` with all that is wrong: a key or value that makes no problem, a solver that
    does not fit it or cannot give what is collected, too many points.

    Values of every axis are tried with the first of the others, all but those of long ranges: what fails in a
    combination only is a row.
    """
    problem.need("sweep")
    plan = Plan(problem)
    if plan.size > POINTS_MAX and not force:
        told = f"makes {plan.size:,} points, more than {POINTS_MAX:,}; --force (force=True) solves them all the same"
        raise ProblemError.at("sweep", told)
    if not problem.collect:
        raise ProblemError.at("collect", "is missing: a sweep needs to know what to keep, e.g. collect: [mass]")
    found = list(_misplaced(plan)) or list(_faults(plan))
    if found:
        raise ProblemError(dict.fromkeys(found))
    _check_variables(plan)
    return plan


def _misplaced(plan: Plan) -> Iterator[Fault]:
    """Entries of stationary states where points are runs, and of runs where they are states."""
    for place, entry in enumerate(plan.whole.collect):
        if plan.of_states and not entry.of_state:
            told = "is of stationary states here (bifurcation, no time): of which? add e.g. branch: mode 1, and at: 2"
            yield Fault(("collect", place), told)
        elif entry.of_state and not plan.of_states:
            told = "is of stationary states, and points are runs: it needs the block bifurcation, and no time"
            yield Fault(("collect", place), told)


def _faults(plan: Plan) -> Iterator[Fault]:
    """Of every value on its own; complete checks where the first point passes its own, as far as there is time."""
    first = plan.settings(0)
    wrong = list(_point_faults(plan, first, thorough=True))
    yield from wrong
    for axis in plan.axes:
        places = _halvings(len(axis))
        numbers = all(values.dtype.kind == "f" for values in axis.coordinates.values())
        for place in sorted(islice(places, _NUMBERS_MAX) if numbers else places):
            yield from _point_faults(plan, {**first, **axis.at(place)}, thorough=False)
    until = monotonic() + _CHECK_SECONDS
    for settings in [] if wrong else _ends_first(plan):
        if monotonic() > until:
            return
        yield from _point_faults(plan, settings, thorough=True)


def _ends_first(plan: Plan) -> Iterator[dict[str, Any]]:
    """Every value of every axis with the first of the others: of all axes in turn the end, the middle, quarters, .."""
    first = plan.settings(0)
    for places in zip_longest(*(_halvings(len(axis)) for axis in plan.axes)):
        for axis, place in zip(plan.axes, places, strict=True):
            if place is not None:
                yield {**first, **axis.at(place)}


def _halvings(count: int) -> Iterator[int]:
    """The places 1 to count - 1, the last one first, then by halving.

    >>> list(_halvings(7))
    [6, 4, 2, 1, 3, 5]
    """
    if count > 1:
        yield count - 1
    step = 1 << count.bit_length()
    while step > 1:
        yield from range(step // 2, count - 1, step)
        step //= 2


def _point_faults(plan: Plan, settings: dict[str, Any], *, thorough: bool) -> Iterator[Fault]:
    try:
        problem = plan.changed(settings)
        if plan.of_states:
            from mfpde.sweeping.stationary import stationary_faults  # what runs do not need is not loaded for them

            found = list(stationary_faults(problem, plan.whole.collect))
        else:
            found = faults(problem) if thorough else []
    except ProblemError as error:
        found = list(error.faults)
    for fault in found:
        yield _about_sweep(plan, fault, settings)


def _about_sweep(plan: Plan, fault: Fault, settings: Mapping[str, Any]) -> Fault:
    """A fault of a point as one of the file: of the swept key whose value it is about, or of what is collected."""
    if fault.path[:1] == ("observe",) and len(fault.path) > 1:
        place = plan.entry_of(int(fault.path[1]))
        return fault if place is None else Fault(("collect", place, "observe", *fault.path[2:]), fault.message)
    for key, value in settings.items():
        parts = tuple(key.split("."))
        common = min(len(parts), len(fault.path))
        if common and tuple(map(str, fault.path[:common])) == parts[:common]:
            named = fault.message.startswith("unknown key")
            message = fault.message if named else f"{fault.message} (for {key} = {shown(value)})"
            return Fault(plan.place_of(key), message)
    return fault


def _check_variables(plan: Plan) -> None:
    variables = plan.variables
    if any(OBSERVE_TIME in one.dimensions for one in variables):
        for axis in plan.axes:
            for key in axis.keys:
                if key.split(".")[0] == "time":
                    told = "collects whole series, and their times differ from point to point"
                    raise ProblemError([Fault(plan.place_of(key), f"cannot be swept by what {told}")])
    _check_refinement(plan)
    taken = {key for axis in plan.axes for key in axis.keys}
    clash = next((one.name for one in variables if one.name in taken), None)
    if clash is not None:
        raise MfpdeError(f"{clash!r} is swept and collected; give what is collected another name")


def _check_refinement(plan: Plan) -> None:
    refinement = plan.refinement
    if refinement is None:
        return
    known = {one.name: one for one in plan.variables}
    found = known.get(refinement.where)
    if found is None:
        near = nearest(refinement.where, known)
        told = f"{shown(refinement.where)} is not collected{near}; collected: {', '.join(known)}"
        raise ProblemError.at("sweep.refine.where", told)
    if found.size > 1 or found.shape:
        raise ProblemError.at("sweep.refine.where", f"{found.name} is not one number at each point")
    if all(axis.stride == 1 for axis in plan.axes):
        raise ProblemError.at("sweep.refine", "refines ranges {from, to, count}, and there is none")
