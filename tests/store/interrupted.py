"""Runs that are interrupted between two calls of `advance`, and go on as other integrations from what was kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

import mfpde
from mfpde.contracts import Integration, Progress, State
from mfpde.prepare import Prepared

#: one-dimensional arrays that hold one thing; of all others each number is an entry of its own
WHOLE = frozenset(
    {
        "high",
        "low",
        "march_start",
        "march_state",
        "march_slope",
        "positions",
        "reach",
        "weights",
    }
)
#: how the names of such arrays end that there are several of: a Gaussian's frames
FRAME = ("_mean", "_place")
TRAIL = "trail"
#: statistics that tell of the way to the end, which may be another one
FORESEEN = frozenset({"node-error"})
SLICE = 50_000  # microseconds of work in a call of a run that goes on
MOST_CALLS = 80  # of a run that goes on without what it needs

Kept = dict[str, np.ndarray]


@dataclass(frozen=True)
class Way:
    """A problem and the times at which its run is looked at, the last one the end, where `until` is no other; `later`
    is the end that resumed runs have. `budget` is the work of a call in microseconds: one step, mostly."""

    problem: dict[str, Any]
    looks: tuple[float, ...]
    until: float | None = None
    later: float | None = None
    budget: int = 1

    def prepared(self, until: float) -> Prepared:
        """Ready to be started or resumed."""
        return Prepared.of(mfpde.Problem.from_dict({"time": {"until": until, "save": False}, **self.problem}))


@dataclass(frozen=True)
class Moment:
    """Between two calls: what the integration was there, and how many looks it had behind it."""

    then: Integration
    looks: int

    @property
    def kept(self) -> Kept:
        return kept_of(self.then)

    @property
    def rejected(self) -> float:
        return self.then.statistics().get("rejected", 0.0)


@dataclass
class Whole:
    """A run without interruption, one step in every call: its moments and what was seen of it."""

    way: Way
    moments: list[Moment] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        until = self.way.until or self.way.looks[-1]
        self._again = self.way.prepared(self.way.later or until)
        integration = self.way.prepared(until).start()
        if until < self.way.looks[-1]:  # what goes on beyond the end of a run is a resumed one
            integration = self._again.resume(kept_of(integration))
        for number, look in enumerate(self.way.looks):
            progress = Progress(State.UNDER_WAY)
            while progress.state is State.UNDER_WAY:
                self.moments.append(Moment(deepcopy(integration), number))
                progress = integration.advance(look, self.way.budget)
            self.seen.append(appearance(integration, progress))
            if progress.state is not State.REACHED:
                break
        self.fresh = self._again.start()

    def telling(self, most: int) -> list[Moment]:
        """So many moments after rejected steps, as many before the end and over all, and one after every look."""
        pairs = list(pairwise(self.moments))
        rejected = [two for one, two in pairs if two.rejected > one.rejected]
        looked = [two for one, two in pairs if two.looks > one.looks]
        spread, few = (
            [each[int(k)] for k in np.linspace(0, len(each) - 1, most)]
            for each in (self.moments, rejected or self.moments)
        )
        return list({id(moment): moment for moment in [*looked, *few, *self.moments[-most:], *spread]}.values())

    def goes_on(self, moment: Moment, kept: Kept) -> bool:
        """Whether a fresh integration that is given this looks the same, there and ever after."""
        wanted = iter([appearance(deepcopy(moment.then)), *self.seen[moment.looks :]])
        return all(found == next(wanted, None) for found in self.continued(moment, kept)) and next(wanted, None) is None

    def continued(self, moment: Moment, kept: Kept) -> Iterator[str]:
        """What is seen of it, there and at every look."""
        try:
            integration = self._again.resume(kept)
            yield appearance(integration)
            for look in self.way.looks[moment.looks :]:
                for _ in range(MOST_CALLS):
                    progress = integration.advance(look, SLICE)
                    if progress.state is not State.UNDER_WAY:
                        break
                yield appearance(integration, progress)
                if progress.state is not State.REACHED:
                    return
        except Exception as error:  # noqa: BLE001 - what is forgotten may be missed in any way
            yield type(error).__name__


def kept_of(integration: Integration) -> Kept:
    """What a file holds for `Solver.resume`."""
    return {name: np.array(array) for name, array in {**integration.state(), **integration.trail(0)}.items()}


def forgetting(kept: Kept, fresh: Integration) -> Iterator[tuple[str, Kept | None]]:
    """Every entry by its name, and what was kept with that entry as it is at t = 0; None where that is no other."""
    first, trail = kept_of(fresh), fresh.trail(0)
    if trail:
        yield TRAIL, {**kept, **{name: first[name] for name in trail}}
    for name, array in kept.items():
        if name in trail:
            continue
        if name in WHOLE or name.endswith(FRAME) or array.ndim != 1:
            yield name, None if same(array, first[name]) else {**kept, name: first[name]}
            continue
        for number, value in enumerate(first[name]):
            changed = array.copy()
            changed[number] = value
            yield f"{name}[{number}]", None if same(array, changed) else {**kept, name: changed}


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def appearance(integration: Integration, progress: Progress | None = None) -> str:
    """A digest of all that anybody can see of it, bit for bit."""
    layout = integration.layout
    parts = {
        "time": integration.time,
        "progress": progress,
        "residual": integration.residual(),
        "accuracy": replace(integration.accuracy(), estimate=None),
        "facts": sorted(integration.facts().items()),
        "statistics": sorted(item for item in integration.statistics().items() if item[0] not in FORESEEN),
        **{f"axis {axis.name}": axis.values for axis in layout.axes},
        **{f"constant {name}": constant.values for name, constant in layout.constants.items()},
        **integration.fields(),
        **integration.trail(0),
    }
    digest = hashlib.sha256()
    for name, part in parts.items():
        digest.update(name.encode() + (part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode()))
    return digest.hexdigest()
