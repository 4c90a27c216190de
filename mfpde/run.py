"""What came out of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mfpde.arguments import whole
from mfpde.contracts import Agreement, Outcome, Result, Summary
from mfpde.errors import MfpdeError, nearest, shown
from mfpde.geometry import Layout
from mfpde.measure import GridDensity, Measure
from mfpde.measure.mergers import Mergers
from mfpde.prepare import chosen_solver, citations_of, solver_told
from mfpde.registry import lookup
from mfpde.solvers.forms import Written, written_measure
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    import xarray

    from mfpde.problem import Problem

__all__ = ["Rows", "Run"]


class Rows(Protocol):
    """An array with time as its first axis, in memory or in a file; `numpy.asarray` gives all of it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...

    def __array__(self) -> AnyArray: ...


@dataclass(frozen=True, eq=False)
class Run(Result):
    """A solved problem, in memory or loaded from a file.

    `times` are the snapshots' times. `run["order-parameter"]` is an observed series, at `series_times`.

    >>> import mfpde
    >>> run = mfpde.solve(mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "noise": {"kappa": 2},
    ...     "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta)"},
    ...     "time": {"until": 2, "save_every": 1},
    ...     "observe": ["order-parameter"],
    ... }))
    >>> str(run.outcome), run.times, run.density.shape
    ('finished at t = 2', array([0., 1., 2.]), (3, 256))
    >>> run["order-parameter"].round(6)          # e^{-t/kappa} / 4
    array([0.25    , 0.151633, 0.09197 ])
    >>> run.measure(-1).evaluate([0.0]).round(6)          # (1 + 2 * 0.09197) / 2 pi
    array([0.18843])
    """

    problem: Problem
    times: Float
    layout: Layout
    stored: Mapping[str, Rows]
    series: Mapping[str, Float]
    series_times: Float
    outcome: Outcome
    trail: Mapping[str, Rows] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None

    @property
    def density(self) -> Float:
        """Densities `(time, *grid)`, per unit length or area; `(time, panel, *grid)` where a run has several frames.
        `stored["density"][k]` reads one of them from a file."""
        if self._shown:
            return np.array([[panel.values for panel in grid.panels] for grid in self._shown])
        return self._field("density", "run.measure(k).evaluate(points) gives densities where there are any")

    @cached_property
    def _shown(self) -> list[GridDensity]:
        """Densities of a run without a grid whose solver says on how many cells they are shown."""
        return [grid for grid in map(self.on_cells, range(len(self.times))) if grid is not None]

    def on_cells(self, index: int) -> GridDensity | None:
        """The density at one snapshot on the grid that shows it, where its measure has none of its own."""
        cells = chosen_solver(self.problem).shown_cells
        return None if cells is None else self.measure(index).on_cells(cells)

    @property
    def weight(self) -> Float:
        """Quadrature weights on the grid, `(density * weight).sum()` is the mass; with the time as first axis where
        frames move."""
        if self._shown:
            weights = [[np.full(panel.values.shape, panel.volume) for panel in grid.panels] for grid in self._shown]
            return np.array(weights)
        if "density" not in self.stored:
            raise self._absent("weight on a grid", "particles have run.weights")
        return self._constant("weight") if "weight" in self.layout.constants else self._field("weight", "")

    @property
    def positions(self) -> Float:
        """Where the particles are, `(time, n, components)`: angles on the circle, vectors elsewhere."""
        return self._field("position", "only particles and characteristics have some")

    @property
    def weights(self) -> Float:
        """Masses of the particles, `(n,)`."""
        if "position" not in self.stored:
            raise self._absent("weights", "only particles and characteristics have some")
        return self._constant("weight")

    @property
    def mergers(self) -> Mergers:
        """Who merged with whom, and when, of particles that the solver merges."""
        if "merger_time" not in self.trail:
            raise self._absent("mergers", "particles without noise merge, where solver.merge is not 0")
        time, token, into = (np.asarray(self.trail[f"merger_{name}"]) for name in ("time", "token", "into"))
        copy = np.asarray(self.trail["merger_copy"]) if "merger_copy" in self.trail else np.zeros(time.size)
        return Mergers(time, copy.astype(int), token.astype(int), into.astype(int))

    def axis(self, name: str) -> Float:
        """Grid values of one axis, `run.axis("theta")`; where frames move, their own coordinates z."""
        given: object = name
        for axis in self.layout.axes:
            if isinstance(given, str) and axis.name == given:
                return axis.values
        known = f"has the axes {', '.join(self.layout.dimensions)}" if self.layout.axes else "has no grid"
        raise MfpdeError(
            f"this run {known}, not {shown(name)}" if self.layout.axes else f"this run {known}: no axis {shown(name)}"
        )

    def _field(self, name: str, instead: str) -> Float:
        if name not in self.stored:
            raise self._absent(name, instead)
        return np.asarray(self.stored[name])

    def _constant(self, name: str) -> Float:
        return self.layout.constants[name].values

    def _absent(self, what: str, instead: str) -> MfpdeError:
        return MfpdeError(f"this run has no {what}, it holds {', '.join(self.stored)}; {instead}")

    def __getitem__(self, name: str) -> Float:
        known = ", ".join(self.series) or "none: name it under observe"
        if not isinstance(name, str):
            raise MfpdeError(f"a series is asked for by its name, not by {shown(name)}; observed: {known}")
        if name not in self.series:
            raise MfpdeError(f"{shown(name)} was not observed{nearest(name, self.series)}; observed: {known}")
        return self.series[name]

    def measure(self, index: int) -> Measure:
        """The law of tokens at one snapshot, the same that the solver had; -1 is the last."""
        count = len(self.times)
        whole("index", index, least=-count, below=count)
        fields = {name: np.asarray(rows[index]) for name, rows in self.stored.items()}
        time = float(self.times[index])
        return written_measure(Written(self.problem.equation, time, self.layout, fields, self.trail))

    @property
    def agreement(self) -> Agreement | None:
        """How the run stands to what its problem compares it with; None if nothing."""
        compared = self.problem.compare
        return None if compared is None else compared.agreement(self.series_times, self["distance"])

    def summary(self) -> Summary:
        """What it comes to, in a few lines."""
        first, last, layout, numbers = float(self.times[0]), float(self.times[-1]), self.layout, self._statistics()
        series = {name: np.asarray(values)[-1] for name, values in self.series.items() if len(values)}
        return Summary(
            method={"solver": solver_told(self.problem)},
            extent={"times": f"{first:.6g} to {last:.6g}, {len(self.times)} snapshots"},
            contents={"snapshot": _size(layout)},
            counts={name: numbers[name] for name in chosen_solver(self.problem).counts if name in numbers},
            last=series,
            when=f"at t = {float(self.series_times[-1]):.6g}" if series else "",
            invariants=self._invariants(),
            data={
                "times": {"first": first, "last": last, "count": len(self.times)},
                "form": layout.form,
                "grid": dict(zip(layout.dimensions, layout.shape, strict=True)),
                "sizes": layout.sizes,
            },
        )

    def citations(self) -> list[str]:
        """Keys of the papers behind what it used, that of mfpde first."""
        return citations_of(self.problem, self._statistics())

    def _statistics(self) -> dict[str, Any]:
        return dict(self.provenance.get("statistics", {}))

    def _invariants(self) -> dict[str, float]:
        """What must not change or must not be negative, as measured from the snapshots."""
        if "density" not in self.stored or len(self.times) == 0:
            return {}
        density = self.density
        mass = (density * self.weight).sum(axis=tuple(range(1, density.ndim)))
        found = {"mass drift": float(np.abs(mass - mass[0]).max()), "least density": float(density.min())}
        for name, series in self.problem.series().items():
            if series.falls and len(self.series.get(name, ())) > 1:
                said = f"greatest rise of the {name.replace('-', ' ')}"
                found[said] = float(max(0.0, np.diff(self.series[name]).max()))
        return found

    def to_xarray(self) -> xarray.Dataset:
        """Everything as a labelled dataset (needs the `analysis` extra)."""
        dataset: xarray.Dataset = lookup("view", "xarray")(self)
        return dataset

    def plot(self, path: str | Path | None = None) -> Any:
        """The run at one glance: a matplotlib figure, also written to `path` when given."""
        return lookup("view", "figure")(self, path)

    def frames(self, most: int) -> list[tuple[float, bytes]]:
        """Times of snapshots and their pictures as PNG files: all, or at most so many, spread over the time axis."""
        frames: list[tuple[float, bytes]] = lookup("view", "frames")(self, most)
        return frames

    def animate(self, path: str | Path) -> Path:
        """The run as a movie: .mp4 where ffmpeg is there, .gif everywhere."""
        movie: Path = lookup("view", "movie")(self, path)
        return movie


def _size(layout: Layout) -> str:
    """What a snapshot holds: `2 panel, 128 x`, or the names of its arrays."""
    if not layout.axes and "particle" not in layout.extents:
        return ", ".join(layout.fields)
    counts = {name: count for name, count in layout.extents.items() if name not in ("component", "column")}
    counts |= dict(zip(layout.dimensions, layout.shape, strict=True))
    return ", ".join(f"{count} {name}" for name, count in counts.items())
