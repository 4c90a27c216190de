"""One row of a phase diagram: all values of kappa at one beta. Also a program that computes many rows for another
process: `python -m mfpde.bifurcation.phase_row` reads a request as JSON and writes rows as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from mfpde.bifurcation.continuation import Point
from mfpde.bifurcation.crossings import FIRST_ORDER, FOLD
from mfpde.bifurcation.exploring import Explorer
from mfpde.bifurcation.multipliers import Multipliers, exponential_multipliers
from mfpde.bifurcation.quadrature import harmonic_count
from mfpde.bifurcation.states import Family, Model
from mfpde.bifurcation.tracing import Side, Traced
from mfpde.blas import blas_in_one_thread
from mfpde.typing import Float

__all__ = ["Request", "Row", "compute_row", "family_at"]

_MARGIN = 0.02  # of the range, followed beyond its ends
_LOWEST_SHARE = 1e-3  # of the lowest ratio: branches are not followed further down


@dataclass(frozen=True)
class Request:
    """What the rows have in common: the space, the law, and kappa in units of kappa_1(beta)."""

    dimension: int
    factor: float
    normalised: bool
    ratios: tuple[float, ...]


@dataclass
class Row:
    """At each ratio: number of stable states up to rotation, order parameter, free energy and branch of the global
    minimiser of the free energy; and the special points at that beta, as ratios, folds with their mode."""

    beta: float
    critical: float
    stable: list[int]
    order: list[float]
    free_energy: list[float]
    mode: list[int]
    folds: list[tuple[int, float]] = field(default_factory=list)
    first_order: list[float] = field(default_factory=list)
    critical_ratios: list[float] = field(default_factory=list)


def family_at(request: Request, beta: float) -> tuple[Family, Multipliers, float]:
    """The models at one beta for the ratios asked for and a little more, and kappa_1."""
    found = exponential_multipliers(beta, request.factor, request.dimension, request.normalised)
    first = float(1 / abs(found.values[1]))
    low, high = request.ratios[0] * (1 - _MARGIN) * first, request.ratios[-1] * (1 + _MARGIN) * first
    return Family("kappa", low, high, lambda value: Model(found, value * found.scale), found.top), found, first


def compute_row(request: Request, beta: float) -> Row:
    """Every branch that leaves the uniform state, and what leaves it, read off at each ratio."""
    family, multipliers, first, branches = _followed(request, beta)
    places = np.array([family.place(ratio * first) for ratio in request.ratios])
    count = places.size
    largest = max(float(multipliers.relative.max()), 0.0) * multipliers.scale
    uniform = np.array(request.ratios) * first * largest < 1
    # where softmax attention has no free energy, the state of largest amplitude among the stable ones is told
    best = np.where(uniform, 0.0, np.inf)
    row = Row(beta, first, uniform.astype(int).tolist(), [0.0] * count, [0.0] * count, [0] * count)
    for branch in branches:
        for side in branch.sides:
            _read(row, best, branch, side, places)
            _special(row, branch.mode, side, family, first)
    row.critical_ratios = [float(k / first) for k in multipliers.critical()[1:] if k < request.ratios[-1] * first]
    row.free_energy = [float(value) if np.isfinite(value) else 0.0 for value in best]
    return row


def _followed(request: Request, beta: float) -> tuple[Family, Multipliers, float, list[Traced]]:
    """All branches over the ratios asked for and below, as far as they go on there: where noise is strong only the
    uniform state is left, and so a branch that leaves a range at its lower end turns and comes back into it."""
    lowest = request.ratios[0]
    while True:
        family, multipliers, first = family_at(replace(request, ratios=(lowest, request.ratios[-1])), beta)
        explorer = Explorer(family)
        branches = [*explorer.primary(), *explorer.secondary()]
        below = any(side.path.end == "range" and side.path.points[-1].u < 0.5 for b in branches for side in b.sides)
        if not below or lowest < _LOWEST_SHARE * request.ratios[0]:
            return family, multipliers, first, branches
        lowest *= 0.5


def _special(row: Row, mode: int, side: Side, family: Family, first: float) -> None:
    for crossing in side.crossings:
        ratio = family.value(crossing.point.u) / first
        if crossing.kind == FOLD:
            row.folds.append((mode, ratio))
        elif crossing.kind == FIRST_ORDER:
            row.first_order.append(ratio)


def _read(row: Row, best: Float, branch: Traced, side: Side, places: Float) -> None:
    """The stable states of one side at each place."""
    watched = side.rows()
    special = {id(crossing.point) for crossing in side.crossings}
    softened = side.tracer.system.family.model(0.5).softness != 0
    for old, new in pairwise(watched):
        first, second = old.unstable == 0, new.unstable == 0
        # where stability changes the point between is of both kinds
        if not ((first and (second or id(new.point) in special)) or (second and id(old.point) in special)):
            continue
        low, high = sorted((old.point.u, new.point.u))
        for i in range(int(np.searchsorted(places, low)), int(np.searchsorted(places, high))):
            row.stable[i] += 1
            found = _solved(side, old.point, new.point, float(places[i]))
            if found is None:
                continue
            state = side.tracer.system.state(found)
            level = -abs(float(state.b[branch.mode])) if softened else state.free_energy
            if level < best[i]:
                best[i] = level
                row.order[i] = float(abs(state.b[1]) / np.sqrt(harmonic_count(state.rule.dimension, 1)))
                row.mode[i] = branch.mode


def _solved(side: Side, old: Point, new: Point, u: float) -> Float | None:
    """The state between two points: a cubic through both with their tangents, then Newton's method."""
    span = new.arclength - old.arclength
    low, high = 0.0, 1.0
    rising = new.u > old.u
    ends = (old.u, old.turning, new.u, new.turning)
    for _ in range(40):
        middle = 0.5 * (low + high)
        below = float(_cubic(ends, span, middle)) < u
        low, high = (middle, high) if below == rising else (low, middle)
    guess = _cubic((old.x, old.tangent, new.x, new.tangent), span, 0.5 * (low + high))
    return side.tracer.at_parameter(guess, u)


def _cubic(ends: Any, span: float, t: float) -> Any:
    """Of values and slopes at both ends."""
    first, rise, last, fall = ends
    return (
        (1 + 2 * t) * (1 - t) ** 2 * first
        + t * (1 - t) ** 2 * span * rise
        + t**2 * (3 - 2 * t) * last
        + t**2 * (t - 1) * span * fall
    )


def answer(request: dict[str, Any], betas: Sequence[float]) -> None:
    """Write a row after the other to stdout."""
    made = Request(**{**request, "ratios": tuple(request["ratios"])})
    with blas_in_one_thread():
        for beta in betas:
            sys.stdout.write(json.dumps(asdict(compute_row(made, beta))) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    answer(*json.load(sys.stdin))
