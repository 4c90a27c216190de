"""Summary of a run: outcome, cost, file and last values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.cli.progress import duration
from mfpde.cli.tables import columns, number
from mfpde.store.recorder import observed_series

if TYPE_CHECKING:
    from mfpde.run import Run

__all__ = ["flat", "invariants", "last_values", "size", "span", "summary"]


#: statistics worth a line, where a solver has them
_SIZES = ("steps", "modes", "cells", "panels", "nodes")


def summary(run: Run) -> str:
    """What `solve` prints at the end."""
    rows = [["outcome", str(run.outcome)], ["times", span(run)]]
    numbers = flat(run.provenance)
    rows += [[name, number(numbers[name])] for name in _SIZES if name in numbers]
    if run.agreement is not None:
        rows.append(["compared", f"{'ok' if run.agreement.passed else 'FAILED'}: {run.agreement}"])
    wall = numbers.get("seconds")
    if isinstance(wall, int | float):
        rows.append(["wall time", duration(float(wall))])
    if run.path is not None:
        rows.append(["file", str(run.path)])
    return columns(rows) + last_values(run)


def span(run: Run) -> str:
    """From when to when, and how many snapshots."""
    return f"{number(float(run.times[0]))} to {number(float(run.times[-1]))}, {len(run.times)} snapshots"


def size(run: Run) -> str:
    """What a snapshot holds: `2 panel, 128 x`, or the names of its arrays."""
    layout = run.layout
    if not layout.axes and "particle" not in layout.extents:
        return ", ".join(layout.fields)
    counts = {name: count for name, count in layout.extents.items() if name not in ("component", "column")}
    counts |= dict(zip(layout.dimensions, layout.shape, strict=True))
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def last_values(run: Run) -> str:
    """The observables at the end, one to a line."""
    rows = [[name, number(np.asarray(values)[-1])] for name, values in run.series.items() if len(values)]
    when = f"at t = {number(float(run.series_times[-1]))}" if rows else ""
    return f"\nlast values, {when}\n{columns(rows, indent='  ')}" if rows else ""


def flat(details: Mapping[str, Any]) -> dict[str, Any]:
    """Nested mappings by the innermost name; the first of a name wins."""
    found: dict[str, Any] = {}
    for name, value in details.items():
        if isinstance(value, Mapping):
            found = {**flat(value), **found}
        else:
            found[name] = value
    return found


def invariants(run: Run) -> dict[str, float]:
    """What must not change or must not be negative, as measured from the snapshots."""
    if "density" not in run.stored or len(run.times) == 0:
        return {}
    density, weight = np.asarray(run.density), np.asarray(run.weight)
    axes = tuple(range(1, density.ndim))
    mass = (density * weight).sum(axis=axes)
    found = {"mass drift": float(np.abs(mass - mass[0]).max()), "least density": float(density.min())}
    for name, series in observed_series(run.problem).items():
        if series.falls and len(run.series.get(name, ())) > 1:
            said = f"greatest rise of the {name.replace('-', ' ')}"
            found[said] = float(max(0.0, np.diff(run.series[name]).max()))
    return found
