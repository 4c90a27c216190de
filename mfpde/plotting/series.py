"""Observed series as curves over time, each group on axes of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.observe import Series
from mfpde.plotting.scales import TimeScale, angle_axis
from mfpde.plotting.style import CATEGORIES, DASHES, LINE, REFERENCE, THIN_LINE
from mfpde.run import Run
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["HistogramAxes", "ObservedAxes", "SeriesAxes", "axes_of", "draw_series", "hidden", "observed_axes"]

#: curves that share axes
_MAX_CURVES = 4
#: exponent of the shade of a share
_SHADE_EXPONENT = 0.4


class ObservedAxes(ABC):
    """Something over time in the lower part of a figure."""

    name: str

    @property
    def names(self) -> tuple[str, ...]:
        """Series that it shows."""
        return (self.name,)

    @abstractmethod
    def draw(self, axes: Axes, scale: TimeScale) -> None:
        """Into empty axes, over times of that scale."""


@dataclass(frozen=True, eq=False)
class SeriesAxes(ObservedAxes):
    """Curves that share axes: values over times by the names that a legend gives them."""

    name: str
    series: Series
    times: Float
    curves: dict[str, Float]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.curves)

    def draw(self, axes: Axes, scale: TimeScale) -> None:
        draw_series(axes, self, scale)


@dataclass(frozen=True, eq=False)
class HistogramAxes(ObservedAxes):
    """A histogram over time as a map: shares `(time, bin)` of each bin, darker where there are more."""

    name: str
    series: Series
    times: Float
    shares: Float

    def draw(self, axes: Axes, scale: TimeScale) -> None:
        from matplotlib.colors import PowerNorm

        low, high = self.series.bins or (0.0, 1.0)
        heights = np.linspace(low, high, self.shares.shape[1] + 1)
        most = float(np.nanmax(self.shares, initial=0.0)) or 1.0
        # shares of a merged cluster must not hide what is spread over all bins
        norm = PowerNorm(_SHADE_EXPONENT, 0.0, most)
        edges = scale.edges(self.times)
        axes.pcolormesh(edges, heights, self.shares.T, norm=norm, cmap="Greys", rasterized=True, lw=0)
        scale.lay_out(axes)
        axes.set_ylim(low, high)
        axes.set_title(self.series.label or self.name, loc="left")


def axes_of(name: str, series: Series, times: Float, values: Float) -> SeriesAxes:
    """One curve for each number of a short vector; none where there would be too many. Of independent copies their
    quartiles."""
    if _of_copies(series):
        return SeriesAxes(name, series, times, _quartiles(values) if series.scale != "angle" else {})
    if values.ndim == 1 or (values.size == len(values) and not series.listed):
        curves = {name: values.reshape(len(values))}
    else:
        curves = dict(zip(series.curves, values.T, strict=False)) if values.ndim == 2 else {}
    return SeriesAxes(name, series, times, curves)


def _of_copies(series: Series) -> bool:
    return [axis for axis, _ in series.extent[:1]] == ["copy"]


def _quartiles(values: Float) -> dict[str, Float]:
    """Of one number of each copy `(time, copy)`; times at which no copy has one are gaps."""
    if values[0].size != values.shape[1]:
        return {}
    found = np.full((3, len(values)), np.nan)
    for row, numbers in enumerate(values.reshape(values.shape[:2])):
        there = numbers[np.isfinite(numbers)]
        if there.size:
            found[:, row] = np.quantile(there, [0.5, 0.25, 0.75])
    return dict(zip(("median of the copies", "lower quartile", "upper quartile"), found, strict=True))


def observed_axes(run: Run) -> list[ObservedAxes]:
    """All series that curves can show: those that share axes first, angles last."""
    times = np.asarray(run.series_times, dtype=float)
    if times.size == 0:
        return []
    looks = {name: series for name, series in _looks(run).items() if not _resting(run, name, series)}
    values = {name: np.asarray(run.series[name], dtype=float) for name in looks}
    maps: list[ObservedAxes] = [
        HistogramAxes(n, each, times, values[n].mean(axis=1) if _of_copies(each) else values[n])
        for n, each in looks.items()
        if each.bins
    ]
    found = [axes_of(name, series, times, values[name]) for name, series in looks.items() if not series.bins]
    shown = {group.name for group in found if group.curves}
    kept = [group for group in found if group.curves and group.series.repeats not in shown]
    together: dict[str, SeriesAxes] = {}
    for group in kept:
        if group.series.scale == "share":
            known = together.setdefault(group.series.label, group)
            curves = dict(list((known.curves | group.curves).items())[:_MAX_CURVES])
            together[group.series.label] = replace(known, curves=curves)
    others = sorted((group for group in kept if group.series.scale != "share"), key=lambda group: _rank(group.series))
    return [*together.values(), *maps, *(replace(group, curves=_finite(group.curves)) for group in others)]


def _looks(run: Run) -> dict[str, Series]:
    known = run.problem.series()
    return {name: known.get(name, Series(name)) for name in run.series}


def _finite(curves: dict[str, Float]) -> dict[str, Float]:
    """Gaps where a value is infinite."""
    return {name: np.where(np.isfinite(values), values, np.nan) for name, values in curves.items()}


def hidden(run: Run, groups: Sequence[ObservedAxes], drawn: tuple[str, ...]) -> list[str]:
    """Names of the series that neither these groups nor what is `drawn` besides them show."""
    looks = _looks(run)
    seen = {*drawn, *(name for group in groups for name in group.names)}
    twins = {(name, series.repeats) for name, series in looks.items() if series.repeats}
    seen |= {other for one, two in twins for here, other in ((one, two), (two, one)) if here in seen}
    return [name for name, series in looks.items() if name not in seen and not _resting(run, name, series)]


def _resting(run: Run, name: str, series: Series) -> bool:
    """Whether this is the direction of something else, and it does not turn."""
    if series.direction_of not in run.series or _of_copies(series):
        return False
    lengths = np.asarray(run.series[series.direction_of])
    angles = np.asarray(run.series[name])[lengths > 1e-3]  # below that the phase of rounding errors
    return angles.size == 0 or float(np.ptp(np.unwrap(angles))) < 0.1


def _rank(series: Series) -> int:
    return 0 if series.leads else 2 if series.scale == "angle" else 1


def draw_series(axes: Axes, group: SeriesAxes, scale: TimeScale) -> None:
    """Series over time; several share the axes with a legend."""
    kind = group.series.scale
    style: dict[str, Any] = {"marker": "o", "ms": 3.0} if group.times.size < 12 else {}
    if kind == "count":  # a number that is whole at every time
        style["drawstyle"] = "steps-mid"
    for (name, given), colour in zip(group.curves.items(), CATEGORIES, strict=False):
        values = _unwound(given) if kind == "angle" else given
        axes.plot(group.times, values, color=colour, lw=LINE, label=name, clip_on=False, **style)
    replace(scale, last=max(scale.last, float(group.times[-1]))).lay_out(axes)
    axes.set_title(group.series.label or group.name, loc="left")
    every = np.array(list(group.curves.values()))
    if kind == "share":
        axes.set_ylim(0, 1)
    elif kind == "angle":
        axes.set_ylim(0, 2 * np.pi)
        angle_axis(axes.yaxis)
    elif kind == "count":
        axes.set_ylim(0, float(np.nanmax(every)) + 1)
        axes.locator_params(axis="y", integer=True)
    else:
        _value_axis(axes, group.series, every)
    if len(group.curves) > 1:
        axes.legend(loc="best", handlelength=1.3)


def _unwound(phase: Float) -> Float:
    """Angles in [0, 2 pi), the line broken where it would jump across."""
    turned = np.mod(phase, 2 * np.pi)
    turned[1:][np.abs(np.diff(turned)) > np.pi] = np.nan
    return turned


def _value_axis(axes: Axes, series: Series, values: Float) -> None:
    """Constant where only rounding moves a series, logarithmic where it runs through decades, linear otherwise."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return
    positive = finite[finite > 0]
    if series.scale == "magnitude" and positive.size:
        axes.set_yscale("log")
        axes.set_ylim(0.5 * float(positive.min()), 2 * float(positive.max()))
        return
    least, most, size = float(finite.min()), float(finite.max()), float(np.abs(finite).max())
    if series.scale != "balance" and least > 0 and most > 1e3 * least:
        axes.set_yscale("log")
        return
    if most - least <= 1e-9 * max(size, 1e-3):
        margin = 0.1 * size if size > 1e-9 else 0.1
        axes.set_ylim(least - margin, most + margin)
    axes.ticklabel_format(axis="y", useOffset=False, useMathText=True, scilimits=(-3, 4))
    axes.yaxis.set_offset_position("right")  # on the left is the name
    if series.scale == "balance" and axes.get_ylim()[0] < 0 < axes.get_ylim()[1]:
        axes.axhline(0.0, color=REFERENCE, lw=THIN_LINE, ls=DASHES)
