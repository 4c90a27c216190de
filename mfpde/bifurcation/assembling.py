"""Traced paths to branches: arrays over points, special points with their types."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mfpde.bifurcation.critical import critical_places
from mfpde.bifurcation.crossings import BRANCH_POINT, FIRST_ORDER, TRICRITICAL, Crossing, Symmetry
from mfpde.bifurcation.diagram import Branch, SpecialPoint
from mfpde.bifurcation.launching import Launch, beside_uniform
from mfpde.bifurcation.normal_form import (
    SUBCRITICAL,
    SUPERCRITICAL,
    TRANSCRITICAL,
    NormalForm,
    fitted_form,
    normal_form,
)
from mfpde.bifurcation.quadrature import harmonic_count, harmonic_counts
from mfpde.bifurcation.spectrum import KEPT_RATES, basis_size
from mfpde.bifurcation.states import Family, State, newton
from mfpde.bifurcation.stationary import StationaryState, quadratic_residual, softened_instability, state_from_moments
from mfpde.bifurcation.tracing import Side, Traced
from mfpde.bifurcation.trail import BORN, Trail
from mfpde.typing import Complex, Float

__all__ = ["branch_of", "fitted", "moment_count", "uniform_branch"]

_UNIFORM_POINTS = 65  # of the uniform branch, equispaced; special points come on top
_LARGE_BASIS = 144  # functions, from which rates take a tenth of a second
_VERTICAL_CHANGE = 1e-12  # relative change of the parameter along a vertical branch
_VERTICAL_RATIO = 1e-11  # of kappa / kappa_l - 1, at small amplitudes of a vertical branch
_FEWEST_POINTS = 4  # that a normal form is fitted to
_TRICRITICAL = 1e-8  # c_2 below which a branch is neither super- nor subcritical
_SPARSE = 8  # points of which one has rates then
_FEWEST_MOMENTS = 64  # that are kept of each state, where the law has fewer degrees
_AMPLITUDES = 0.02 * np.arange(1, 9)  # of the points that a normal form is fitted to


def moment_count(family: Family) -> int:
    """Of m_0, m_1, ... that branches keep: what their states are made of, and enough to look at."""
    return max(family.top, _FEWEST_MOMENTS) + 1


class _Rows:
    """What is kept of each point, collected in order."""

    def __init__(self, family: Family, mode: int, with_rates: bool = True) -> None:
        self.family, self.mode, self.with_rates = family, mode, with_rates
        self.seen: list[StationaryState] = []
        self.places: list[float] = []
        self.unstable: list[int] = []
        self.trail: list[tuple[float, int, bool]] = []

    def add(
        self, state: State, u: float, unstable: int | None = None, trail: tuple[float, int, bool] = (0.0, BORN, False)
    ) -> int:
        """The number of the row; its `trail` is its arclength, the side that it is on, whether it is a step of it."""
        self.trail.append(trail)
        seen = StationaryState(state, max(self.mode, 1))
        if self.with_rates and state.model.softness and basis_size(state) <= _LARGE_BASIS:
            unstable = softened_instability(seen.modes)
        self.seen.append(seen)
        self.places.append(u)
        self.unstable.append(seen.unstable if unstable is None else unstable)
        return len(self.seen) - 1

    def _rates(self, special: set[int]) -> Float | Complex:
        """Rates of all points; of narrow states, where they take long, of special and every few points, NaN between."""
        rows: list[Float | Complex] = []
        for place, seen in enumerate(self.seen):
            told = place in special or place % _SPARSE == 0 or basis_size(seen.state) <= _LARGE_BASIS
            rows.append(seen.rates[:KEPT_RATES] if told and self.with_rates else np.full(KEPT_RATES, np.nan))
        if any(np.iscomplexobj(row) for row in rows):
            return np.array(rows, dtype=complex)
        return np.array(rows, dtype=float)

    def branch(self, name: str, number: int, special: list[SpecialPoint], **more: Any) -> Branch:
        """The arrays."""
        moments = np.full((len(self.seen), moment_count(self.family)), np.nan)
        for row, seen in zip(moments, self.seen, strict=True):
            size = min(row.size, seen.moments.size)
            row[:size] = seen.moments[:size]
        rates = self._rates({point.place for point in special})
        return Branch(
            name,
            self.mode,
            number,
            self.family,
            np.array([self.family.value(u) for u in self.places]),
            moments,
            np.array([seen.amplitude for seen in self.seen]),
            np.array([seen.free_energy for seen in self.seen]),
            np.array(self.unstable),
            rates,
            np.array([seen.residual for seen in self.seen]),
            np.array([quadratic_residual(seen.state) for seen in self.seen]),
            special,
            **more,
        )

    def trail_of(self, **more: Any) -> Trail:
        """What a search goes on from."""
        unknowns = np.array([np.append(u, seen.state.b[1:]) for u, seen in zip(self.places, self.seen, strict=True)])
        arclength, side, step = zip(*self.trail, strict=True)
        return Trail(unknowns, np.array(arclength), np.array(side), np.array(step, dtype=int), **more)


def uniform_branch(family: Family) -> Branch:
    """The uniform state, with the points where its degrees lose or regain their stability."""
    critical = critical_places(family)
    rows = _Rows(family, 0)
    special: list[SpecialPoint] = []
    places = [(u, 0) for u in np.linspace(0, 1, _UNIFORM_POINTS)] + list(critical)
    for u, degree in sorted(places):
        state = state_from_moments(family.model(u), np.ones(1))
        row = rows.add(state, u, _uniform_instability(state, degree))
        if degree:
            special.append(_birth_on_uniform(family, degree, u, row, rows.seen[row], None))
    return rows.branch("uniform", 0, special, trail=rows.trail_of())


def _uniform_instability(state: State, degree: int) -> int:
    """Degrees with `kappa h > 1`, with multiplicity; the one that is critical counts as unstable."""
    level = state.model.kappa * state.model.multipliers.relative
    level[degree or 0] += 1e-9 if degree else 0.0
    counts = harmonic_counts(state.rule.dimension, level.size - 1)
    return int(counts[level > 1].sum())


def _birth_on_uniform(
    family: Family, degree: int, u: float, row: int, state: StationaryState, number: int | None
) -> SpecialPoint:
    form = normal_form(family.model(u).multipliers, degree)
    measured = fitted(family, degree, u)
    return SpecialPoint(
        TRICRITICAL if abs(form.second) < _TRICRITICAL and measured.second else BRANCH_POINT,
        family.value(u),
        row,
        state.moments,
        0.0,
        state,
        form.type,
        form.first or form.second,
        measured.first or measured.second,
        "rotations",
        int(harmonic_count(family.dimension, degree)),
        (0,) if number is None else (0, number),
    )


def fitted(family: Family, degree: int, u: float) -> NormalForm:
    """The normal form, from states of given small amplitudes."""
    launch = beside_uniform(family, degree, u, 1.0)
    if launch is None:
        return NormalForm(0.0, float("nan"))
    system = launch.tracer.system
    place = int(np.flatnonzero(system.active == degree)[0])
    two_sided = family.dimension > 2 and degree % 2 == 0
    form = normal_form(family.model(u).multipliers, degree)
    # steep branches are near their normal form at small amplitudes only
    reach = 1 / np.sqrt(1 + abs(np.nan_to_num(form.second)))
    wanted = np.concatenate([-0.4 * _AMPLITUDES[::-1], 0.4 * _AMPLITUDES]) if two_sided else reach * _AMPLITUDES
    gradient = np.eye(launch.born.size)[place]
    amplitudes, ratios = [], []
    for amplitude in wanted:
        x = launch.born.copy()
        x[place] = amplitude * system.scale[place]
        found = newton(system, x, partial(_held, place, float(x[place]), gradient))
        if found is not None:
            model = family.model(float(found.x[-1]))
            amplitudes.append(amplitude)
            ratios.append(model.kappa * model.multipliers.relative[degree])
    if np.abs(np.array(ratios) - 1).max(initial=0.0) < _VERTICAL_RATIO:
        return NormalForm(0.0, 0.0)
    if len(amplitudes) < _FEWEST_POINTS:
        return NormalForm(0.0, float("nan"))
    return fitted_form(np.array(amplitudes), np.array(ratios))


def _held(place: int, target: float, gradient: Float, x: Float) -> tuple[float, Float]:
    return float(x[place]) - target, gradient


def branch_of(traced: Traced, number: int, family: Family, with_rates: bool = True) -> Branch:
    """The points of all sides in one order, the birth between them."""
    rows = _Rows(family, traced.mode, with_rates)
    special: list[SpecialPoint] = []
    sides = traced.sides
    if len(sides) > 1:
        _add_side(rows, special, 1, traced, number)
    birth: SpecialPoint | None = None
    if not traced.disconnected:
        birth = _birth(rows, traced, number, family)
        special.append(birth)
    _add_side(rows, special, 0, traced, number)
    first = birth.place if birth else 0
    special.sort(key=lambda point: abs(point.place - first))
    trail = rows.trail_of(
        attempt=traced.attempt,
        stride=traced.stride,
        loses=traced.parent_loses,
        goes_through=traced.goes_through,
        rule_sizes=(sides[0].tracer.system.size, sides[-1].tracer.system.size),
    )
    end = "; ".join(dict.fromkeys(_END_WORDS[side.path.end] for side in sides))
    more = {"vertical": traced.vertical, "end": end, "trail": trail, "parent": traced.parent}
    branch = rows.branch(traced.name, number, special, **more)
    return replace(branch, vertical_until=_vertical_until(branch, first)) if branch.vertical else branch


def _vertical_until(branch: Branch, first: int) -> float:
    """The largest amplitude at its one parameter."""
    level = branch.parameter[first]
    return float(branch.amplitude[np.abs(branch.parameter - level) < _VERTICAL_CHANGE * abs(level)].max())


_END_WORDS = {
    "range": "leaves the range",
    "symmetric": "meets a state of higher symmetry",
    "closed": "closes",
    "stalled": "stalled: no smaller step was accepted",
    "long": "cut: more points than are kept",
}


def _birth(rows: _Rows, traced: Traced, number: int, family: Family) -> SpecialPoint:
    launch: Launch = traced.born
    u = float(launch.born[-1])
    system = launch.tracer.system
    state = system.state(launch.born)
    following = traced.sides[0].watched[0].unstable
    row = rows.add(state, u, following if len(traced.sides) == 1 else max(following, 1))
    seen = rows.seen[row]
    if not state.b[1:].any():
        if traced.name.startswith("mode "):
            return _birth_on_uniform(family, traced.mode, u, row, seen, number)
        return SpecialPoint(BRANCH_POINT, family.value(u), row, seen.moments, 0.0, seen, "", breaks="rotations",
                            multiplicity=2, branches=(0, number))  # fmt: skip
    return SpecialPoint(
        BRANCH_POINT,
        family.value(u),
        row,
        seen.moments,
        seen.free_energy,
        seen,
        _type(traced),
        breaks="symmetry",
        branches=(traced.parent, number),
    )


def _type(traced: Traced) -> str:
    """Of a branch that leaves another: whether its states are on the side where the other has lost stability."""
    if traced.goes_through:
        return TRANSCRITICAL
    first = traced.sides[0].path.points[0]
    rise = first.u - float(traced.born.born[-1])
    return "" if rise == 0 or traced.parent == 0 else (SUPERCRITICAL if traced.parent_loses * rise > 0 else SUBCRITICAL)


def _add_side(rows: _Rows, special: list[SpecialPoint], place: int, traced: Traced, number: int) -> None:
    """The second side comes first, backward: it ends where the branch is born."""
    side = traced.sides[place]
    listed = side.rows()
    if traced.disconnected and place:
        listed = listed[1:]
    crossing_at = {id(crossing.point): crossing for crossing in side.crossings}
    for watched in reversed(listed) if place else listed:
        state = side.tracer.system.state(watched.point.x)
        crossing = crossing_at.get(id(watched.point))
        trail = (watched.point.arclength, place, crossing is None)
        row = rows.add(state, watched.point.u, watched.unstable, trail)
        if crossing is not None:
            special.append(_special(crossing, rows.seen[row], row, side, number))


def _special(crossing: Crossing, seen: StationaryState, row: int, side: Side, number: int) -> SpecialPoint:
    family = side.tracer.system.family
    breaks = _broken(crossing.symmetry, family.dimension) if crossing.kind == BRANCH_POINT else ""
    count = int(harmonic_count(family.dimension - 1, crossing.symmetry[0])) * crossing.count
    return SpecialPoint(
        crossing.kind,
        family.value(crossing.point.u),
        row,
        seen.moments,
        seen.free_energy,
        seen,
        breaks=breaks,
        multiplicity=count if crossing.kind == BRANCH_POINT else 1,
        branches=(0, number) if crossing.kind == FIRST_ORDER else (number,),
        symmetry=crossing.symmetry,
        count=crossing.count,
    )


def _broken(symmetry: Symmetry, dimension: int) -> str:
    order, residue = symmetry
    if dimension > 2 and order:
        return "axis"
    if residue == 0:
        return "reflection" if order else ""
    return "symmetry"
