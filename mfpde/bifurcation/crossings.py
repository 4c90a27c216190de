"""Where along a path something happens: folds, branch points, and states that tie with the uniform one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from mfpde.bifurcation.continuation import Path, Point, Tracer, upright
from mfpde.bifurcation.stability import Block, blocks
from mfpde.bifurcation.states import State

__all__ = ["BRANCH_POINT", "FIRST_ORDER", "FOLD", "Crossing", "Symmetry", "Watched", "watch"]

BRANCH_POINT, FIRST_ORDER, FOLD, TRICRITICAL = "branch-point", "first-order", "fold", "tricritical"
_SAME = 1e-9  # arclength within which eigenvalues cross zero together

Symmetry = tuple[int, int]  # azimuthal order, residue of the degree


@dataclass(frozen=True, eq=False)
class Watched:
    """A point of a path with its unstable directions, by symmetry and in all."""

    point: Point
    negative: dict[Symmetry, int]
    unstable: int
    free_energy: float


@dataclass(frozen=True, eq=False)
class Crossing:
    """A special point: what it is, where, of which symmetry the null vectors are, how many."""

    kind: str
    point: Point
    symmetry: Symmetry = (0, 0)
    count: int = 1


def watch(tracer: Tracer, point: Point, stride: int) -> Watched:
    """What is looked at in each point."""
    state = tracer.system.state(point.x)
    found = {(block.order, block.residue): block for block in blocks(state, stride)}
    negative = {symmetry: block.negative() for symmetry, block in found.items()}
    unstable = sum(negative[symmetry] * block.multiplicity for symmetry, block in found.items())
    return Watched(point, negative, unstable, state.free_energy)


def crossings(tracer: Tracer, watched: list[Watched], stride: int) -> list[Crossing]:
    """All of one path, in its order."""
    found: list[Crossing] = []
    flat = [upright(old.point, new.point) for old, new in pairwise(watched)]
    for place, (old, new) in enumerate(pairwise(watched)):
        # where a step has one parameter, du/ds is roundoff, at its ends as well
        here = [] if any(flat[max(place - 1, 0) : place + 2]) else _folds(tracer, old, new)
        here += _branch_points(tracer, old, new, stride, len(here))
        here += _ties(tracer, old, new)
        found += sorted(here, key=lambda crossing: crossing.point.arclength)
    return found


def _folds(tracer: Tracer, old: Watched, new: Watched) -> list[Crossing]:
    before, after = old.point.turning, new.point.turning
    if before * after >= 0:
        return []
    point = tracer.between(old.point, new.point, lambda p: p.turning, exact=True)
    return [] if point is None else [Crossing(FOLD, point)]


def _branch_points(tracer: Tracer, old: Watched, new: Watched, stride: int, folds: int) -> list[Crossing]:
    found: list[Crossing] = []
    twofold = tracer.system.family.dimension == 2
    for symmetry in sorted(old.negative.keys() | new.negative.keys()):
        if twofold and symmetry[0] == 1 and 0 < 2 * symmetry[1] < stride:
            continue  # on the circle these have the eigenvalues of order 0
        before, after = (w.negative.get(symmetry, 0) for w in (old, new))
        indices = list(range(min(before, after), max(before, after)))
        if symmetry == (0, 0):
            indices = indices[folds:]  # a fold is where one direction of the full symmetry changes sides
            if upright(old.point, new.point):
                indices = []
        for index in indices:
            test = partial(_eigenvalue, tracer, stride, symmetry, index)
            point = tracer.between(old.point, new.point, test)
            if point is None:
                continue
            last = found[-1] if found else None
            if last and last.symmetry == symmetry and abs(last.point.arclength - point.arclength) < _SAME:
                found[-1] = replace(last, count=last.count + 1)
            else:
                found.append(Crossing(BRANCH_POINT, point, symmetry))
    return found


def block_at(state: State, stride: int, symmetry: Symmetry) -> Block | None:
    """The block of one symmetry."""
    for block in blocks(state, stride):
        if (block.order, block.residue) == symmetry:
            return block
    return None


def _eigenvalue(tracer: Tracer, stride: int, symmetry: Symmetry, index: int, point: Point) -> float:
    block = block_at(tracer.system.state(point.x), stride, symmetry)
    if block is None:
        return 1.0
    values = block.eigenvalues()
    return float(values[index]) if index < values.size else 1.0


def _ties(tracer: Tracer, old: Watched, new: Watched) -> list[Crossing]:
    """The free energy of a stable state passes that of the uniform one."""
    if upright(old.point, new.point) or old.unstable or new.unstable or not old.free_energy * new.free_energy < 0:
        return []
    point = tracer.between(old.point, new.point, lambda p: tracer.system.state(p.x).free_energy)
    return [] if point is None else [Crossing(FIRST_ORDER, point)]


def watched_path(tracer: Tracer, path: Path, stride: int) -> list[Watched]:
    """All points of a path."""
    return [watch(tracer, point, stride) for point in path.points]
