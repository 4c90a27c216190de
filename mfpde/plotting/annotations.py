"""Parts of axes that several kinds of figures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from mfpde.plotting.scales import DensityScale
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.image import AxesImage

__all__ = ["colour_bar", "evenly_many", "mark_times", "telling", "time_texts", "times_above", "window_of"]

#: snapshots that are marked on the time axis, if there are no more
_MAX_MARKS = 40
#: of a window, on each side
_MARGIN_SHARE = 0.1
#: of a window to the width of the solution at the beginning
_MAX_WIDTH_RATIO = 8.0


def time_texts(times: Float) -> list[str]:
    """`t = 3.5`: as few digits as tell the times apart and are right to half a percent."""
    texts: list[str] = []
    for digits in range(2, 12):
        rounded = [float(f"{time:.{digits}g}") for time in times]
        texts = [f"t = {time:.12g}" for time in rounded]
        close = all(abs(short - time) <= 0.005 * abs(time) for short, time in zip(rounded, times, strict=True))
        if close and len(set(texts)) == len(texts):
            break
    return texts


def colour_bar(axes: Axes, mesh: QuadMesh | AxesImage, scale: DensityScale, side: Literal["top", "bottom"]) -> None:
    """The colours of a map in axes of their own, with ticks and name on one side."""
    ticks = None if scale.linear else scale.ticks()
    bar = axes.figure.colorbar(mesh, cax=axes, orientation="horizontal", extend=scale.extend, ticks=ticks)
    axes.xaxis.set(ticks_position=side, label_position=side)
    bar.set_label(scale.name())
    if not scale.linear:
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def telling(density: Float, count: int) -> list[int]:
    """Rows of at most `count` densities `(time, ...)`: first, last, equal amounts of change between."""
    rows = density.reshape(len(density), -1)
    finite = np.flatnonzero(np.isfinite(rows).all(axis=1))
    if finite.size <= 2:
        return [int(place) for place in finite]
    change = np.abs(np.diff(rows[finite], axis=0)).mean(axis=1)
    way = np.concatenate([[0.0], np.cumsum(change)])
    if way[-1] <= 1e-9 * np.abs(rows[finite]).mean():
        return [int(finite[0]), int(finite[-1])]
    marks = np.linspace(0, way[-1], count)
    chosen = {int(np.argmin(np.abs(way - mark))) for mark in marks} | {0, finite.size - 1}
    return [int(finite[place]) for place in sorted(chosen)]


def evenly_many(points: Float, weights: Float, count: int) -> list[int]:
    """Numbers of at most so many points `(n, components)`, evenly spread over the mass in the order of their first
    coordinates."""
    order = np.argsort(points[:, 0], kind="stable")
    share = np.cumsum(weights[order])
    wanted = (np.arange(count) + 0.5) / count * share[-1]
    return [int(order[place]) for place in np.unique(np.searchsorted(share, wanted))]


def window_of(low: Float, high: Float) -> tuple[float, float]:
    """An interval that holds those of all times, cut where a growing solution would make the rest invisible."""
    widest = _MAX_WIDTH_RATIO * float(high[0] - low[0]) or np.inf
    plain = high - low <= widest
    first, last = float(low[plain].min()), float(high[plain].max())
    if not plain.all():
        first, last = max(float(low.min()), first - widest / 2), min(float(high.max()), last + widest / 2)
    margin = _MARGIN_SHARE * (last - first) or 1.0
    return first - margin, last + margin


def mark_times(axes: Axes, times: Float, height: float) -> None:
    """Few snapshots are marked at the upper end of a map."""
    if 1 < times.size <= _MAX_MARKS:
        axes.plot(times, np.full(times.size, height), "|", color="0.3", ms=4, mew=0.7, clip_on=False)


def times_above(axes: Axes) -> None:
    """A legend above the axes, in rows from left to right."""
    handles, names = axes.get_legend_handles_labels()
    columns = 3
    rows = -(-len(names) // columns)
    # matplotlib fills legends column by column
    order = [row * columns + column for column in range(columns) for row in range(rows)]
    order = [place for place in order if place < len(names)]
    axes.legend(
        [handles[place] for place in order],
        [names[place] for place in order],
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=columns,
        handlelength=1.4,
        columnspacing=1.4,
    )
