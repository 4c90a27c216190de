"""Files back to runs. Rows that were not committed are left out; arrays are read when looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.arguments import file_path
from mfpde.errors import MfpdeError, ProblemError
from mfpde.geometry import Layout
from mfpde.problem import Problem
from mfpde.registry import lookup, register
from mfpde.run import INTERRUPTED, Outcome, Run
from mfpde.store import schema
from mfpde.store.checksums import (
    GROUP,
    MARK,
    Columns,
    DamageError,
    Rows,
    array_checksum,
    axis_checksum,
    check_rows,
    read_record,
    read_rows,
    recorded_rows,
    text_checksum,
)
from mfpde.store.layouts import LAYOUT, read_layout
from mfpde.store.lazy_array import StoredArray, StoredSeries
from mfpde.store.opening import attribute, opened, typed
from mfpde.store.provenance import read_provenance
from mfpde.store.recorder import observed_series
from mfpde.typing import Float

__all__ = ["Contents", "check_kind", "load", "load_run"]


def load(path: str | Path) -> Run:
    """What a file of mfpde's holds: the run as `solve` returned it.

    Fails, with one line that says why, for anything else: a foreign, damaged or empty file, a run still under way.

    >>> import mfpde, tempfile
    >>> diffusion = mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "noise": {"kappa": 2},
    ...     "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta)"},
    ...     "time": {"until": 2},
    ... })
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = mfpde.solve(diffusion, f"{folder}/run.h5")
    ...     loaded = mfpde.load(f"{folder}/run.h5")
    ...     print(loaded.outcome, (loaded.density == run.density).all())
    finished at t = 2 True
    """
    place = file_path("path", path, "run.h5")
    with opened(place) as file:
        kind = _kind(place, file)
    run: Run = lookup("archive", kind)(path)
    return run


@register("archive", "run")
def load_run(path: str | Path) -> Run:
    """A run. Only what was committed; densities stay in the file until they are looked at, and what is read is what was
    written, or a `MfpdeError`."""
    place = Path(path)
    with opened(place) as file:
        check_kind(place, file)
        contents = Contents(place, file)
        contents.read_end()
        contents.read_times()
        return contents.run()


class Contents:
    """A run's open file. Files of before there were checksums have none, and `columns` is None."""

    def __init__(self, path: Path, file: Any) -> None:
        """What is written once; `DamageError` when that is not what was written."""
        self.path = path
        self.file = file
        self._header: dict[str, Any] = {}
        self.columns: Columns | None = None
        if GROUP in file or MARK in file.attrs:
            self._header = read_record(path, file[GROUP], "header", "what describes it")
            self.columns = Columns({table: tuple(names) for table, names in self._header["columns"].items()})
        self.problem = self._problem()
        self.layout = self._layout()
        self.own_times = "observe_time" in file if self.columns is None else "observations" in self.columns.tables
        self.times = self.series_times = self.steps = np.zeros(0)
        self._end: dict[str, Any] = {"outcome": None}

    def read_end(self) -> None:
        """How the run ended, and how much there was to do; `DamageError` when that is not what was written."""
        if self.columns is None:
            self._end["outcome"] = json.loads(bytes(self.file.attrs["outcome"]))
        else:
            self._end = read_record(self.path, self.file[GROUP], "end", "its outcome")

    def forget_outcome(self) -> None:
        """The run is to go on as if it had been killed."""
        self._end["outcome"] = None

    def _problem(self) -> Problem:
        text = self.file["provenance/problem"][()]
        if self.columns is not None and text_checksum(text.decode(errors="replace")) != self._header["problem"]:
            raise DamageError(self.path, "its problem")
        try:
            return Problem.model_validate(json.loads(text))
        except (ProblemError, ValueError) as error:
            detail = str(error).splitlines()[0]
            raise MfpdeError(f"the problem in {self.path} is not one of this version of mfpde: {detail}") from None

    def _layout(self) -> Layout:
        if self.columns is not None and text_checksum(self.file.attrs[LAYOUT]) != self._header["layout"]:
            raise DamageError(self.path, "its layout")
        layout = read_layout(self.file)
        if self.columns is not None:
            for axis in layout.axes:
                if axis_checksum(axis) != self._header["axes"][axis.name]:
                    raise DamageError(self.path, axis.name)
            for name, constant in layout.constants.items():
                if array_checksum(name, constant.values) != self._header["constants"][name]:
                    raise DamageError(self.path, name)
        absent = [name for name in (*layout.fields, *layout.trail) if name not in self.file]
        if absent:
            raise MfpdeError(f"{self.path} is damaged: it holds no {', '.join(absent)}")
        return layout

    def read_times(self) -> None:
        """How many rows there are; `DamageError` when there are fewer than were committed or a time is damaged."""
        rows = recorded_rows(self.path, self.file[GROUP]) if self.columns is not None else Rows(0, 0)
        self.times = self.series_times = self.scale("time", rows.snapshots)
        if self.own_times:
            self.series_times = self.scale("observe_time", rows.observations)
        if self.layout.trail:
            self.steps = self.scale("step", rows.steps)
        if self.times.size == 0:
            raise MfpdeError(f"{self.path} holds no committed snapshot")

    def scale(self, name: str, least: int = 0, most: int | None = None) -> Float:
        """The committed values of an axis that grows, no fewer than `least`."""
        dataset = self.file[name]
        if self.columns is None:
            return committed(dataset)
        count = min(dataset.shape[0], self.file[self.columns.place(name)[0]].shape[0])
        values = np.empty(count if most is None else min(count, most))
        read_rows(dataset, values)
        missing = np.flatnonzero(~np.isfinite(values))
        values = values[: missing[0]] if missing.size else values
        if len(values) < least:
            raise DamageError(self.path, f"{name} at row {len(values)}", len(values))
        self.check(name, values, 0, values if name != "step" else np.zeros(0))
        return values

    def check(self, name: str, values: Float, first: int, times: Float) -> None:
        """`DamageError` when rows that were read, from that one on, are not what was written."""
        if self.columns is not None:
            check_rows(self.path, self.file, name, self.columns, values, first, times)

    def rows(self, name: str, first: int, count: int) -> Float:
        """So many rows, held against their checksums."""
        dataset = self.file[name]
        values = np.empty((count, *dataset.shape[1:]))
        read_rows(dataset, values, first)
        self.check(name, values, first, np.zeros(0))
        return values

    def growing(self) -> dict[str, tuple[int, tuple[int, ...], Float]]:
        """Everything that grows but its axes: how many rows are committed, the shape of one, and the times."""
        known: dict[str, tuple[int, tuple[int, ...], Float]] = {}
        for name in self.layout.fields:
            known[name] = (self.times.size, self.layout.shape_of(name), self.times)
        for name, series in observed_series(self.problem).items():
            shape = tuple(size or 0 for _, size in schema.sized(series, self.layout).extent)
            known[name] = (self.series_times.size, shape, self.series_times)
        for name in self.layout.trail:
            known[name] = (self.steps.size, self.layout.shape_of(name), np.zeros(0))
        return known

    def run(self) -> Run:
        """With arrays that stay in the file."""
        stored = {name: self._stored(name, *about) for name, about in self.growing().items()}
        series = {name: stored[name] for name in observed_series(self.problem)}
        return Run(
            problem=self.problem,
            times=self.times,
            layout=self.layout,
            stored={name: stored[name] for name in self.layout.fields},
            series=StoredSeries(series),
            series_times=self.series_times,
            outcome=self._outcome(),
            trail={name: stored[name] for name in self.layout.trail},
            provenance=self._provenance(),
            path=self.path,
        )

    def _stored(self, name: str, rows: int, shape: tuple[int, ...], times: Float) -> StoredArray:
        dataset = self.file[name]
        if dataset.shape[0] < rows or dataset.shape[1:] != shape:
            raise ValueError(f"{name} has the shape {dataset.shape} where {(rows, *shape)} is committed")
        return StoredArray(self.path, name, (rows, *shape), self.columns, times)

    def _outcome(self) -> Outcome:
        if self._end["outcome"]:
            return Outcome.of(self._end["outcome"])
        last = float(self.times[-1]) if self.times.size else 0.0
        return Outcome(INTERRUPTED, last, "the run was killed", "--resume (resume=True) continues it")

    def _provenance(self) -> dict[str, Any]:
        if self.columns is None:
            return read_provenance(self.file["provenance"])
        changed = {name: value for name, value in self._end.items() if name != "outcome"}
        return {**self._header["provenance"], **changed}


def committed(dataset: Any) -> Float:
    """Times up to the first that is not finite: a kill may have left more."""
    times = np.asarray(typed(dataset)[:], dtype=float)
    missing = np.flatnonzero(~np.isfinite(times))
    return times[: missing[0]] if missing.size else times


def check_kind(path: Path, file: Any) -> None:
    """Fail for a file that holds something other than a run."""
    kind = _kind(path, file)
    if kind != schema.KIND:
        raise MfpdeError(f"{path} holds a {kind}, not a run")


def _kind(path: Path, file: Any) -> str:
    if "mfpde_format" not in file.attrs:
        raise MfpdeError(f"{path} is an HDF5 file, but not one of mfpde's")
    written = int(attribute(file, "mfpde_format"))
    if written > schema.FORMAT:
        raise MfpdeError(f"{path} has format {written}, this mfpde reads up to {schema.FORMAT}: a newer mfpde wrote it")
    return str(file.attrs["mfpde_kind"])
