"""What a sweep is to do: its points by number, and the problem of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mfpde.observe.output_times import events
from mfpde.problem import Problem, Time
from mfpde.registry import lookup
from mfpde.sweep_block import Refinement, SweepBlock
from mfpde.sweeping.axes import SweptAxis, axes_of
from mfpde.sweeping.collecting import Variable, variables_of
from mfpde.typing import Float

__all__ = ["Plan"]

_ALWAYS = ("last",)  # reductions that need the end of a run alone


@dataclass(frozen=True)
class Plan:
    """The points of a sweep in the order of its axes, the last one fastest.

    >>> plan = Plan(Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "initial": {"kind": "uniform"},
    ...     "time": {"until": 1},
    ...     "sweep": {"noise.kappa": [1, 2], "attention": [{"kind": "unnormalized", "beta": b} for b in (0, 1, 2)]},
    ...     "collect": ["order-parameter"],
    ... }))
    >>> plan.shape, plan.settings(4)["noise.kappa"], plan.problem(4).attention.beta
    ((2, 3), 2, 1.0)
    """

    whole: Problem

    @cached_property
    def block(self) -> SweepBlock:
        """What the file says of it."""
        self.whole.need("sweep")
        assert self.whole.sweep is not None  # noqa: S101  `need` has seen to it
        return self.whole.sweep

    @cached_property
    def axes(self) -> tuple[SweptAxis, ...]:
        """One for each dimension."""
        return axes_of(self.block)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(map(len, self.axes))

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    @property
    def keeps_runs(self) -> bool:
        """Whether each point leaves its run in a file."""
        return self.block.keep == "runs"

    @property
    def of_states(self) -> bool:
        """Whether points are diagrams of stationary states, not runs."""
        return self.whole.of_states

    @property
    def refinement(self) -> Refinement | None:
        """Where cells are halved."""
        return self.block.refine

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """What is collected, as sized at the first point."""
        return variables_of(self.problem(0).altered({"collect": self.whole.collect}), len(self.observed))

    @cached_property
    def observed(self) -> Float:
        """When the series of a point have values: of the first, and of all where whole series are collected."""
        time = self.problem(0).time
        return np.array([event.time for event in events(time) if event.observe] if time is not None else [])

    @property
    def width(self) -> int:
        """Numbers collected at one point."""
        return sum(variable.size for variable in self.variables)

    def entry_of(self, place: int) -> int | None:
        """Which entry of `collect` the observable of a point at that place was collected by; None for none."""
        observed = self._base.observe[place]
        return next((number for number, entry in enumerate(self.whole.collect) if entry.observe == observed), None)

    def place_of(self, key: str) -> tuple[str | int, ...]:
        """Where the file has that swept key."""
        group = next((number for number, group in enumerate(self.block.zip) if key in group), None)
        return ("sweep", key) if group is None else ("sweep", "zip", group, key)

    def settings(self, number: int) -> dict[str, Any]:
        """The values of the swept keys at a point."""
        places = np.unravel_index(number, self.shape)
        found: dict[str, Any] = {}
        for axis, place in zip(self.axes, places, strict=True):
            found |= axis.at(int(place))
        return found

    def problem(self, number: int) -> Problem:
        """What is solved there: only what is collected is observed, and only as often as that needs, unless runs are
        kept."""
        return self._thrifty(self.changed(self.settings(number)))

    def changed(self, settings: dict[str, Any]) -> Problem:
        """The base with these values; `ProblemError` where they make no problem."""
        found: Problem = lookup("reader", "changed")(self._base, settings)
        return found

    @cached_property
    def _base(self) -> Problem:
        """The problem without what makes a sweep of it; what it observes is added to what is collected."""
        entries = () if self.of_states else self.whole.collect
        collected = tuple(dict.fromkeys(entry.observe for entry in entries if entry.observe is not None))
        observe = (*self.whole.observe, *(one for one in collected if one not in self.whole.observe))
        base = self.whole.altered({"sweep": None, "collect": (), "observe": observe if self.keeps_runs else collected})
        base.__pydantic_fields_set__.difference_update(("sweep", "collect"))
        base.__pydantic_fields_set__.add("observe")
        return base

    def _thrifty(self, problem: Problem) -> Problem:
        if self.keeps_runs or problem.time is None:
            return problem
        return problem.altered({"compare": None, "time": self._sparse(problem.time)})

    def _sparse(self, time: Time) -> Time:
        """Without snapshots where that changes no value. What stops a run that is at rest looks at them."""
        if time.stop_when_steady is not False or time.save_at is not None:
            return time
        bare = {"save": False, "save_every": None, "save_at": None}
        if all(entry.reduce in _ALWAYS for entry in self.whole.collect):
            return time.altered({**bare, "observe_every": None})
        spacing = time.observe_every or (time.spacing if time.save else None)
        return time if spacing is None else time.altered({**bare, "observe_every": spacing})
