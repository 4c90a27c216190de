"""The file layout: which datasets a run's file has, with which axes and attributes. The writer fills it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde._version import __version__
from mfpde.geometry import Field, Layout
from mfpde.observe.output_times import time_of
from mfpde.run import Outcome
from mfpde.store.checksums import (
    GROUP,
    MARK,
    Columns,
    Rows,
    array_checksum,
    axis_checksum,
    record_rows,
    text_checksum,
    write_record,
)
from mfpde.store.layouts import (
    LAYOUT,
    UNKNOWN_ROWS,
    create_growing,
    create_layout,
    create_scale,
    extent_scale,
    rows_per_chunk,
)
from mfpde.store.provenance import read_provenance, write_numbers, write_provenance
from mfpde.store.recorder import observed_series

if TYPE_CHECKING:
    from mfpde.contracts.observable import Series
    from mfpde.problem import Problem

__all__ = ["FORMAT", "KIND", "RUNNING", "Header", "create", "series_axis", "sized", "write_outcome"]

FORMAT = 1
KIND = "run"
RUNNING = "running"
_STATUS_BYTES, _OUTCOME_BYTES, _TEXT_LETTERS = 32, 2048, 300
_END_BYTES = 8192
_CHECKSUM_BYTES = 4


@dataclass(frozen=True)
class Header:
    """All that is known of a run before its first row."""

    problem: Problem
    layout: Layout
    history: str
    provenance: Mapping[str, Any]

    @property
    def own_times(self) -> bool:
        """True when the series have times of their own."""
        return time_of(self.problem).observe_every is not None

    @property
    def columns(self) -> Columns:
        """What grows, by the rows it has: where the checksums go."""
        series = tuple(observed_series(self.problem))
        tables = {"snapshots": ("time", *self.layout.fields, *(() if self.own_times else series))}
        if self.own_times:
            tables["observations"] = ("observe_time", *series)
        if self.layout.trail:
            tables["steps"] = ("step", *self.layout.trail)
        return Columns(tables)

    @property
    def expected(self) -> Rows:
        """How many rows the run will have if it goes to its end; nobody knows its steps."""
        time = time_of(self.problem)
        snapshots = len(time.save_times())
        return Rows(snapshots, len(time.observe_times() or ()) or snapshots, UNKNOWN_ROWS)


def series_axis(header: Header) -> str:
    """Name of the time axis of the series."""
    return "observe_time" if header.own_times else "time"


def create(file: Any, header: Header) -> None:
    """Attributes and empty datasets."""
    expected = header.expected
    _write_attributes(file, header)
    time = create_scale(file, "time", "time", expected.snapshots)
    if header.own_times:
        create_scale(file, "observe_time", "time of the observations", expected.observations)
    create_layout(file, header.layout, time, expected)
    for name, series in observed_series(header.problem).items():
        _create_series(file, name, sized(series, header.layout), series_axis(header), expected.observations)
    file.create_group("checkpoint")
    provenance = file.create_group("provenance")
    write_provenance(provenance, dict(header.provenance))
    problem = json.dumps(header.problem.canonical())
    provenance["problem"] = problem  # what is read back; the YAML text is for people
    _create_checksums(file, header, problem)


def _create_checksums(file: Any, header: Header, problem: str) -> None:
    group, columns, expected = file.create_group(GROUP), header.columns, header.expected
    file.attrs[MARK] = 1
    for table, names in columns.tables.items():
        chunk = (rows_per_chunk(_CHECKSUM_BYTES * len(names), getattr(expected, table)), len(names))
        sums = group.create_dataset(
            table, (0, len(names)), maxshape=(None, len(names)), chunks=chunk, dtype="uint32", track_times=False
        )
        sums.attrs["columns"] = json.dumps(names)
    layout, made_by = header.layout, read_provenance(file["provenance"])
    record = {
        "problem": text_checksum(problem),
        "layout": text_checksum(file.attrs[LAYOUT]),
        "axes": {axis.name: axis_checksum(axis) for axis in layout.axes},
        "constants": {name: array_checksum(name, one.values) for name, one in layout.constants.items()},
        "columns": columns.tables,
        "provenance": made_by,
    }
    write_record(group, "header", record)
    write_record(group, "end", _end(None, made_by), _END_BYTES)
    record_rows(group, Rows(0, 0))


def _end(outcome: Outcome | None, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What changes when a run ends."""
    effort = {name: provenance[name] for name in ("timings", "statistics")}
    return {"outcome": None if outcome is None else asdict(outcome), **effort}


def write_outcome(file: Any, outcome: Outcome, effort: Mapping[str, Any]) -> None:
    """Overwrite it where it stands, with the timings and statistics: its places have a fixed size, so that this works
    on a full disk."""
    _write_effort(file, effort)
    outcome = replace(outcome, message=outcome.message[:_TEXT_LETTERS], advice=outcome.advice[:_TEXT_LETTERS])
    record = asdict(outcome)
    file.attrs.modify("status", np.array(outcome.kind.encode(), f"S{_STATUS_BYTES}"))
    file.attrs.modify("outcome", np.array(json.dumps(record).encode(), f"S{_OUTCOME_BYTES}"))
    write_record(file[GROUP], "end", _end(outcome, effort), _END_BYTES)


def _write_effort(file: Any, effort: Mapping[str, Any]) -> None:
    for name in ("timings", "statistics"):
        write_numbers(file["provenance"][name], effort[name])


def _write_attributes(file: Any, header: Header) -> None:
    problem = header.problem
    file.attrs["Conventions"] = "CF-1.11"
    file.attrs["title"] = problem.title or "mfpde run"
    file.attrs["source"] = f"mfpde {__version__}"
    file.attrs["history"] = header.history
    file.attrs["mfpde_format"] = FORMAT
    file.attrs["mfpde_kind"] = KIND
    file.attrs["problem"] = problem.to_yaml()
    file.attrs["problem_hash"] = problem.content_hash
    file.attrs.create("status", np.array(RUNNING.encode(), f"S{_STATUS_BYTES}"))
    file.attrs.create("outcome", np.array(b"{}", f"S{_OUTCOME_BYTES}"))


def sized(series: Series, layout: Layout) -> Series:
    """With sizes that only the layout knows."""
    return replace(series, extent=tuple((axis, size or layout.extents[axis]) for axis, size in series.extent))


def _create_series(file: Any, name: str, series: Series, time: str, expected: int) -> None:
    field = Field(tuple(axis for axis, _ in series.extent), series.long_name, series.units)
    shape = tuple(size or 0 for _, size in series.extent)
    scales = [
        file[time],
        *(extent_scale(file, axis, size) for (axis, _), size in zip(series.extent, shape, strict=True)),
    ]
    create_growing(file, name, field, shape, scales, expected)
