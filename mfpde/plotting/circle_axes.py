"""Plots of a run on the circle, each into given axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.plotting.annotations import colour_bar, mark_times, telling, time_texts, times_above
from mfpde.plotting.scales import UNIFORM, DensityScale, angle_axis
from mfpde.plotting.style import DASHES, MAP, REFERENCE, THIN_LINE, label, sequence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mfpde.plotting.circle_run import CircleRun

__all__ = ["draw_map", "draw_profiles", "uniform_line"]

_PROFILES = 6  # curves: more cannot be told apart


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
    mark_times(axes, shown.times, 2 * np.pi)


def uniform_line(axes: Axes) -> None:
    """The density of the uniform measure as a thin reference."""
    axes.axhline(UNIFORM, color=REFERENCE, lw=THIN_LINE, ls=DASHES)
    note = axes.annotate("1/2π", (1, UNIFORM), (3, 0), ("axes fraction", "data"), "offset points")
    note.set(color=REFERENCE, va="center", size=8)


def draw_profiles(axes: Axes, shown: CircleRun) -> None:
    """Density over the angle at a few times between which it changes equally much."""
    places = telling(shown.shown_density, _PROFILES)
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
    times_above(axes)
