"""A movie on the circle: a profile, a ring, a mean, a mark on the order parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.plotting.animation import Scene
from mfpde.plotting.annotations import colour_bar
from mfpde.plotting.circle_axes import uniform_line
from mfpde.plotting.scales import UNIFORM, DensityScale, angle_axis
from mfpde.plotting.style import ALARM, CATEGORIES, LINE, MAP, REFERENCE, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mfpde.plotting.circle_run import CircleRun

__all__ = ["CircleScene"]

_RING_INNER, _TRACK_OUTER = 0.88, 1.12  # radii of the ring that shows the density


class CircleScene(Scene):
    """Density over the angle and around the ring."""

    def __init__(self, shown: CircleRun, snapshots: list[int]) -> None:
        self.shown = shown
        density = shown.density(sorted(set(snapshots)))
        self.means = shown.mean_vectors(density)
        self.theta, self.density = shown.profiles(density)
        self.borders, self.around = shown.cells(density)
        self.scale = DensityScale.of(np.append(self.density, UNIFORM))
        super().__init__(shown, snapshots)

    def lay_out(self, figure: Figure) -> None:
        grid = figure.add_gridspec(2, 2, height_ratios=[1.9, 1], width_ratios=[1.45, 1])
        self._profile(figure.add_subplot(grid[0, 0]))
        self._order(figure.add_subplot(grid[1, 0]))
        self._ring(figure.add_subplot(grid[:, 1]))

    def show(self, place: int) -> None:
        self.curve.set_ydata(self.density[place])
        self.mesh.set_array(self.around[place][None, :])
        x, y = self.means[place]
        self.arrow.set_data([0, x], [0, y])
        self.tip.set_data([x], [y])
        self.move_mark(place)

    def _profile(self, axes: Axes) -> None:
        uniform_line(axes)
        (self.curve,) = axes.plot(self.theta, self.density[0], color=CATEGORIES[0], lw=LINE)
        self.moves(self.curve)
        self.scale.linear_unless_narrow().lay_out(axes)
        axes.set_xlim(0, 2 * np.pi)
        angle_axis(axes.xaxis)
        axes.set_xlabel(label("theta"))

    def _order(self, axes: Axes) -> None:
        times, order = self.times, np.hypot(*self.means.T)
        if "order-parameter" in self.shown.run.series:
            times, order = self.shown.run.series_times, np.asarray(self.shown.run.series["order-parameter"])
        self.track(axes, times, [order])
        axes.set_ylim(0, 1)
        axes.set_ylabel("order parameter")

    def _ring(self, axes: Axes) -> None:
        axes.set_aspect("equal")
        axes.set_axis_off()
        radii = np.array([_RING_INNER, _TRACK_OUTER])
        x, y = radii[:, None] * np.cos(self.borders), radii[:, None] * np.sin(self.borders)
        self.mesh = self.moves(axes.pcolormesh(x, y, self.around[:1], cmap=MAP, norm=self.scale.norm()))
        for angle, text in zip(np.arange(4) * np.pi / 2, ["0", "π/2", "π", "3π/2"], strict=True):
            axes.text(1.25 * np.cos(angle), 1.25 * np.sin(angle), text, ha="center", va="center", size=8.5)
        axes.plot(0, 0, "+", color=REFERENCE, ms=7)
        (self.arrow,) = axes.plot([0, 0], [0, 0], color=ALARM, lw=LINE)
        (self.tip,) = axes.plot([0], [0], "o", color=ALARM, ms=6)
        self.clock = axes.text(0, 1.5, "", ha="center", va="center", size=13)
        for artist in (self.arrow, self.tip, self.clock):
            self.moves(artist)
        axes.text(0, -1.5, "arrow: mean of x", ha="center", va="center", size=8.5, color=ALARM)
        axes.set(xlim=(-1.35, 1.35), ylim=(-1.6, 1.65))
        below = axes.inset_axes((0.05, -0.06, 0.9, 0.035))
        colour_bar(below, self.mesh, self.scale, "bottom")
        below.set_xlabel(self.scale.short_name())
