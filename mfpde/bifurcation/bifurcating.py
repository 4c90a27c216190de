"""`mfpde.bifurcate`: the diagram of a problem."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mfpde.activity import doing, told_to
from mfpde.bifurcation.assembling import branch_of, uniform_branch
from mfpde.bifurcation.continuation import Point
from mfpde.bifurcation.critical import critical_places
from mfpde.bifurcation.deflation import other_states
from mfpde.bifurcation.diagram import ENDED, Branch, Diagram
from mfpde.bifurcation.exploring import Explorer
from mfpde.bifurcation.families import family_of
from mfpde.bifurcation.states import Family
from mfpde.bifurcation.ties import tied
from mfpde.contracts import INTERRUPTED, Outcome
from mfpde.errors import ProblemError
from mfpde.problem import Bifurcation, Problem

__all__ = ["bifurcate", "check_bifurcation"]

_SEARCH_FACTORS = (0.05, 20.0)  # of the range: how far the nearest bifurcation is looked for


def bifurcate(problem: Problem | str | Path, output: str | Path | None = None, progress: Any = False) -> Diagram:
    """All branches of stationary states over the range that the block `bifurcation` of a problem names.

    With `branches` only those modes and what leaves them; without, all modes that leave the uniform state in the range,
    what leaves them, and states found by deflation that no branch has met. `progress`: a function that is called with a
    line of text. A `KeyboardInterrupt` ends the search; the diagram holds what was found, its outcome is `interrupted`.

    >>> import mfpde
    >>> diagram = mfpde.bifurcate(mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "attention": {"kind": "unnormalized", "beta": 0},
    ...     "bifurcation": {"parameter": "kappa", "range": [1, 4], "branches": ["uniform", 1]},
    ... }))
    >>> born = diagram.branches[1].special[0]
    >>> print(born.kind, round(born.parameter, 9), born.type)
    branch-point 2.0 supercritical
    """
    read = problem if isinstance(problem, Problem) else Problem.from_yaml(problem)
    asked, family = check_bifurcation(read)
    modes = _modes(asked, family)
    with threadpool_limits(1, user_api="blas"), _told(progress):
        branches, outcome = _explored(family, modes)
    if modes is None and len(branches) == 1 and outcome == "finished" and not branches[0].special:
        _nothing(asked, family, None)
    diagram = Diagram(read, asked.parameter, asked.range, branches, outcome, tuple(_messages(branches)))
    if output is not None:
        diagram.save(output)
    return diagram


def check_bifurcation(problem: Problem) -> tuple[Bifurcation, Family]:
    """What is asked for and the models over its range; a `ProblemError` where there are no such states."""
    problem.need("bifurcation")
    asked = problem.bifurcation
    assert asked is not None  # noqa: S101  `need` has seen to it
    if problem.drift is not None:
        raise ProblemError.at("drift", "stationary states are known without a drift of its own")
    return asked, family_of(problem.equation, asked.parameter, *asked.range)


@contextmanager
def _told(progress: Any) -> Iterator[None]:
    if callable(progress):
        with told_to(progress):
            yield
    else:
        yield


def _explored(family: Family, modes: set[int] | None) -> tuple[list[Branch], Outcome]:
    """Branches in the order in which they were found; after an interrupt, those that were."""
    explorer = Explorer(family, modes, _report(family))
    made: list[Branch] = []
    outcome = ENDED
    try:
        for traced in explorer.primary():
            made.append(branch_of(traced, len(made) + 1, family))
        for traced in explorer.secondary():
            made.append(branch_of(traced, len(made) + 1, family))
        if modes is None:
            doing("looking for other states")
            for traced in explorer.isolated(other_states(family)):
                made.append(branch_of(traced, len(made) + 1, family))
    except KeyboardInterrupt:
        outcome = Outcome(INTERRUPTED, np.nan)
    numbers = {branch.mode: branch.number for branch in made if branch.name.startswith("mode ")}
    branches = [uniform_branch(family, numbers), *made]
    return [replace(branch, special=[*branch.special, *tied(branch, branches)]) for branch in branches], outcome


def _report(family: Family) -> Any:
    def report(name: str, point: Point) -> None:
        doing(f"{name}: {family.parameter} = {family.value(point.u):.6g}")

    return report


def _modes(asked: Bifurcation, family: Family) -> set[int] | None:
    """The modes that were asked for; each must leave the uniform state in the range."""
    if not asked.branches:
        return None
    there = {degree for _, degree in critical_places(family)}
    wanted = {mode for mode in asked.branches if isinstance(mode, int)}
    for mode in sorted(wanted - there):
        _nothing(asked, family, mode)
    return wanted


def _nothing(asked: Bifurcation, family: Family, mode: int | None) -> None:
    """Say what was looked for and where the nearest bifurcation is."""
    low, high = sorted(asked.range)
    wide_low = low * _SEARCH_FACTORS[0] if low > 0 else low - 20 * (high - low)
    wide = replace(family, low=wide_low, high=high * _SEARCH_FACTORS[1] if high > 0 else high + 20 * (high - low))
    found = [(wide.value(u), degree) for u, degree in critical_places(wide) if mode in (None, degree)]
    nearest = min(found, key=lambda pair: max(low - pair[0], pair[0] - high), default=None)
    what = "no state but the uniform one is there: no mode" if mode is None else f"mode {mode} does not"
    told = f"{what} leave{'s' if mode is None else ''} the uniform state for {asked.parameter} in [{low:g}, {high:g}]"
    near = f"; the nearest is mode {nearest[1]}, at {nearest[0]:.10g}" if nearest else "; it does so nowhere near"
    raise ProblemError.at("bifurcation.range" if mode is None else "bifurcation.branches", told + near)


def _messages(branches: list[Branch]) -> Iterator[str]:
    for branch in branches:
        if branch.vertical:
            yield (
                f"{branch.name} is vertical: at {branch.parameter[0]:.10g} every amplitude up to "
                f"{branch.vertical_until:.4g} is a stationary state"
            )
        if "stalled" in branch.end:
            at = branch.parameter[-1]
            yield f"{branch.name} stalled at {at:.10g}, amplitude {branch.amplitude[-1]:.6g}; that state is kept"
