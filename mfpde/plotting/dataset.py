"""A run as a labelled dataset."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde._version import __version__
from mfpde.errors import MfpdeError
from mfpde.registry import register
from mfpde.run import Run
from mfpde.store.recorder import observed_series

if TYPE_CHECKING:
    import xarray

__all__ = ["to_xarray"]

_DIMENSIONS = {"position": ("time", "particle", "component")}


@register("view", "xarray")
def to_xarray(run: Run) -> xarray.Dataset:
    """Snapshots over `time` and the grid, series over `time` or `observe_time`, weights, the problem as attribute."""
    try:
        import xarray
    except ImportError:
        raise MfpdeError('to_xarray needs xarray, which is not installed: pip install "mfpde[analysis]"') from None
    data: dict[str, Any] = {}
    for name, values in run.stored.items():
        if name == "density":
            data[name] = (
                ("time", *run.layout.dimensions),
                np.asarray(values),
                {"long_name": "density", "units": "rad-1"},
            )
        else:
            data[name] = (_DIMENSIONS.get(name, _named(name, np.ndim(values))), np.asarray(values))
    if run.layout.axes:
        meaning = "quadrature weights: (density * weight).sum() is the mass"
        data["weight"] = (run.layout.dimensions, run.weight, {"long_name": meaning})
    coordinates: dict[str, Any] = {"time": ("time", np.asarray(run.times), {"long_name": "time", "units": "1"})}
    for axis in run.layout.axes:
        coordinates[axis.name] = (axis.name, axis.values, {"long_name": axis.long_name, "units": axis.units})
    clock = "time" if np.array_equal(run.series_times, run.times) else "observe_time"
    if run.series and clock != "time":
        attributes = {"long_name": "time of the observations", "units": "1"}
        coordinates[clock] = (clock, np.asarray(run.series_times), attributes)
    described = _described(run)
    for name, values in run.series.items():
        extent, attributes = described.get(name, ((), {}))
        data[name] = ((clock, *(extent or _named(name, np.ndim(values))[1:])), np.asarray(values), attributes)
    return xarray.Dataset(data, coordinates, _attributes(run))


def _named(name: str, dimensions: int) -> tuple[str, ...]:
    """Names for dimensions of which nothing is said."""
    return ("time", *(f"{name}-{place}" for place in range(1, dimensions)))


def _described(run: Run) -> dict[str, tuple[tuple[str, ...], dict[str, str]]]:
    """What the problem's observables say of their series: names of their own dimensions, long name and units."""
    series = observed_series(run.problem)
    return {
        name: (tuple(dimension for dimension, _ in one.extent), {"long_name": one.long_name, "units": one.units})
        for name, one in series.items()
    }


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
