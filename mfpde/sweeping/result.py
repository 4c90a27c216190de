"""What came out of a sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.contracts import FINISHED, STEADY, Outcome, Result, Summary
from mfpde.errors import MfpdeError, nearest, shown
from mfpde.geometry import Layout
from mfpde.prepare import citations_of
from mfpde.registry import lookup
from mfpde.sweeping.axes import SweptAxis, value_words
from mfpde.sweeping.columns import KEPT_WORDS, ROW_COLUMNS
from mfpde.typing import AnyArray, Float, Truths

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from mfpde.problem import Problem

__all__ = ["Sweep"]

_POINTS_TOLD_MAX = 5  # of those that did not come to their end, in a summary


@dataclass(frozen=True, eq=False)
class Sweep(Result):
    """The points of a sweep, in memory or loaded from a file.

    `sweep["order-parameter"]` is a collected value over the axes, NaN where there is none; `outcome`, `accuracy`,
    `seconds` and `message` of each point are had in the same way. `finished` says which points are there.

    >>> import mfpde
    >>> found = mfpde.sweep(mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta)"},
    ...     "time": {"until": 1},
    ...     "sweep": {"noise.kappa": [1, 2]},
    ...     "collect": ["order-parameter"],
    ... }), workers=1)
    >>> found["order-parameter"].round(6), found["outcome"].tolist()          # e^{-1/kappa} / 4
    (array([0.09197 , 0.151633]), ['finished', 'finished'])
    """

    problem: Problem
    axes: tuple[SweptAxis, ...]
    layout: Layout
    columns: Mapping[str, AnyArray] = field(repr=False)
    finished: Truths = field(repr=False)
    outcome: Outcome
    observe_times: Float = field(default_factory=lambda: np.zeros(0), repr=False)
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False)
    path: Path | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Of the collected values."""
        return tuple(self.layout.fields)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.finished.shape

    def axis(self, key: str) -> AnyArray:
        """The values of a swept key."""
        known = {name: values for axis in self.axes for name, values in axis.coordinates.items()}
        if key not in known:
            raise MfpdeError(f"{shown(key)} was not swept{nearest(str(key), known)}; swept: {', '.join(known)}")
        return known[key]

    def __getitem__(self, name: str) -> AnyArray:
        if name not in self.columns:
            known = ", ".join(self.columns)
            raise MfpdeError(f"{shown(name)} was not collected{nearest(str(name), self.columns)}; there are {known}")
        values = self.columns[name]
        return np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values

    def early(self) -> Iterator[tuple[dict[str, Any], str, str]]:
        """Points that did not come to their end: their settings, outcome and message."""
        outcomes, messages = self["outcome"], self["message"]
        for places in np.argwhere(self.finished & ~np.isin(outcomes, (FINISHED, STEADY))):
            settings: dict[str, Any] = {}
            for axis, place in zip(self.axes, places, strict=True):
                settings |= axis.at(int(place))
            yield settings, str(outcomes[tuple(places)]), str(messages[tuple(places)])

    def summary(self) -> Summary:
        """How many points there are, how they ended, and the ranges of what was collected."""
        counted = Counter(self["outcome"][self.finished].tolist())
        grid = "" if all(axis.stride == 1 for axis in self.axes) else " of the finest grid"
        points = f"{int(self.finished.sum())} of {self.finished.size}{grid}"
        told = {"points": points, **{kind: str(count) for kind, count in counted.items()}}
        axes = {axis.name: _axis_words(axis) for axis in self.axes}
        ranges = {name: _range_words(self.columns[name]) for name in self.names}
        early = list(self.early())
        notes = {_settings_words(at): message or kind for at, kind, message in early[:_POINTS_TOLD_MAX]}
        if len(early) > _POINTS_TOLD_MAX:
            notes["..."] = f"{len(early) - _POINTS_TOLD_MAX} more"
        seconds = float(np.nansum(self.columns["seconds"]))
        data = {
            "axes": {key: values.tolist() for axis in self.axes for key, values in axis.coordinates.items()},
            "collected": list(self.names),
            "points": {"finished": int(self.finished.sum()), "count": int(self.finished.size)},
            "outcomes": dict(counted),
        }
        return Summary(
            extent={**told, **axes}, contents={**ranges, **notes}, counts={"seconds of work": seconds}, data=data
        )

    def citations(self) -> list[str]:
        """Keys of the papers behind it."""
        return citations_of(self.problem, {})

    def to_xarray(self) -> xarray.Dataset:
        """The collected values over the swept axes, and what is told of each point (needs the `analysis` extra)."""
        try:
            import xarray
        except ImportError:
            raise MfpdeError('to_xarray needs xarray, which is not installed: pip install "mfpde[analysis]"') from None
        names = tuple(axis.name for axis in self.axes)
        data: dict[str, Any] = {
            name: ((*names, *about.dimensions), self[name], {"long_name": about.long_name, "units": about.units})
            for name, about in self.layout.fields.items()
        }
        data |= {name: (names, self[name], {"long_name": words}) for name, (_, words) in ROW_COLUMNS.items()}
        coordinates: dict[str, Any] = {
            key: (axis.name, values) for axis in self.axes for key, values in axis.coordinates.items()
        }
        if self.observe_times.size:
            coordinates["observe_time"] = ("observe_time", self.observe_times)
        problem = self.problem
        attributes = {"title": problem.title or "", "problem": problem.to_yaml(), "outcome": str(self.outcome)}
        return xarray.Dataset(data, coordinates, attributes)

    def plot(self, path: str | Path | None = None) -> Figure:
        """A heat map over two axes, curves over one, small multiples over three."""
        figure: Figure = lookup("view", "sweep")(self, path)
        return figure

    def kept(self) -> list[bool | None]:
        """Whether the accuracy promised was kept, of each point in order."""
        return [KEPT_WORDS[int(mark)] for mark in self.columns["accuracy_kept"].reshape(-1)]


def _axis_words(axis: SweptAxis) -> str:
    values = axis.columns[0]
    with_others = f", with {', '.join(axis.keys[1:])}" if len(axis.keys) > 1 else ""
    return f"{value_words(values[0])} to {value_words(values[-1])}, {len(axis)} values{with_others}"


def _range_words(values: Float) -> str:
    there = values[np.isfinite(values)]
    return f"{there.min():.6g} to {there.max():.6g}" if there.size else "none"


def _settings_words(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value_words(value)}" for key, value in settings.items())
