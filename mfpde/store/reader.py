"""Files back to runs. Rows that were not committed are left out; arrays are read when looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.arguments import file_path
from mfpde.contracts import Accuracy
from mfpde.errors import MfpdeError, ProblemError
from mfpde.problem import Problem
from mfpde.registry import lookup, register
from mfpde.run import INTERRUPTED, Outcome, Run
from mfpde.store import schema
from mfpde.store.layouts import read_layout
from mfpde.store.opening import opened
from mfpde.store.provenance import read_provenance
from mfpde.store.recorder import observed_series
from mfpde.store.stored import StoredArray, StoredSeries
from mfpde.typing import Float

__all__ = ["committed", "load", "load_run"]


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
    """A run. Only what was committed; densities stay in the file until they are looked at."""
    place = Path(path)
    with opened(place) as file:
        kind = _kind(place, file)
        if kind != schema.KIND:
            raise MfpdeError(f"{path} holds a {kind}, not a run")
        problem = _read_problem(place, file)
        times = committed(file["time"])
        own_times = "observe_time" in file
        series_times = committed(file["observe_time"]) if own_times else times
        if times.size == 0:
            raise MfpdeError(f"{path} holds no committed snapshot")
        layout = read_layout(file)
        absent = [name for name in (*layout.fields, *layout.trail) if name not in file]
        if absent:
            raise MfpdeError(f"{path} is damaged: it holds no {', '.join(absent)}")
        series = {name: _stored(place, file[name], series_times.size) for name in observed_series(problem)}
        fields = {name: _stored(place, file[name], times.size) for name in layout.fields}
        trail = {name: _stored(place, file[name], committed(file["step"]).size) for name in layout.trail}
        outcome = _read_outcome(file, times)
        provenance = read_provenance(file["provenance"])
    return Run(problem, times, layout, fields, StoredSeries(series), series_times, outcome, trail, provenance, place)


def committed(dataset: Any) -> Float:
    """Times up to the first that is not finite: a kill may have left more."""
    times = np.asarray(dataset[:], dtype=float)
    missing = np.flatnonzero(~np.isfinite(times))
    return times[: missing[0]] if missing.size else times


def _read_problem(path: Path, file: Any) -> Problem:
    """The problem a file was made for."""
    try:
        return Problem.model_validate(json.loads(file["provenance/problem"][()]))
    except (ProblemError, ValueError) as error:
        detail = str(error).splitlines()[0]
        raise MfpdeError(f"the problem in {path} is not one of this version of mfpde: {detail}") from None


def _kind(path: Path, file: Any) -> str:
    if "mfpde_format" not in file.attrs:
        raise MfpdeError(f"{path} is an HDF5 file, but not one of mfpde's")
    written = int(file.attrs["mfpde_format"])
    if written > schema.FORMAT:
        raise MfpdeError(f"{path} has format {written}, this mfpde reads up to {schema.FORMAT}: a newer mfpde wrote it")
    return str(file.attrs["mfpde_kind"])


def _stored(path: Path, dataset: Any, rows: int) -> StoredArray:
    if dataset.shape[0] < rows:
        raise ValueError(f"{dataset.name} has {dataset.shape[0]} rows where {rows} are committed")
    return StoredArray(path, dataset.name, (rows, *dataset.shape[1:]))


def _read_outcome(file: Any, times: Float) -> Outcome:
    record = json.loads(bytes(file.attrs["outcome"]))
    if record:
        return Outcome(**{**record, "accuracy": Accuracy(**record.get("accuracy", {}))})
    return Outcome(INTERRUPTED, float(times[-1]), "the run was killed", "--resume (resume=True) continues it")
