"""What moves in a movie: a profile, a ring, a mean, a mark on the order parameter. The rest is drawn once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.plotting.circle_run import CircleRun
from mfpde.plotting.figure import head, header
from mfpde.plotting.panels import colour_bar, uniform_line
from mfpde.plotting.scales import UNIFORM, DensityScale, TimeScale, angle_axis
from mfpde.plotting.style import ALARM, CATEGORIES, LINE, MAP, REFERENCE, label, new_figure
from mfpde.typing import AnyArray

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["Scene"]

_HEIGHT, _DPI = 4.5, 120
_INNER, _OUTER = 0.88, 1.12


class Scene:
    """A figure whose moving parts show one snapshot after the other."""

    def __init__(self, shown: CircleRun, snapshots: list[int]) -> None:
        self.shown = shown
        self.snapshots = snapshots
        kept = sorted(set(snapshots))
        self.place = {snapshot: place for place, snapshot in enumerate(kept)}
        density = shown.density(kept)
        self.means = shown.mean_vectors(density)
        self.theta, self.density = shown.profiles(density)
        self.borders, self.around = shown.cells(density)
        self.times = shown.times[kept]
        # a movie may be at most as wide as its file format counts, and mp4 wants even numbers: 960 x 540
        self.figure = new_figure(_HEIGHT)
        self.figure.set_dpi(_DPI)
        head(self.figure, header(shown.run))
        grid = self.figure.add_gridspec(2, 2, height_ratios=[1.9, 1], width_ratios=[1.45, 1])
        self.scale = DensityScale.of(np.append(self.density, UNIFORM))
        self._profile(self.figure.add_subplot(grid[0, 0]))
        self._order(self.figure.add_subplot(grid[1, 0]))
        self._ring(self.figure.add_subplot(grid[:, 1]))

    def frames(self) -> Iterator[AnyArray]:
        """Pixels `(height, width, 4)` of every frame."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas: Any = FigureCanvasAgg(self.figure)
        moving: list[Artist] = [self.curve, self.mesh, self.arrow, self.tip, self.mark, self.clock]
        for artist in moving:
            artist.set_animated(True)
        canvas.draw()
        still = canvas.copy_from_bbox(self.figure.bbox)
        for snapshot in self.snapshots:
            self._show(self.place[snapshot])
            canvas.restore_region(still)
            for artist in moving:
                self.figure.draw_artist(artist)
            yield np.array(canvas.buffer_rgba())

    def _show(self, place: int) -> None:
        self.curve.set_ydata(self.density[place])
        self.mesh.set_array(self.around[place][None, :])
        x, y = self.means[place]
        self.arrow.set_data([0, x], [0, y])
        self.tip.set_data([x], [y])
        time = self.times[place]
        self.mark.set_data([time], [np.interp(time, self.order_times, self.order)])
        self.clock.set_text(f"t = {time:.{self.digits}f}")

    def _profile(self, axes: Axes) -> None:
        uniform_line(axes)
        (self.curve,) = axes.plot(self.theta, self.density[0], color=CATEGORIES[0], lw=LINE)
        self.scale.linear_unless_narrow().lay_out(axes)
        axes.set_xlim(0, 2 * np.pi)
        angle_axis(axes.xaxis)
        axes.set_xlabel(label("theta"))

    def _order(self, axes: Axes) -> None:
        self.order_times, self.order = self.times, np.hypot(*self.means.T)
        if "order-parameter" in self.shown.scalars:
            self.order_times, self.order = self.shown.run.series_times, self.shown.scalars["order-parameter"]
        axes.plot(self.order_times, self.order, color=REFERENCE, lw=LINE, clip_on=False)
        (self.mark,) = axes.plot(self.order_times[:1], self.order[:1], "o", color=ALARM, ms=6, clip_on=False)
        TimeScale(float(self.shown.times[0]), float(self.shown.times[-1])).lay_out(axes)
        axes.set_ylim(0, 1)
        axes.set_ylabel("order parameter")
        gaps = np.diff(self.times)
        shortest = float(gaps.min()) if gaps.size else 1.0
        self.digits = int(np.clip(np.ceil(-np.log10(shortest) - 1e-9), 0, 6))

    def _ring(self, axes: Axes) -> None:
        axes.set_aspect("equal")
        axes.set_axis_off()
        radii = np.array([_INNER, _OUTER])
        x, y = radii[:, None] * np.cos(self.borders), radii[:, None] * np.sin(self.borders)
        self.mesh = axes.pcolormesh(x, y, self.around[:1], cmap=MAP, norm=self.scale.norm())
        for angle, text in zip(np.arange(4) * np.pi / 2, ["0", "π/2", "π", "3π/2"], strict=True):
            axes.text(1.25 * np.cos(angle), 1.25 * np.sin(angle), text, ha="center", va="center", size=8.5)
        axes.plot(0, 0, "+", color=REFERENCE, ms=7)
        (self.arrow,) = axes.plot([0, 0], [0, 0], color=ALARM, lw=LINE)
        (self.tip,) = axes.plot([0], [0], "o", color=ALARM, ms=6)
        self.clock = axes.text(0, 1.5, "", ha="center", va="center", size=13)
        axes.text(0, -1.5, "arrow: mean of x", ha="center", va="center", size=8.5, color=ALARM)
        axes.set(xlim=(-1.35, 1.35), ylim=(-1.6, 1.65))
        below = axes.inset_axes((0.05, -0.06, 0.9, 0.035))
        colour_bar(below, self.mesh, self.scale, "bottom")
        below.set_xlabel(self.scale.short_name())
