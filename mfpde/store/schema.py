"""The file layout: which datasets a run's file has, with which axes and attributes. The writer fills it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde._version import __version__
from mfpde.geometry import Axis, Layout
from mfpde.observe.schedule import time_of
from mfpde.run import Outcome
from mfpde.store.provenance import write_provenance
from mfpde.store.recorder import observed_series

if TYPE_CHECKING:
    from mfpde.observe.base import Series
    from mfpde.problem import Problem

__all__ = ["FORMAT", "KIND", "RUNNING", "Header", "Rows", "create", "mark_running", "series_axis", "write_outcome"]

FORMAT = 1
KIND = "run"
RUNNING = "running"
SERIES_ROWS = 1024  # rows per chunk of scalars: 8 kB
_CHUNK_NUMBERS = 1024
_STATUS_BYTES, _OUTCOME_BYTES, _TEXT_LETTERS = 32, 2048, 300


@dataclass(frozen=True)
class Header:
    """All that is known of a run before its first row."""

    problem: Problem
    layout: Layout
    fields: tuple[str, ...]
    history: str
    provenance: Mapping[str, Any]

    @property
    def own_times(self) -> bool:
        """True when the series have times of their own."""
        return time_of(self.problem).observe_every is not None


@dataclass(frozen=True)
class Rows:
    """How many rows there are on the two time axes; without times of their own, series go with the snapshots."""

    snapshots: int
    observations: int


def series_axis(header: Header) -> str:
    """Name of the time axis of the series."""
    return "observe_time" if header.own_times else "time"


def create(file: Any, header: Header) -> None:
    """Attributes and empty datasets."""
    _write_attributes(file, header)
    _create_time(file, "time", "time")
    if header.own_times:
        _create_time(file, "observe_time", "time of the observations")
    for axis in header.layout.axes:
        _create_axis(file, axis)
    _create_weight(file, header.layout)
    for name in header.fields:
        _create_field(file, name, header.layout)
    for name, series in observed_series(header.problem).items():
        _create_series(file, name, series, series_axis(header))
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


def _create_time(file: Any, name: str, long_name: str) -> None:
    time = file.create_dataset(
        name, (0,), maxshape=(None,), chunks=(SERIES_ROWS,), dtype="float64", fillvalue=np.nan, track_times=False
    )
    time.attrs["_FillValue"] = np.array([np.nan])
    _describe(time, long_name, "1")
    time.make_scale(name)


def _create_axis(file: Any, axis: Axis) -> None:
    scale = file.create_dataset(axis.name, data=axis.values, track_times=False)
    _describe(scale, axis.long_name, axis.units)
    scale.attrs["bounds"] = f"{axis.name}_bounds"
    if axis.period is not None:
        scale.attrs["period"] = axis.period
    scale.make_scale(axis.name)
    bounds = file.create_dataset(f"{axis.name}_bounds", data=axis.bounds, track_times=False)
    _attach(bounds, scale, _side(file))


def _side(file: Any) -> Any:
    """The axis of length two that bounds have: a dimension without values of its own, as netCDF writes it."""
    if "bound" not in file:
        side = file.create_dataset("bound", (2,), dtype="float32", track_times=False)
        side.make_scale(f"This is a netCDF dimension but not a netCDF variable. {2:9d}")
    return file["bound"]


def _create_weight(file: Any, layout: Layout) -> None:
    weight = file.create_dataset("weight", data=layout.weight, track_times=False)
    _describe(weight, "quadrature weight: (density * weight).sum() is the mass", _measure_units(layout))
    _attach(weight, *(file[name] for name in layout.dimensions))


def _create_field(file: Any, name: str, layout: Layout) -> None:
    shape = layout.shape
    field = file.create_dataset(
        name, (0, *shape), maxshape=(None, *shape), chunks=(1, *shape), dtype="float64", track_times=False
    )
    units = " ".join(f"{axis.units}-1" for axis in layout.axes if axis.units != "1") or "1"
    _describe(field, "probability density" if name == "density" else name, units)
    _attach(field, file["time"], *(file[axis] for axis in layout.dimensions))


def _create_series(file: Any, name: str, series: Series, time: str) -> None:
    shape = tuple(size for _, size in series.extent)
    rows = max(1, min(SERIES_ROWS, _CHUNK_NUMBERS // max(1, int(np.prod(shape, dtype=int)))))
    dataset = file.create_dataset(
        name, (0, *shape), maxshape=(None, *shape), chunks=(rows, *shape), dtype="float64", track_times=False
    )
    _describe(dataset, series.long_name, series.units)
    _attach(dataset, file[time], *(_extent(file, axis, size) for axis, size in series.extent))


def _extent(file: Any, name: str, size: int) -> Any:
    """The scale of a series' own axis: 1, 2, ...; series of another length get one of their own."""
    if name in file and file[name].shape != (size,):
        name = f"{name}_{size}"
    if name not in file:
        scale = file.create_dataset(name, data=np.arange(1, size + 1), track_times=False)
        _describe(scale, name.partition("_")[0], "1")
        scale.make_scale(name)
    return file[name]


def _describe(dataset: Any, long_name: str, units: str) -> None:
    dataset.attrs["long_name"] = long_name
    dataset.attrs["units"] = units


def _attach(dataset: Any, *scales: Any) -> None:
    for position, scale in enumerate(scales):
        dataset.dims[position].attach_scale(scale)


def _measure_units(layout: Layout) -> str:
    return " ".join(axis.units for axis in layout.axes if axis.units != "1") or "1"
