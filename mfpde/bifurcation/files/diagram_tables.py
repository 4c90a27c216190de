"""The tables of a diagram's file: branches, their points, and special points; rows of them, and branches again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mfpde.bifurcation.assembling import moment_count
from mfpde.bifurcation.diagram import Branch, SpecialPoint
from mfpde.bifurcation.selection import solve_between
from mfpde.bifurcation.spectrum import KEPT_RATES
from mfpde.bifurcation.states import Family
from mfpde.bifurcation.stationary import StationaryState
from mfpde.bifurcation.trail import Trail
from mfpde.geometry import Field, Layout
from mfpde.problem import Problem
from mfpde.store.result_file import NewRows
from mfpde.store.table import Column, Table
from mfpde.typing import AnyArray

__all__ = ["KIND", "branches_in", "layout_of", "rows_of", "special_rows", "tables"]

KIND = "diagram"
_BRANCHES, _POINTS, _SPECIALS = "branch_rows", "points", "specials"  # the names of the tables
_POINTS_EXPECTED, _BRANCHES_EXPECTED = 1024, 16  # rows: for the size of chunks only
_POINT = {
    "parameter": "value of the parameter",
    "amplitude": "modulus of the branch's own moment",
    "free_energy": "free energy minus that of the uniform state",
    "unstable": "number of unstable directions",
    "residual": "largest residual of a moment, by quadrature",
    "quadratic_residual": "largest residual of the quadratic form",
}
_TRAIL = {
    "arclength": "arclength from where the branch is born",
    "side": "side of the branch's birth, -1 at it",
    "step": "whether it is a step of the continuation",
}
#: longest names and words, in letters
_WORDS = {"name": 80, "end": 120, "kind": 16, "type": 16, "breaks": 16, "meets": 80}
_INTEGERS = {"unstable", "side", "step", "mode", "number", "parent", "vertical", "place", "multiplicity", "branch"}
_INTEGERS |= {"attempt", "stride", "goes_through", "order", "residue", "count"}
_BRANCH = ("name", "mode", "number", "parent", "vertical", "vertical_until", "end")
_SEARCH = ("attempt", "stride", "loses", "goes_through")
_SPECIAL = ("kind", "parameter", "place", "free_energy", "type", "coefficient", "fitted", "breaks", "multiplicity")
_NULL_VECTORS = ("order", "residue", "count")


def layout_of(family: Family) -> Layout:
    """Sizes of the dimensions."""
    extents = {"order": moment_count(family), "rate": KEPT_RATES, "unknown": family.top + 1, "path_side": 2}
    return Layout(KIND, (), extents)


def tables(_: Problem, layout: Layout) -> tuple[Table, ...]:
    """Branches, points and special points."""
    points = {"branch": _column("branch", "number of the branch")}
    points |= {name: _column(name, words) for name, words in {**_POINT, **_TRAIL}.items()}
    for name, dimension, words in (
        ("moments", "order", "moments"),
        ("rates", "rate", "leading eigenvalues of the linearised equation"),
        ("rates_imaginary", "rate", "their imaginary parts"),
        ("unknowns", "unknown", "place in the range and moments against orthonormal harmonics"),
    ):
        points[name] = Column(Field((dimension,), words), (layout.extents[dimension],))
    branches = {f"branch_{name}": _column(name, f"{name.replace('_', ' ')} of each") for name in (*_BRANCH, *_SEARCH)}
    branches["branch_rule_sizes"] = Column(Field(("path_side",), "nodes of the rules"), (2,), "<i4")
    names = ("branch", *_SPECIAL, "meets", *_NULL_VECTORS)
    special = {f"special_{name}": _column(name, f"{name.replace('_', ' ')} of each") for name in names}
    return (
        Table("branch_row", "branch_row", "branch", branches, _BRANCHES_EXPECTED),
        Table("point", "point", "point of the diagram", points, _POINTS_EXPECTED),
        Table("special", "special", "special point", special, _BRANCHES_EXPECTED),
    )


def _column(name: str, words: str) -> Column:
    dtype = f"S{_WORDS[name]}" if name in _WORDS else "<i4" if name in _INTEGERS else "<f8"
    return Column(Field((), words), (), dtype)


def rows_of(branch: Branch, counts: Mapping[str, int]) -> NewRows:
    """A branch as rows, after so many of each table."""
    trail, size = branch.trail, len(branch)
    points: dict[str, Any] = {"point": _numbers(counts[_POINTS], size), "branch": np.full(size, branch.number)}
    points |= {name: getattr(branch, name) for name in _POINT} | {name: getattr(trail, name) for name in _TRAIL}
    points |= {"moments": branch.moments, "rates": branch.rates.real, "unknowns": trail.unknowns}
    points["rates_imaginary"] = branch.rates.imag
    one: dict[str, Any] = {"branch_row": [float(counts[_BRANCHES])], "branch_rule_sizes": [list(trail.rule_sizes)]}
    one |= {f"branch_{name}": [_stored(getattr(branch, name))] for name in _BRANCH}
    one |= {f"branch_{name}": [_stored(getattr(trail, name))] for name in _SEARCH}
    special = special_rows([(branch, point) for point in branch.special], counts)
    return {_BRANCHES: one, _POINTS: points, **special}


def special_rows(special: Sequence[tuple[Branch, SpecialPoint]], counts: Mapping[str, int]) -> NewRows:
    """Special points as rows."""
    listed = []
    for branch, point in special:
        values = {name: getattr(point, name) for name in _SPECIAL}
        null = dict(zip(_NULL_VECTORS, (*point.symmetry, point.count), strict=True))
        listed.append({"branch": branch.number, **values, "meets": ",".join(map(str, point.branches)), **null})
    if not listed:
        return {}
    columns = {f"special_{name}": [_stored(row[name]) for row in listed] for name in listed[0]}
    return {_SPECIALS: {"special": _numbers(counts[_SPECIALS], len(listed)), **columns}}


def _numbers(first: int, size: int) -> AnyArray:
    return np.arange(first, first + size, dtype=float)


def _stored(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def branches_in(columns: Mapping[str, AnyArray], family: Family) -> list[Branch]:
    """Branches from all rows of the file."""
    return [_branch(columns, row, family) for row in range(len(columns["branch_number"]))]


def _branch(columns: Mapping[str, AnyArray], row: int, family: Family) -> Branch:
    one = {name: _value(columns[f"branch_{name}"][row]) for name in _BRANCH}
    search = {name: _value(columns[f"branch_{name}"][row]) for name in _SEARCH}
    here = columns["branch"] == one["number"]
    arrays = {name: columns[name][here] for name in (*_POINT, "moments", "rates")}
    imaginary = columns["rates_imaginary"][here]
    if np.any(np.nan_to_num(imaginary)):
        arrays["rates"] = arrays["rates"] + 1j * imaginary
    path = {name: columns[name][here] for name in (*_TRAIL, "unknowns")}
    search["goes_through"] = bool(search["goes_through"])
    first, second = columns["branch_rule_sizes"][row].tolist()
    trail = Trail(**path, **search, rule_sizes=(first, second))
    one["vertical"] = bool(one["vertical"])
    made = Branch(family=family, special=[], trail=trail, **arrays, **one)
    rows = np.flatnonzero(columns["special_branch"] == made.number)
    return replace(made, special=[_special(columns, int(row), made) for row in rows])


def _special(columns: Mapping[str, AnyArray], row: int, branch: Branch) -> SpecialPoint:
    values = {name: _value(columns[f"special_{name}"][row]) for name in _SPECIAL}
    order, residue, count = (int(columns[f"special_{name}"][row]) for name in _NULL_VECTORS)
    met = tuple(int(number) for number in _value(columns["special_meets"][row]).split(",") if number)
    state = _state(branch, values["place"], values["parameter"])
    return SpecialPoint(
        moments=state.moments, state=state, branches=met, symmetry=(order, residue), count=count, **values
    )


def _state(branch: Branch, place: int, parameter: float) -> StationaryState:
    """At a point of the branch, or between it and the next."""
    found = None if parameter == branch.parameter[place] else solve_between(branch, place, parameter)
    return branch.state(place) if found is None else found


def _value(entry: Any) -> Any:
    return entry.decode() if isinstance(entry, bytes) else entry.item()


def numbered(branches: Iterable[Branch]) -> dict[str, float]:
    """What a file says of how much there was to do."""
    listed = list(branches)
    return {"branches": float(len(listed)), "points": float(sum(map(len, listed)))}
