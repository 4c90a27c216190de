"""One branch, followed from where it is born to its ends, with everything that happens on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from mfpde.bifurcation.continuation import Path, Point, Tracer
from mfpde.bifurcation.critical import critical_places
from mfpde.bifurcation.crossings import Crossing, Watched, crossings, watch
from mfpde.bifurcation.launching import Launch
from mfpde.bifurcation.quadrature import harmonic_counts
from mfpde.bifurcation.states import State
from mfpde.bifurcation.symmetry import is_image
from mfpde.typing import Float

__all__ = ["Side", "Traced", "follow"]


@dataclass(eq=False)
class Side:
    """A path from a birth on: its points as they were watched, and what happens between them."""

    tracer: Tracer
    path: Path
    watched: list[Watched]
    crossings: list[Crossing]

    def loses(self, crossing: Crossing) -> float:
        """+1 where there are more unstable directions at parameters above a crossing, -1 where below."""
        place = crossing.point.arclength
        before = [w for w in self.watched if w.point.arclength < place][-1]
        after = next(w for w in self.watched if w.point.arclength > place)
        return float(np.sign((after.unstable - before.unstable) * (after.point.u - before.point.u)))

    def rows(self) -> list[Watched]:
        """Points and special points in the order of the path."""
        special = [crossing.point.arclength for crossing in self.crossings]
        stride = int(np.gcd.reduce(self.tracer.system.active))
        extra = [watch(self.tracer, crossing.point, stride) for crossing in self.crossings]
        together = [*zip((w.point.arclength for w in self.watched), self.watched, strict=True)]
        together += [*zip(special, extra, strict=True)]
        return [row for _, row in sorted(together, key=lambda pair: pair[0])]


@dataclass(eq=False)
class Traced:
    """A branch: where it is born, one or two sides, its mode (0: none of its own), the branch it leaves."""

    name: str
    mode: int
    stride: int
    born: Launch
    sides: list[Side] = field(default_factory=list)
    parent: int = 0
    #: +1 where the branch that it leaves has more unstable directions at larger parameters, -1 at smaller ones
    parent_loses: float = 0.0
    #: whether the branch goes on to the other side of its birth, as another branch
    goes_through: bool = False
    disconnected: bool = False
    #: number of the search's attempt that found it
    attempt: int = 0

    @property
    def vertical(self) -> bool:
        """Whether it leaves the uniform state along states of one parameter."""
        return any(side.path.vertical for side in self.sides)

    def holds(self, state: State, u: float) -> bool:
        """Whether a state, up to rotation, lies on this branch."""
        dimension = state.rule.dimension
        for side in self.sides:
            for old, new in pairwise(side.path.points):
                if not (min(old.u, new.u) - 1e-3 <= u <= max(old.u, new.u) + 1e-3):
                    continue
                span = new.u - old.u
                share = 0.5 if abs(span) < 1e-12 else float(np.clip((u - old.u) / span, 0, 1))
                x = (1 - share) * old.x + share * new.x
                reach = 0.5 * float(np.abs((new.x - old.x)[:-1]).max()) + 0.02
                if not is_image(_moments(side.tracer, x), _scaled(state), 2 * reach, dimension):
                    continue
                found = side.tracer.at_parameter(x, u)
                if found is not None and is_image(_moments(side.tracer, found), _scaled(state), 1e-7, dimension):
                    return True
        return False


def _moments(tracer: Tracer, x: Float) -> Float:
    """m_0, m_1, ... of unknowns."""
    moments = np.zeros(tracer.system.family.top + 1)
    moments[0] = 1.0
    moments[tracer.system.active] = x[:-1] / tracer.system.scale
    return moments


def _scaled(state: State) -> Float:
    return state.b / np.sqrt(harmonic_counts(state.rule.dimension, state.b.size - 1))


def _end_at_uniform(tracer: Tracer, path: Path) -> None:
    """Where a path comes back to the uniform state is known exactly: Newton's method is not, beside two solutions."""
    last = path.points[-1]
    if path.end != "symmetric" or last.x[:-1].any():
        return
    degrees = set(tracer.system.active.tolist())
    places = [u for u, degree in critical_places(tracer.system.family) if degree in degrees]
    if places:
        nearest = min(places, key=lambda u: abs(u - last.u))
        path.points[-1] = replace(last, x=np.append(last.x[:-1], nearest))


def follow(launch: Launch, seen: Callable[[Point], None]) -> Side:
    """The path that a launch begins, and everything on it."""
    tracer = launch.tracer
    path = tracer.trace(launch.first, seen)
    _end_at_uniform(tracer, path)
    watched = [watch(tracer, point, launch.stride) for point in path.points]
    # the last point of a branch that has met a more symmetric state is that state: a null vector is in its place
    inner = watched[:-1] if path.end == "symmetric" else watched
    found = [] if path.vertical and len(path.points) < 3 else crossings(tracer, inner, launch.stride)
    return Side(tracer, path, watched, found)
