"""The file of a diagram: one dimension of points with the number of their branch, a table of branches, one of special
points. Written whole; it takes the place of an older one at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde._version import __version__
from mfpde.contracts import Outcome
from mfpde.errors import MfpdeError
from mfpde.registry import register
from mfpde.store.atomic_file import check_target, replacing
from mfpde.store.opening import opened
from mfpde.store.provenance import provenance_of, read_provenance, write_provenance
from mfpde.typing import AnyArray

if TYPE_CHECKING:
    from mfpde.bifurcation.diagram import Branch, Diagram, SpecialPoint

__all__ = ["KIND", "load_diagram", "write_diagram"]

KIND = "diagram"
_FORMAT = 1  # of the file; readers refuse later ones
_POINTS = {
    "parameter": "value of the parameter",
    "amplitude": "modulus of the branch's own moment",
    "free_energy": "free energy minus that of the uniform state",
    "unstable": "number of unstable directions",
    "residual": "largest residual of a moment, by quadrature",
    "quadratic_residual": "largest residual of the quadratic form",
}
_SPECIAL = ("kind", "parameter", "place", "free_energy", "type", "coefficient", "fitted", "breaks", "multiplicity")
_BRANCH = ("name", "mode", "number", "parent", "vertical", "vertical_until", "end")


@register("archive", "write-diagram")
def write_diagram(diagram: Diagram, path: str | Path, force: bool = False) -> Path:
    """Everything, states included; `OutputError` where it cannot be written."""
    import h5py

    check_target(path, force=force)
    with replacing(path) as part, h5py.File(part, "w") as file:
        _attributes(file, diagram)
        _points(file, diagram.branches)
        branches = [{name: getattr(branch, name) for name in _BRANCH} for branch in diagram.branches]
        _table(file, "branch_row", "branch", "branches", branches, _BRANCH)
        special = [_row(branch, point) for branch, point in diagram.special]
        _table(file, "special", "special", "special points", special, ("branch", *_SPECIAL, "meets"))
        provenance = file.create_group("provenance")
        write_provenance(provenance, provenance_of(diagram.problem, {}))
        provenance["problem"] = json.dumps(diagram.problem.canonical())
    return Path(path)


def _row(branch: Branch, point: SpecialPoint) -> dict[str, Any]:
    values = {name: getattr(point, name) for name in _SPECIAL}
    return {"branch": branch.number, **values, "meets": ",".join(map(str, point.branches))}


def _attributes(file: Any, diagram: Diagram) -> None:
    problem = diagram.problem
    file.attrs["Conventions"] = "CF-1.11"
    file.attrs["title"] = problem.title or "mfpde bifurcation diagram"
    file.attrs["source"] = f"mfpde {__version__}"
    file.attrs["history"] = f"mfpde {__version__} bifurcate"
    file.attrs["mfpde_format"] = _FORMAT
    file.attrs["mfpde_kind"] = KIND
    file.attrs["problem"] = problem.to_yaml()
    file.attrs["problem_hash"] = problem.content_hash
    file.attrs["status"] = diagram.outcome.kind
    file.attrs["outcome"] = json.dumps({"kind": diagram.outcome.kind, "messages": list(diagram.messages)})
    file.attrs["parameter"] = diagram.parameter
    file.attrs["range"] = np.array(diagram.range)


def _points(file: Any, branches: list[Branch]) -> None:
    total = sum(len(branch) for branch in branches)
    point = _scale(file, "point", "point of the diagram", total)
    _dataset(file, "branch", np.repeat([b.number for b in branches], [len(b) for b in branches]), "branch", [point])
    for name, long_name in _POINTS.items():
        _dataset(file, name, np.concatenate([getattr(branch, name) for branch in branches]), long_name, [point])
    order = _scale(file, "order", "order of the moment", max(branch.moments.shape[1] for branch in branches))
    _dataset(file, "moments", _padded([branch.moments for branch in branches]), "moments", [point, order])
    rates = _padded([branch.rates for branch in branches])
    rank = _scale(file, "rate", "rank of the eigenvalue", rates.shape[1])
    _dataset(file, "rates", rates.real, "leading eigenvalues of the linearised equation", [point, rank])
    if np.iscomplexobj(rates):
        _dataset(file, "rates_imaginary", rates.imag, "their imaginary parts", [point, rank])


def _padded(parts: list[AnyArray]) -> AnyArray:
    width = max(part.shape[1] for part in parts)
    kind = complex if any(np.iscomplexobj(part) for part in parts) else float
    wide = [np.full((part.shape[0], width), np.nan, dtype=kind) for part in parts]
    for row, part in zip(wide, parts, strict=True):
        row[:, : part.shape[1]] = part
    return np.concatenate(wide)


def _table(
    file: Any, dimension: str, prefix: str, long_name: str, rows: list[dict[str, Any]], names: tuple[str, ...]
) -> None:
    scale = _scale(file, dimension, long_name, len(rows))
    for name in names:
        column: AnyArray = np.array([row[name] for row in rows])
        if column.dtype.kind in "UO":
            column = np.array([str(row[name]).encode() for row in rows], dtype="S")
        elif column.dtype.kind == "b":
            column = column.astype("i1")
        _dataset(file, f"{prefix}_{name}", column, f"{name.replace('_', ' ')} of each", [scale])


def _scale(file: Any, name: str, long_name: str, size: int) -> Any:
    scale = file.create_dataset(name, data=np.arange(size), track_times=False)
    scale.attrs["long_name"] = long_name
    scale.make_scale(name)
    return scale


def _dataset(file: Any, name: str, values: AnyArray, long_name: str, scales: list[Any]) -> None:
    if values.size == 0:
        values = np.zeros(values.shape, dtype="S1" if values.dtype.kind in "SU" else "f8")
    dataset = file.create_dataset(name, data=values, track_times=False)
    dataset.attrs["long_name"] = long_name
    for axis, scale in enumerate(scales):
        dataset.dims[axis].attach_scale(scale)


@register("archive", KIND)
def load_diagram(path: str | Path) -> Diagram:
    """A diagram as `bifurcate` returned it."""
    from mfpde.bifurcation.diagram import Diagram
    from mfpde.bifurcation.families import family_of
    from mfpde.problem import Problem

    with opened(Path(path)) as file:
        if str(file.attrs.get("mfpde_kind")) != KIND:
            raise MfpdeError(f"{path} holds a {file.attrs.get('mfpde_kind')}, not a diagram")
        problem = Problem.from_dict(json.loads(file["provenance/problem"][()]))
        parameter, (low, high) = str(file.attrs["parameter"]), (float(value) for value in file.attrs["range"])
        family = family_of(problem.equation, parameter, low, high)
        outcome = json.loads(file.attrs["outcome"])
        branches = [_branch(file, index, family) for index in range(file["branch_number"].shape[0])]
        provenance = read_provenance(file["provenance"])
        messages = tuple(outcome["messages"])
        return Diagram(
            problem,
            parameter,
            (low, high),
            branches,
            Outcome(outcome["kind"], np.nan),
            messages,
            provenance,
            Path(path),
        )


def _branch(file: Any, index: int, family: Any) -> Branch:
    from mfpde.bifurcation.diagram import Branch

    one = {name: _value(file[f"branch_{name}"][index]) for name in _BRANCH}
    one["vertical"] = bool(one["vertical"])
    here = np.flatnonzero(file["branch"][:] == one["number"])
    span = slice(int(here[0]), int(here[-1]) + 1)
    arrays = {name: file[name][span] for name in _POINTS}
    moments = file["moments"][span]
    kept = np.flatnonzero(np.isfinite(moments).any(axis=0))
    rates = file["rates"][span]
    if "rates_imaginary" in file:
        rates = rates + 1j * file["rates_imaginary"][span]
    made = Branch(family=family, moments=moments[:, : kept[-1] + 1], rates=rates, special=[], **arrays, **one)
    made.special.extend(_special(file, made))
    return made


def _special(file: Any, branch: Branch) -> list[SpecialPoint]:
    from mfpde.bifurcation.diagram import SpecialPoint

    found = []
    for row in np.flatnonzero(file["special_branch"][:] == branch.number):
        values = {name: _value(file[f"special_{name}"][row]) for name in _SPECIAL}
        meets = _value(file["special_meets"][row])
        state = branch.state(values["place"])
        branches = tuple(int(number) for number in meets.split(",") if number)
        found.append(SpecialPoint(moments=state.moments, state=state, branches=branches, **values))
    return found


def _value(entry: Any) -> Any:
    return entry.decode() if isinstance(entry, bytes) else entry.item()
