"""The file of a diagram: it grows branch by branch, and holds all that were committed whenever it is left."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from mfpde.bifurcation.diagram import Branch, Diagram, SpecialPoint, meeting
from mfpde.bifurcation.families import family_of
from mfpde.bifurcation.files.diagram_tables import (
    KIND,
    branches_in,
    layout_of,
    numbered,
    rows_of,
    special_rows,
    tables,
)
from mfpde.contracts import OUTPUT_FAILED, Outcome
from mfpde.errors import ResumeError
from mfpde.registry import register
from mfpde.store.atomic_file import cannot_write, check_target, is_writable, reason
from mfpde.store.checkpoint import Checkpoint
from mfpde.store.opening import opened
from mfpde.store.provenance import history_line, provenance_of
from mfpde.store.result_file import ResultFile
from mfpde.store.schema import Header
from mfpde.store.stored_tables import StoredTables, check_kind
from mfpde.store.transaction import Transaction, open_file

if TYPE_CHECKING:
    from mfpde.bifurcation.states import Family
    from mfpde.problem import Problem

__all__ = ["DiagramFile", "begun_file", "load_diagram", "resumed_file", "write_diagram"]

_VERSION = 1  # of what a search goes on from


class DiagramFile:
    """Appends branches to an open file; `failed` says why the disk took no more."""

    def __init__(self, path: Path, file: ResultFile) -> None:
        self._path, self._file = path, file
        self._started = perf_counter()
        self._branches: list[Branch] = []
        self.failed = ""

    @classmethod
    def create(cls, path: Path, problem: Problem, uniform: Branch, *, force: bool) -> DiagramFile:
        """With the uniform state in it."""
        layout = layout_of(uniform.family)
        header = Header(KIND, problem, layout, tables(problem, layout), history_line(), provenance_of(problem, {}))
        rows = rows_of(uniform, {table.name: 0 for table in header.tables})
        try:
            file = ResultFile.create(path, header, rows, _checkpoint(0), force=force)
        except OSError as error:
            raise cannot_write(path, error) from error
        made = cls(path, file)
        made._branches.append(uniform)
        return made

    def add(self, branch: Branch) -> None:
        """A branch counts once all of it is on the disk; what the disk refuses is told in `failed`."""
        try:
            self._file.commit(rows_of(branch, self._file.counts), _checkpoint(branch.number))
            self._branches.append(branch)
        except OSError as error:
            self.failed = reason(error)

    def finish(self, outcome: Outcome, ties: Sequence[tuple[Branch, SpecialPoint]] = ()) -> None:
        """Where branches tie, and how the search ended. Neither belongs to a checkpoint: a search that is taken up
        again finds them anew."""
        effort = {"timings": {"seconds": perf_counter() - self._started}, "statistics": numbered(self._branches)}
        try:
            if not self.failed:
                rows = special_rows(ties, self._file.counts)
                if rows:
                    self._file.commit(rows)
                self._file.trim()
                self._file.finish(outcome, effort)
                return
        except OSError as error:
            self.failed = reason(error)
            outcome = Outcome(OUTPUT_FAILED, np.nan, self.failed, outcome.advice)
        self.close()
        with suppress(OSError):  # the place of the outcome is taken already
            disk = Transaction(self._path)
            ResultFile(self._file.header, disk, open_file(disk, "r+")).finish(outcome, effort)

    def close(self) -> None:
        """Let go; what was committed stays."""
        self._file.close()


def _checkpoint(number: int) -> Checkpoint:
    """A search goes on from its branches; beside them it has no state."""
    return Checkpoint(float(number), _VERSION, {"branch": np.array([number])})


@register("archive", "write-diagram")
def write_diagram(diagram: Diagram, path: str | Path, force: bool = False) -> Path:
    """Everything, states included; `OutputError` where it cannot be written."""
    target = check_target(path, force=force)
    uniform, *others = diagram.branches
    file = DiagramFile.create(target, diagram.problem, uniform, force=force)
    for branch in others:
        file.add(branch)
    file.finish(diagram.outcome)
    if file.failed:
        raise cannot_write(path, file.failed)
    return Path(path)


@register("archive", KIND)
def load_diagram(path: str | Path) -> Diagram:
    """A diagram as `bifurcate` returned it; of a search that was killed or is under way what was committed."""
    place = Path(path)
    with opened(place) as file:
        stored = _stored(place, file)
        stored.read_end()
        stored.read_scales()
        return _diagram(stored)


@register("archive", "begin-diagram")
def begun_file(path: Path, problem: Problem, uniform: Branch, *, force: bool) -> DiagramFile:
    """The file of a search that begins."""
    return DiagramFile.create(path, problem, uniform, force=force)


@register("archive", "resume-diagram")
def resumed_file(path: Path, problem: Problem) -> tuple[Diagram, DiagramFile | None]:
    """The diagram of an earlier search, with the branches from which it goes on, and its file, which takes more of
    them; None where the search came to its end."""
    if not path.exists():
        raise ResumeError(f"there is no {path} to resume; without --resume (resume=True) a new search starts")
    if not is_writable(path):
        raise ResumeError(f"cannot resume {path}: the file is read-only")
    with opened(path) as file:
        stored = _stored(path, file)
        if stored.problem.content_hash != problem.content_hash:
            raise ResumeError(f"cannot resume {path}: it is the diagram of another problem")
        damage = stored.read_sound()
        outcome = stored.outcome
        if outcome.complete and not damage:
            return _diagram(stored), None
        slot, checkpoint = stored.latest()
        if checkpoint is None:
            raise ResumeError(f"cannot resume {path}: it holds no whole checkpoint; --force starts anew")
        if damage:
            logging.getLogger("mfpde").warning("%s; what comes after is made anew", "; ".join(damage))
        stored.scales = {name: values[: checkpoint.counts[name]] for name, values in stored.scales.items()}
        diagram = _diagram(stored)
        history = f"{file.attrs['history']}\n{history_line()}"
        header = Header(KIND, problem, stored.layout, stored.tables, history, stored.provenance)
        try:
            result = ResultFile.continued(path, stored, header, (slot, checkpoint), checkpoint.counts)
        except OSError as error:
            raise cannot_write(path, error) from error
    made = DiagramFile(path, result)
    made._branches.extend(diagram.branches)
    return diagram, made


def _stored(path: Path, file: object) -> StoredTables:
    check_kind(path, file, KIND)
    return StoredTables(path, file, tables)


def _diagram(stored: StoredTables) -> Diagram:
    family = _family(stored.problem)
    columns = {name: np.asarray(stored.rows(name, 0, array.shape[0])) for name, array in stored.stored().items()}
    asked = stored.problem.bifurcation
    assert asked is not None  # noqa: S101  nothing else makes such a file
    outcome = replace(stored.outcome, time=np.nan)
    branches = meeting(branches_in(columns, family))
    return Diagram(
        stored.problem, asked.parameter, asked.range, branches, outcome, stored.provenance, Path(stored.path)
    )


def _family(problem: Problem) -> Family:
    asked = problem.bifurcation
    assert asked is not None  # noqa: S101  nothing else makes such a file
    return family_of(problem.equation, asked.parameter, *asked.range)
