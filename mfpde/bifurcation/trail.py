"""What a search that is taken up again needs of a branch: its path as it was computed, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mfpde.bifurcation.continuation import Path, Point
from mfpde.bifurcation.crossings import BRANCH_POINT, Crossing, Watched
from mfpde.bifurcation.launching import Launch, tracer_of
from mfpde.bifurcation.tracing import Side, Traced
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.bifurcation.diagram import Branch

__all__ = ["BORN", "Trail", "no_trail", "traced_of"]

BORN = -1  # the side of the row at which a branch is born


@dataclass(frozen=True, eq=False)
class Trail:
    """Over the points of a branch `unknowns` (u, b_1, b_2, ...), `arclength`, `side` (0, 1, or -1 where it is born) and
    `step`, 0 where a point is a special one between two steps; `attempt` is the number of the search's attempt that
    found it, `rule_sizes` are the numbers of nodes of both sides."""

    unknowns: Float
    arclength: Float
    side: AnyArray
    step: AnyArray
    attempt: int = 0
    stride: int = 1
    loses: float = 0.0
    goes_through: bool = False
    rule_sizes: tuple[int, int] = (0, 0)


def no_trail() -> Trail:
    """Of a branch from which no search goes on."""
    return Trail(np.zeros((0, 1)), np.zeros(0), np.zeros(0, dtype=int), np.zeros(0, dtype=int))


def traced_of(branch: Branch) -> Traced:
    """The branch as the search knew it."""
    trail = branch.trail
    first = _sides(branch)
    disconnected = not np.any(trail.side == BORN)
    if disconnected and len(first) > 1:
        first[1].path.points.insert(0, first[0].path.points[0])
    start = first[0].path.points[0]
    return Traced(
        branch.name,
        branch.mode,
        trail.stride,
        Launch(first[0].tracer, trail.stride, start.x, start),
        first,
        branch.parent,
        trail.loses,
        trail.goes_through,
        disconnected,
        trail.attempt,
    )


def _sides(branch: Branch) -> list[Side]:
    trail, found = branch.trail, []
    for number in (0, 1):
        rows = np.flatnonzero(trail.side == number)
        if not rows.size:
            continue
        rows = rows[np.argsort(trail.arclength[rows], kind="stable")]
        tracer = tracer_of(branch.family, trail.stride, float(trail.unknowns[rows[0], 0]), trail.rule_sizes[number])
        active = tracer.system.active
        points = {
            int(row): Point(
                np.append(trail.unknowns[row, active], trail.unknowns[row, 0]),
                np.zeros(active.size + 1),
                float(trail.arclength[row]),
            )
            for row in rows
        }
        steps = [row for row in points if trail.step[row]]
        watched = [Watched(points[row], {}, int(branch.unstable[row]), float(branch.free_energy[row])) for row in steps]
        crossings = [
            Crossing(BRANCH_POINT, points[special.place], special.symmetry, special.count)
            for special in branch.special
            if special.kind == BRANCH_POINT and special.place in points and not trail.step[special.place]
        ]
        found.append(Side(tracer, Path([points[row] for row in steps]), watched, crossings))
    return found
