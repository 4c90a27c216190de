"""All branches of a family of models: from the uniform state, from branch points, and those that meet none.

A search is a fixed sequence of attempts, each of which finds a branch or none. One that is taken up again skips those
up to its last branch, whose outcome is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from mfpde.bifurcation.continuation import Point
from mfpde.bifurcation.critical import critical_places
from mfpde.bifurcation.crossings import BRANCH_POINT, Crossing
from mfpde.bifurcation.launching import (
    Launch,
    beside_uniform,
    from_branch_point,
    several_from_uniform,
    stride_of,
    tracer_of,
)
from mfpde.bifurcation.states import Family, State
from mfpde.bifurcation.tracing import Side, Traced, follow

__all__ = ["Explorer"]

_RESONANCE_WIDTH = 1e-9  # of the range: modes that leave the uniform state there leave it together
_MOST_BRANCHES = 60  # that a figure can show
_GENERATIONS = 3  # branches of branches of branches


@dataclass(eq=False)
class Explorer:
    """Finds branches one after the other; `report` hears of every point. `known` are the branches that an earlier,
    interrupted search of the same family has found: only others are yielded."""

    family: Family
    modes: set[int] | None = None
    report: Callable[[str, Point], None] | None = None
    known: list[Traced] = field(default_factory=list)
    branches: list[Traced] = field(default_factory=list)
    attempts: int = 0

    @property
    def expected(self) -> int:
        """Branches, as far as is known: of each degree, and at each branch point that was found."""
        places = [k for _, k in critical_places(self.family) if self.modes is None or k in self.modes]
        inner = [c for branch in self.branches for side in branch.sides for c in side.crossings]
        return 1 + len(places) + sum(crossing.kind == BRANCH_POINT for crossing in inner)

    def primary(self) -> Iterator[Traced]:
        """The branches that leave the uniform state, mode by mode; modes that leave together also mixed."""
        places = [(u, k) for u, k in critical_places(self.family) if self.modes is None or k in self.modes]
        places.sort(key=lambda pair: (pair[1], pair[0]))
        for u, degree in places:
            yield from self._attempt(partial(self._from_uniform, u, degree))
        for u, degrees in _groups(places):
            for launch in several_from_uniform(self.family, degrees, u):
                name = "modes " + " and ".join(map(str, degrees[:2]))
                yield from self._attempt(partial(self._single, name, degrees[0], launch))

    def _from_uniform(self, u: float, degree: int) -> Traced | None:
        two_sided = self.family.dimension > 2 and degree % 2 == 0
        launches = [beside_uniform(self.family, degree, u, sign) for sign in ((1.0, -1.0) if two_sided else (1.0,))]
        # a branch may leave the uniform state at one place and come back at another
        there = [launch for launch in launches if launch is not None and not self._held(launch.first, launch)]
        if not there:
            return None
        name = f"mode {degree}"
        made = Traced(name, degree, stride_of(self.family.dimension, degree), there[0])
        made.sides = [follow(launch, self._seen(name)) for launch in there]
        return made

    def _single(self, name: str, mode: int, launch: Launch, parent: int = 0) -> Traced | None:
        if self._held(launch.first, launch):
            return None
        return Traced(name, mode, launch.stride, launch, [follow(launch, self._seen(name))], parent)

    def _held(self, point: Point, launch: Launch) -> bool:
        """Whether some branch holds that state already."""
        state = launch.tracer.system.state(point.x)
        return any(branch.holds(state, point.u) for branch in self.branches)

    def _attempt(self, make: Callable[[], Traced | None]) -> Iterator[Traced]:
        self.attempts += 1
        if self.known:
            if self.known[0].attempt == self.attempts:
                self.branches.append(self.known.pop(0))
            return
        branch = make() if len(self.branches) < _MOST_BRANCHES else None
        if branch is not None:
            branch.attempt = self.attempts
            self.branches.append(branch)
            yield branch

    def _seen(self, name: str) -> Callable[[Point], None]:
        return lambda point: None if self.report is None else self.report(name, point)

    def secondary(self) -> Iterator[Traced]:
        """Branches that leave branches, and those that leave these."""
        last = 0
        for _ in range(_GENERATIONS):
            waiting = list(enumerate(self.branches))[last:]
            last = len(self.branches)
            for index, branch in waiting:
                for side in branch.sides:
                    for crossing in side.crossings:
                        if crossing.kind == BRANCH_POINT:
                            yield from self._leaving(index, branch, side, crossing)

    def _leaving(self, index: int, branch: Traced, side: Side, crossing: Crossing) -> Iterator[Traced]:
        for launch in from_branch_point(side.tracer, branch.stride, crossing):
            yield from self._attempt(partial(self._off_branch, index, branch, side, crossing, launch))

    def _off_branch(self, index: int, branch: Traced, side: Side, crossing: Crossing, launch: Launch) -> Traced | None:
        made = self._single(f"from {branch.name}", branch.mode, launch, index + 1)
        if made is not None:
            made.parent_loses = side.loses(crossing)
            made.goes_through = (branch.stride // launch.stride) % 2 == 1
        return made

    def isolated(self, states: Iterable[tuple[State, float]]) -> Iterator[Traced]:
        """Branches through states, found by other means, that lie on none so far."""
        for state, u in states:
            yield from self._attempt(partial(self._through, state, u))

    def _through(self, state: State, u: float) -> Traced | None:
        if any(branch.holds(state, u) for branch in self.branches):
            return None
        stride = int(np.gcd.reduce(np.flatnonzero(np.abs(state.b[1:]) > 1e-9) + 1))
        stride = stride if self.family.dimension == 2 else 2 - stride % 2
        tracer = tracer_of(self.family, stride, u, state.rule.count)
        x = np.append(state.b[tracer.system.active], u)
        unit = np.zeros(x.size)
        unit[-1] = 1.0
        both = [tracer.begin(x, sign * unit, 0.0) for sign in (1.0, -1.0)]
        launches = [Launch(tracer, stride, x, point) for point in both if point is not None]
        if not launches:
            return None
        name = "disconnected"
        made = Traced(name, 0, stride, launches[0], disconnected=True)
        made.sides = [follow(launch, self._seen(name)) for launch in launches]
        if made.sides[0].path.end == "closed":
            made.sides = made.sides[:1]
        return made


def _groups(places: list[tuple[float, int]]) -> Iterator[tuple[float, list[int]]]:
    """Degrees that leave the uniform state at one place."""
    ordered = sorted(places)
    group: list[tuple[float, int]] = []
    for place in [*ordered, (np.inf, 0)]:
        if group and place[0] - group[0][0] > _RESONANCE_WIDTH:
            if len(group) > 1:
                yield group[0][0], [degree for _, degree in group]
            group = []
        group.append(place)
