"""A run as a labelled dataset."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde._version import __version__
from mfpde.errors import MfpdeError
from mfpde.geometry import Field
from mfpde.observe import Series
from mfpde.registry import register
from mfpde.run import Run
from mfpde.typing import AnyArray

if TYPE_CHECKING:
    import xarray

__all__ = ["to_xarray"]


@register("view", "xarray")
def to_xarray(run: Run) -> xarray.Dataset:
    """Snapshots over `time` and their own dimensions, series over `time` or `observe_time`, what does not change, and
    the problem as attribute: the names and dimensions of the run's file."""
    try:
        import xarray
    except ImportError:
        raise MfpdeError('to_xarray needs xarray, which is not installed: pip install "mfpde[analysis]"') from None
    layout = run.layout
    data: dict[str, Any] = {}
    for name, rows in run.stored.items():
        data[name] = _described(np.asarray(rows), layout.fields[name], "time")
    for name, rows in run.trail.items():
        data[name] = _described(np.asarray(rows), layout.trail[name], layout.trail_row)
    for name, constant in layout.constants.items():
        data[name] = _described(constant.values, constant.field)
    coordinates: dict[str, Any] = {"time": ("time", np.asarray(run.times), {"long_name": "time", "units": "1"})}
    for axis in layout.axes:
        coordinates[axis.name] = (axis.name, axis.values, {"long_name": axis.long_name, "units": axis.units})
    clock = "time" if np.array_equal(run.series_times, run.times) else "observe_time"
    if run.series and clock != "time":
        attributes = {"long_name": "time of the observations", "units": "1"}
        coordinates[clock] = (clock, np.asarray(run.series_times), attributes)
    known, taken = run.problem.series(), dict(layout.sizes)
    for name, values in run.series.items():
        shown = np.asarray(values)
        said = known.get(name, Series(name))
        own = tuple(axis for axis, _ in said.extent) or tuple(f"{name}-{place}" for place in range(1, shown.ndim))
        # as in files: an axis of another length gets a name of its own
        sizes = zip(own, shown.shape[1:], strict=True)
        named = tuple(axis if taken.setdefault(axis, size) == size else f"{axis}_{size}" for axis, size in sizes)
        data[name] = _described(shown, Field(named, said.long_name, said.units), clock)
    return xarray.Dataset(data, coordinates, _attributes(run))


def _described(values: AnyArray, field: Field, *along: str) -> tuple[tuple[str, ...], AnyArray, dict[str, str]]:
    attributes = {"long_name": field.long_name, "units": field.units, **field.attributes}
    return (*along, *field.dimensions), values, attributes


def _attributes(run: Run) -> dict[str, Any]:
    """Title, problem, outcome and provenance, as texts and numbers that any file can hold."""
    known: dict[str, Any] = {
        "Conventions": "CF-1.11",
        "title": run.problem.title or "",
        "source": f"mfpde {__version__}",
        "problem": run.problem.to_yaml(),
        "outcome": str(run.outcome),
    }
    for name, value in run.provenance.items():
        known.setdefault(name, value if isinstance(value, str | int | float) else json.dumps(value, default=str))
    return known
