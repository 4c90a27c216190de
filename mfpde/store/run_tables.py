"""The tables of a run, and its rows in memory: all of them, or those that wait to be written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.geometry import Field, Layout
from mfpde.observe.output_times import time_of
from mfpde.store.schema import Header
from mfpde.store.table import Column, Table
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.contracts import Integration
    from mfpde.problem import Problem

__all__ = ["KIND", "OBSERVATIONS", "SNAPSHOTS", "STEPS", "Row", "RunRows", "run_header", "run_tables"]

KIND = "run"
SNAPSHOTS, OBSERVATIONS, STEPS = "snapshots", "observations", "steps"


def run_tables(problem: Problem, layout: Layout) -> tuple[Table, ...]:
    """Snapshots, observations where they have times of their own (else they are columns of the snapshots), steps, or
    what else they are rows of, where the layout has a trail."""
    time, own_times = time_of(problem), _own_times(problem)
    fields = {name: Column(field, layout.shape_of(name)) for name, field in layout.fields.items()}
    trail = {name: Column(field, layout.shape_of(name)) for name, field in layout.trail.items()}
    series = {}
    for name, one in problem.series().items():
        field = Field(tuple(axis for axis, _ in one.extent), one.long_name, one.units)
        series[name] = Column(field, tuple(size or layout.extents[axis] for axis, size in one.extent))
    snapshots, observations = len(time.save_times()), len(time.observe_times() or ())
    columns, told = fields if own_times else fields | series, "time of the observations"
    return (
        Table("snapshot", "time", "time", columns, snapshots, timed=True),
        Table("observation", "observe_time", told, series, observations, timed=True, present=own_times),
        Table("step", layout.trail_row, f"number of the {layout.trail_row}", trail, present=bool(trail)),
    )


def run_header(problem: Problem, layout: Layout, history: str, provenance: Mapping[str, Any]) -> Header:
    """All that is known of a run before its first row."""
    return Header(KIND, problem, layout, run_tables(problem, layout), history, provenance)


def _own_times(problem: Problem) -> bool:
    return time_of(problem).observe_every is not None


@dataclass(frozen=True)
class Row:
    """What is kept of one instant: a snapshot (`fields`, on `layout`), observed `values`, or both."""

    time: float
    layout: Layout
    fields: Mapping[str, Float] | None
    values: Mapping[str, float | Float] | None

    def on(self, layout: Layout) -> dict[str, Float]:
        """The fields of the snapshot, shown on the run's layout."""
        fields = dict(self.fields or {})
        if layout is self.layout:
            return fields
        return {name: self.layout.carry(name, np.asarray(values), layout) for name, values in fields.items()}


class RunRows:
    """Rows by table and column, all on one layout. `saved_time` and `observed_time` are those of the last ones."""

    def __init__(self, problem: Problem, layout: Layout, steps: int = 0) -> None:
        """Of a run of which so many rows of the trail have been taken already."""
        self.layout = layout
        self.saved_time = self.observed_time = float("-inf")
        self._own_times = _own_times(problem)
        self._tables = run_tables(problem, layout)
        self._steps = steps
        self._clear()

    def _clear(self) -> None:
        self._rows: dict[str, dict[str, list[Any]]] = {
            table.name: {name: [] for name in table.names} for table in self._tables
        }
        self.bytes = 0

    def __len__(self) -> int:
        """How many rows of snapshots and observations there are."""
        return len(self._rows[SNAPSHOTS]["time"]) + len(self._rows[OBSERVATIONS]["observe_time"])

    def add(self, row: Row) -> None:
        """A row; its arrays are not copied."""
        if row.fields is not None:
            self.saved_time = row.time
            fields = row.on(self.layout)
            self.bytes += sum(values.nbytes for values in fields.values())
            self._append(SNAPSHOTS, {"time": row.time, **fields, **({} if self._own_times else row.values or {})})
        if row.values is not None:
            self.observed_time = row.time
            if self._own_times:
                self._append(OBSERVATIONS, {"observe_time": row.time, **row.values})

    def _append(self, table: str, row: Mapping[str, Any]) -> None:
        for name, value in row.items():
            self._rows[table][name].append(value)

    def keep(self) -> None:
        """Copy the fields of the last snapshot, which the integration is about to change."""
        for name in self.layout.fields:
            values = self._rows[SNAPSHOTS][name]
            values[-1:] = [np.array(last) for last in values[-1:]]

    def follow(self, integration: Integration) -> None:
        """Ask for the rows of the trail that were made since the last time."""
        if not self.layout.trail:
            return
        new = integration.trail(self._steps)
        (count,) = {len(new[name]) for name in self.layout.trail}
        self._rows[STEPS][self.layout.trail_row] += map(float, range(self._steps, self._steps + count))
        for name in self.layout.trail:
            self._rows[STEPS][name] += list(np.array(new[name], dtype=float))
        self._steps += count

    def grow(self, layout: Layout) -> None:
        """Show what is here on a larger layout."""
        for name in layout.fields:
            values = self._rows[SNAPSHOTS][name]
            values[:] = [self.layout.carry(name, np.asarray(one), layout) for one in values]
        self.layout = layout

    def take(self) -> dict[str, dict[str, list[Any]]]:
        """All of them, which are not here any more."""
        taken = self._rows
        self._clear()
        return taken

    def arrays(self, table: str) -> dict[str, AnyArray]:
        """The columns of one table."""
        return {name: np.array(values) for name, values in self._rows[table].items()}
