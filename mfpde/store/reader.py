"""Files back to results. Rows that were not committed are left out; arrays are read when looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mfpde.arguments import file_path
from mfpde.contracts import Result
from mfpde.observe.output_times import time_of
from mfpde.registry import lookup, register
from mfpde.run import Run
from mfpde.store.lazy_array import StoredSeries
from mfpde.store.opening import opened
from mfpde.store.run_tables import KIND, OBSERVATIONS, SNAPSHOTS, run_tables
from mfpde.store.stored_tables import StoredTables, check_kind, kind_of

__all__ = ["load", "load_run", "run_in", "stored_run"]


def load(path: str | Path) -> Result:
    """What a file of mfpde's holds: the run as `solve` returned it, or any other result.

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
        kind = kind_of(place, file)
    result: Result = lookup("archive", kind)(path)
    return result


@register("archive", "run")
def load_run(path: str | Path) -> Run:
    """A run. Only what was committed; densities stay in the file until they are looked at, and what is read is what was
    written, or a `MfpdeError`."""
    place = Path(path)
    with opened(place) as file:
        tables = stored_run(place, file)
        tables.read_end()
        tables.read_scales()
        return run_in(tables)


def stored_run(path: Path, file: Any) -> StoredTables:
    """The tables of a run's open file."""
    check_kind(path, file, KIND)
    return StoredTables(path, file, run_tables)


def run_in(tables: StoredTables) -> Run:
    """With arrays that stay in the file."""
    stored, layout, times = tables.stored(), tables.layout, tables.scales[SNAPSHOTS]
    own_times = time_of(tables.problem).observe_every is not None
    return Run(
        problem=tables.problem,
        times=times,
        layout=layout,
        stored={name: stored[name] for name in layout.fields},
        series=StoredSeries({name: stored[name] for name in tables.problem.series()}),
        series_times=tables.scales[OBSERVATIONS] if own_times else times,
        outcome=tables.outcome,
        trail={name: stored[name] for name in layout.trail},
        provenance=tables.provenance,
        path=tables.path,
    )
