"""The panels of a sweep: curves with bands over repeats, maps, and the transition where theory knows it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.plotting.style import ALARM, CATEGORIES, DASHES, LINE, MAP, label, sequence
from mfpde.plotting.sweep_axes import Shown
from mfpde.sweeping.axes import SweptAxis, value_words
from mfpde.sweeping.critical_curve import KAPPA, critical_curve
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from mfpde.sweeping.result import Sweep

__all__ = ["draw_curves", "draw_map"]

_BAND_PERCENT = (5, 95)  # of the repeats: between these percentiles
_LOG_SPREAD = 1e-6  # of the ratio of neighbours: values with one ratio lie on a logarithmic axis
_LETTERS_MAX = 44  # of a title
_DASHES = ("-", (0, (4, 2)), (0, (1, 1)), (0, (6, 2, 1, 2)))  # curves that lie on each other are all seen
_PLAIN_RATIO_MAX = 100.0  # of the ends of a logarithmic axis whose numbers are written without powers


def draw_curves(axes: Axes, sweep: Sweep, shown: Shown) -> None:
    """A curve for each value of the second axis, with the band of its repeats."""
    along = shown.axes[0]
    count = len(shown.axes[1]) if len(shown.axes) > 1 else 1
    colours = CATEGORIES[:1] if count == 1 else sequence(count)
    places = along.coordinates[along.name] if along.numeric else np.arange(len(along))
    for curve in range(count):
        values = shown.values[:, curve] if len(shown.axes) > 1 else shown.values
        middle = values
        if shown.repeats:
            middle = _over_repeats(values)
            low, high = _band(values)
            axes.fill_between(places, low, high, color=colours[curve], alpha=0.2, lw=0)
        named = None if count == 1 else value_words(shown.axes[1].columns[0][curve])
        there = np.isfinite(middle)
        mark = "." if there.sum() <= 60 else None
        dashes = _DASHES[curve % len(_DASHES)]
        style: dict[str, Any] = {"color": colours[curve], "lw": LINE, "ls": dashes, "marker": mark, "ms": 4}
        axes.plot(places[there], middle[there], label=named, **style)
    if not along.numeric:
        axes.set_xticks(places, [value_words(value)[:_LETTERS_MAX] for value in along.columns[0]], rotation=20)
    _scale(axes, "x", along)
    axes.update_datalim(np.column_stack([places, np.zeros(len(places))]), updatey=False)  # missing ones, too
    _dress(axes, shown)
    axes.set_ylabel(shown.name)
    if count > 1:
        axes.legend(title=shown.axes[1].name, fontsize=7, title_fontsize=7)
    _mark_transition(axes, sweep, shown)


def _over_repeats(values: Float) -> Float:
    there = np.isfinite(values)
    sums = np.where(there, values, 0.0).sum(axis=-1)
    return np.where(there.any(axis=-1), sums / np.maximum(there.sum(axis=-1), 1), np.nan)


def _band(values: Float) -> tuple[Float, Float]:
    there = np.isfinite(values).any(axis=-1)
    low, high = np.full(there.shape, np.nan), np.full(there.shape, np.nan)
    if there.any():
        low[there], high[there] = np.nanpercentile(values[there], _BAND_PERCENT, axis=-1)
    return low, high


def draw_map(axes: Axes, sweep: Sweep, shown: Shown) -> None:
    """The value over two axes; what is not there stays white."""
    x, y = shown.axes[:2]
    values = np.ma.masked_invalid(_filled(shown))
    places = [axis.coordinates[axis.name] for axis in (x, y)]
    low, high = _limits(np.asarray(sweep[shown.name], dtype=float))
    mesh = axes.pcolormesh(*places, values.T, cmap=MAP, shading="nearest", rasterized=True, vmin=low, vmax=high)
    assert axes.figure is not None  # noqa: S101  it is on one
    axes.figure.colorbar(mesh, ax=axes, label=shown.name)
    limits_before = axes.get_xlim(), axes.get_ylim()
    _scale(axes, "x", x)
    _scale(axes, "y", y)
    axes.set_ylabel(_axis_label(y))
    _dress(axes, shown)
    _draw_transition(axes, sweep, shown)
    axes.set_xlim(limits_before[0])
    axes.set_ylim(limits_before[1])


def _limits(values: Float) -> tuple[float | None, float | None]:
    """Of colours, the same in all panels of a value: 0 to 1 for shares."""
    there = values[np.isfinite(values)]
    if not there.size:
        return None, None
    low, high = float(there.min()), float(there.max())
    return (0.0, 1.0) if low >= 0 and 0.5 < high <= 1 + 1e-9 else (low, high)


def _filled(shown: Shown) -> Float:
    """Of a refined sweep: points of the finest grid have the value of the nearest that was solved, of the finest of
    the grids on which there is one."""
    x, y = shown.axes[:2]
    filled = np.full(shown.values.shape, np.nan)
    halvings = max(x.stride, y.stride).bit_length()
    for halving in range(halvings):
        steps = [max(axis.stride >> halving, 1) for axis in (x, y)]
        coarse = shown.values[:: steps[0], :: steps[1]]
        nearest = [np.rint(np.arange(len(axis)) / step).astype(int) for axis, step in zip((x, y), steps, strict=True)]
        spread = coarse[np.ix_(*nearest)]
        filled = np.where(np.isfinite(spread), spread, filled)
    return filled


def _dress(axes: Axes, shown: Shown) -> None:
    axes.set_xlabel(_axis_label(shown.axes[0]))
    fixed = ", ".join(f"{key} = {value_words(value)}" for key, value in shown.fixed.items())
    title = fixed or (shown.long_name if not shown.repeats else f"{shown.long_name}: mean, 5% to 95%")
    axes.set_title("\n".join(textwrap.wrap(title, _LETTERS_MAX)[:2]), loc="left")


def _scale(axes: Axes, which: str, axis: SweptAxis) -> None:
    """Logarithmic where the values have one ratio."""
    if not axis.numeric or len(axis) < 3:
        return
    values = axis.coordinates[axis.name]
    if values.min() > 0 and not np.allclose(np.diff(values), values[1] - values[0]):
        ratios = values[1:] / values[:-1]
        if np.ptp(ratios) < _LOG_SPREAD * abs(ratios[0]) or values.max() > 100 * values.min():
            axes.set(**{f"{which}scale": "log"})
            _write_plain(axes.xaxis if which == "x" else axes.yaxis, values.max() / values.min())


def _write_plain(axis: Axis, ratio: float) -> None:
    """0.5 and 20 in place of powers of ten, where the ends of a logarithmic axis have no larger ratio than that."""
    if ratio > _PLAIN_RATIO_MAX:
        return
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if ratio > 10 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def _draw_transition(axes: Axes, sweep: Sweep, shown: Shown) -> None:
    """On a map with kappa on one of its axes: the kappa at which the uniform state loses its stability."""
    names = [axis.name for axis in shown.axes[:2]]
    if KAPPA not in names or "time" in names:
        return
    other = shown.axes[1 - names.index(KAPPA)]
    curve = critical_curve(sweep, other, shown.fixed)
    if not np.isfinite(curve).any():
        return
    values = other.coordinates[other.name]
    points = (values, curve) if names[1] == KAPPA else (curve, values)
    axes.plot(*points, color="white", lw=2.6)
    axes.plot(*points, color=ALARM, lw=1.4, label="uniform state loses its stability")


def _mark_transition(axes: Axes, sweep: Sweep, shown: Shown) -> None:
    """The same on curves over kappa."""
    if shown.axes[0].name != KAPPA:
        return
    others = shown.axes[1] if len(shown.axes) > 1 else SweptAxis(("title",), ((sweep.problem.title,),))
    curve = critical_curve(sweep, others, shown.fixed)
    low, high = axes.get_xlim()
    told = False
    for place, kappa in enumerate(curve):
        if low <= kappa <= high:
            colour = sequence(len(curve))[place] if len(curve) > 1 else ALARM
            named = None if told else "uniform state unstable beyond"
            axes.axvline(kappa, color=colour, lw=0.9, ls=DASHES, label=named)
            told = True


def _axis_label(axis: SweptAxis) -> str:
    return label(axis.name) + (f" (with {', '.join(axis.keys[1:])})" if len(axis.keys) > 1 else "")
