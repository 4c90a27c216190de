"""The panels of a figure, each drawn into axes it is given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from mfpde.plotting.circle_run import CircleRun, is_angle, is_order_parameter
from mfpde.plotting.scales import UNIFORM, DensityScale, TimeScale, angle_axis
from mfpde.plotting.style import CATEGORIES, DASHES, LINE, MAP, REFERENCE, THIN, label, sequence
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh

__all__ = ["colour_bar", "draw_map", "draw_profiles", "draw_series", "time_texts", "uniform_line"]

_PROFILES = 6
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


def draw_map(axes: Axes, shown: CircleRun) -> None:
    """Density over time and angle; each snapshot fills the times to which it is nearest."""
    angles, density = shown.cells(shown.shown_density)
    times = shown.scale.edges(shown.times[shown.shown])
    scale = DensityScale.of(density)
    mesh = axes.pcolormesh(times, angles, density.T, cmap=MAP, norm=scale.norm(), rasterized=True)
    colour_bar(axes.inset_axes((0, 1.035, 1, 0.045)), mesh, scale, "top")
    shown.scale.lay_out(axes)
    axes.set_ylim(0, 2 * np.pi)
    angle_axis(axes.yaxis)
    axes.set_ylabel(label("theta"))
    if 1 < shown.times.size <= _MARKED:
        axes.plot(shown.times, np.full(shown.times.size, 2 * np.pi), "|", color="0.3", ms=4, mew=0.7, clip_on=False)


def colour_bar(axes: Axes, mesh: QuadMesh, scale: DensityScale, side: Literal["top", "bottom"]) -> None:
    """The colours of a map in axes of their own, with ticks and name on one side."""
    ticks = None if scale.linear else scale.ticks()
    bar = axes.figure.colorbar(mesh, cax=axes, orientation="horizontal", extend=scale.extend, ticks=ticks)
    axes.xaxis.set(ticks_position=side, label_position=side)
    bar.set_label(scale.name())
    if not scale.linear:
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def uniform_line(axes: Axes) -> None:
    """The density of the uniform measure as a thin reference."""
    axes.axhline(UNIFORM, color=REFERENCE, lw=THIN, ls=DASHES)
    note = axes.annotate("1/2π", (1, UNIFORM), (3, 0), ("axes fraction", "data"), "offset points")
    note.set(color=REFERENCE, va="center", size=8)


def draw_profiles(axes: Axes, shown: CircleRun) -> None:
    """Density over the angle at a few times between which it changes equally much."""
    places = shown.telling(_PROFILES)
    theta, density = shown.profiles(shown.shown_density[places])
    texts = time_texts(shown.times[[shown.shown[place] for place in places]])
    uniform_line(axes)
    for values, text, colour in zip(density, texts, sequence(len(places)), strict=True):
        axes.plot(theta, values, color=colour, label=text)
    scale = DensityScale.of(np.append(density, UNIFORM)).linear_unless_narrow()
    scale.lay_out(axes)
    axes.set_xlim(0, 2 * np.pi)
    angle_axis(axes.xaxis)
    axes.set_xlabel(label("theta"))
    _times_above(axes)


def _times_above(axes: Axes) -> None:
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


def draw_series(axes: Axes, names: list[str], times: Float, series: dict[str, Float], scale: TimeScale) -> None:
    """Observed series over time; several names share the axes with a legend."""
    style = {"marker": "o", "ms": 3.0} if times.size < 12 else {}
    for name, colour in zip(names, CATEGORIES, strict=False):
        values = _unwound(series[name]) if is_angle(name) else series[name]
        axes.plot(times, values, color=colour, lw=LINE, label=name, clip_on=False, **style)  # type: ignore[arg-type]
    replace(scale, last=max(scale.last, float(times[-1]))).lay_out(axes)
    first = names[0]
    axes.set_title(label("order-parameter" if is_order_parameter(first) else first), loc="left")
    if is_order_parameter(first):
        axes.set_ylim(0, 1)
    elif is_angle(first):
        axes.set_ylim(0, 2 * np.pi)
        angle_axis(axes.yaxis)
    else:
        _value_axis(axes, first, series[first])
    if len(names) > 1:
        axes.legend(loc="best", handlelength=1.3)


def _unwound(phase: Float) -> Float:
    """Angles in [0, 2 pi), the line broken where it would jump across."""
    turned = np.mod(phase, 2 * np.pi)
    turned[1:][np.abs(np.diff(turned)) > np.pi] = np.nan
    return turned


def _value_axis(axes: Axes, name: str, values: Float) -> None:
    """Constant where only rounding moves a series, logarithmic where it runs through decades, linear otherwise."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return
    least, most, size = float(finite.min()), float(finite.max()), float(np.abs(finite).max())
    if name != "free-energy" and least > 0 and most > 1e3 * least:
        axes.set_yscale("log")
        return
    if most - least <= 1e-9 * max(size, 1e-3):
        margin = 0.1 * size if size > 1e-9 else 0.1
        axes.set_ylim(least - margin, most + margin)
    axes.ticklabel_format(axis="y", useOffset=False, useMathText=True, scilimits=(-3, 4))
    axes.yaxis.set_offset_position("right")  # on the left is the name
    if name == "free-energy" and axes.get_ylim()[0] < 0 < axes.get_ylim()[1]:
        axes.axhline(0.0, color=REFERENCE, lw=THIN, ls=DASHES)
