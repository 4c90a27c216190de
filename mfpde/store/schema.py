"""The file layout: which datasets a run's file has, with which axes and attributes. The writer fills it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde._version import __version__
from mfpde.geometry import Field, Layout
from mfpde.observe.schedule import time_of
from mfpde.run import Outcome
from mfpde.store.layouts import create_growing, create_layout, create_scale, extent_scale
from mfpde.store.provenance import write_provenance
from mfpde.store.recorder import observed_series

if TYPE_CHECKING:
    from mfpde.contracts.observable import Series
    from mfpde.problem import Problem

__all__ = ["FORMAT", "KIND", "RUNNING", "Header", "Rows", "create", "mark_running", "series_axis", "write_outcome"]

FORMAT = 1
KIND = "run"
RUNNING = "running"
_STATUS_BYTES, _OUTCOME_BYTES, _TEXT_LETTERS = 32, 2048, 300


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


@dataclass(frozen=True)
class Rows:
    """How many rows there are: on the two time axes (without times of their own, series go with the snapshots), and
    of the trail."""

    snapshots: int
    observations: int
    steps: int = 0


def series_axis(header: Header) -> str:
    """Name of the time axis of the series."""
    return "observe_time" if header.own_times else "time"


def create(file: Any, header: Header) -> None:
    """Attributes and empty datasets."""
    _write_attributes(file, header)
    time = create_scale(file, "time", "time")
    if header.own_times:
        create_scale(file, "observe_time", "time of the observations")
    create_layout(file, header.layout, time)
    for name, series in observed_series(header.problem).items():
        _create_series(file, name, _sized(series, header.layout), series_axis(header))
    file.create_group("checkpoint")
    provenance = file.create_group("provenance")
    write_provenance(provenance, dict(header.provenance))
    provenance["problem"] = json.dumps(header.problem.canonical())  # what is read back; the YAML text is for people


def write_outcome(file: Any, outcome: Outcome) -> None:
    """Overwrite the two attributes where they stand: they have a fixed size, so that this works on a full disk."""
    record = asdict(outcome)
    record.update({key: record[key][:_TEXT_LETTERS] for key in ("message", "advice")})
    file.attrs.modify("status", np.array(outcome.kind.encode(), f"S{_STATUS_BYTES}"))
    file.attrs.modify("outcome", np.array(json.dumps(record).encode(), f"S{_OUTCOME_BYTES}"))


def mark_running(file: Any) -> None:
    """The run goes on: it has no outcome yet."""
    file.attrs.modify("status", np.array(RUNNING.encode(), f"S{_STATUS_BYTES}"))
    file.attrs.modify("outcome", np.array(b"{}", f"S{_OUTCOME_BYTES}"))


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


def _sized(series: Series, layout: Layout) -> Series:
    """With sizes that only the layout knows."""
    return replace(series, extent=tuple((axis, size or layout.extents[axis]) for axis, size in series.extent))


def _create_series(file: Any, name: str, series: Series, time: str) -> None:
    field = Field(tuple(axis for axis, _ in series.extent), series.long_name, series.units)
    shape = tuple(size or 0 for _, size in series.extent)
    scales = [
        file[time],
        *(extent_scale(file, axis, size) for (axis, _), size in zip(series.extent, shape, strict=True)),
    ]
    create_growing(file, name, field, shape, scales)
