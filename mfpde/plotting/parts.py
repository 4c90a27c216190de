"""Pieces that panels of all kinds are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from mfpde.plotting.scales import DensityScale
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.image import AxesImage

__all__ = ["colour_bar", "mark_times", "time_texts", "times_above"]

#: up to so many snapshots each gets a mark on the time axis
_MARKED = 40


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


def mark_times(axes: Axes, times: Float, height: float) -> None:
    """Few snapshots are marked at the upper end of a map."""
    if 1 < times.size <= _MARKED:
        axes.plot(times, np.full(times.size, height), "|", color="0.3", ms=4, mew=0.7, clip_on=False)


def times_above(axes: Axes) -> None:
    """A legend above the panel, where it hides nothing, that reads from left to right."""
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
