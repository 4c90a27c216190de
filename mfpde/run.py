"""What came out of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mfpde.arguments import whole
from mfpde.contracts import Accuracy
from mfpde.errors import MfpdeError, nearest, shown
from mfpde.geometry import Layout
from mfpde.measure import Measure
from mfpde.registry import lookup
from mfpde.solvers.forms import Written, written_measure
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    import xarray

    from mfpde.contracts import Agreement
    from mfpde.problem import Problem

__all__ = [
    "BLOW_UP",
    "FINISHED",
    "INTERRUPTED",
    "NOT_FINITE",
    "OUTPUT_FAILED",
    "RESOLUTION_LOST",
    "STEADY",
    "Outcome",
    "Rows",
    "Run",
]

FINISHED = "finished"
STEADY = "steady"
INTERRUPTED = "interrupted"
BLOW_UP = "blow-up"
RESOLUTION_LOST = "resolution lost"
NOT_FINITE = "not finite"
OUTPUT_FAILED = "output failed"

#: decimals of a number of size 1
_DIGITS = 15
#: decimal places of zeros from which on a time is told with a power of ten
_SMALL = 4


class Rows(Protocol):
    """An array with time as its first axis, in memory or in a file; `numpy.asarray` gives all of it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...

    def __array__(self) -> AnyArray: ...


@dataclass(frozen=True)
class Outcome:
    """How a run ended: its `kind`, when, why, and what would help.

    Kinds are `finished` and `steady` (then it is `complete`), `blow-up`, `interrupted`, `resolution lost`, `not finite`
    and `output failed`: the same words everywhere, in files and in `mfpde info`, too. An outcome equals a text that
    names its kind. The `time` of a blow-up is extrapolated, after the last snapshot, and wrong by about its
    `uncertainty`. `accuracy` says whether the solver's promise was kept up to there: what was promised, the estimate of
    the error, kept or not (None: unknown), and the cause.

    >>> str(Outcome("finished", 40.0)), str(Outcome("blow-up", 0.5, uncertainty=1e-6))
    ('finished at t = 40', 'blow-up at t = 0.5000000 +- 1e-06')
    >>> Outcome("blow-up", 0.5) == "blow-up", Outcome("blow-up", 0.5).complete
    (True, False)
    """

    kind: str
    time: float
    message: str = ""
    advice: str = ""
    residual: float | None = None
    uncertainty: float | None = None
    accuracy: Accuracy = field(default_factory=Accuracy)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Outcome:
        """From what a file holds; earlier versions knew nothing of accuracy."""
        return cls(**{**record, "accuracy": Accuracy(**record.get("accuracy", {}))})

    @property
    def complete(self) -> bool:
        """True when the run came to the end it was asked for."""
        return self.kind in (FINISHED, STEADY)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.kind == other
        return astuple(self) == astuple(other) if isinstance(other, Outcome) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.kind)

    def __str__(self) -> str:
        when = f"{self.time:.6g}" if not self.uncertainty else _with_uncertainty(self.time, self.uncertainty)
        parts = [f"{self.kind} at t = {when}", "; ".join(filter(None, [self.message, str(self.accuracy)])), self.advice]
        return ": ".join(part for part in parts if part)


def _with_uncertainty(time: float, uncertainty: float) -> str:
    """One digit of the time more than its uncertainty leaves, as far as numbers have digits."""
    decimals = int(1 - np.floor(np.log10(uncertainty)))
    first = int(np.floor(np.log10(abs(time)))) if time else 0
    if first >= -_SMALL:
        return f"{time:.{int(np.clip(decimals, 0, _DIGITS))}f} +- {uncertainty:.1g}"
    return f"{time:.{int(np.clip(decimals + first, 0, _DIGITS))}e} +- {uncertainty:.1g}"


@dataclass(frozen=True, eq=False)
class Run:
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
        return self._field("density", "run.measure(k).evaluate(points) gives densities where there are any")

    @property
    def weight(self) -> Float:
        """Quadrature weights on the grid, `(density * weight).sum()` is the mass; with the time as first axis where
        frames move."""
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

    def to_xarray(self) -> xarray.Dataset:
        """Everything as a labelled dataset (needs the `analysis` extra)."""
        dataset: xarray.Dataset = lookup("view", "xarray")(self)
        return dataset

    def plot(self, path: str | Path | None = None) -> Any:
        """The run at one glance: a matplotlib figure, also written to `path` when given."""
        return lookup("view", "figure")(self, path)

    def animate(self, path: str | Path) -> Path:
        """The run as a movie: .mp4 where ffmpeg is there, .gif everywhere."""
        movie: Path = lookup("view", "movie")(self, path)
        return movie
