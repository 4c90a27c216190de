"""Densities on the line, on grids that stay or move."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.measure import GridDensity, Panel
from mfpde.plotting.annotations import colour_bar, mark_times, telling, time_texts, times_above, window_of
from mfpde.plotting.raster import borders, pixels_on_line, reach_of
from mfpde.plotting.run_plot import GridPortrait, side_by_side
from mfpde.plotting.scales import DensityScale
from mfpde.plotting.style import MAP, label, sequence, stroked
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

    from mfpde.plotting.animation import Scene

__all__ = ["LineRun"]

_PIXELS, _PROFILES = 360, 6  # across a map; curves, more cannot be told apart
#: on each side
_MASS_OUTSIDE_WINDOW = 1e-3
#: of a curve
_POINTS_PER_CELL = 4
#: of observations: a curve through more needs no marks
_MAX_MARKED_TIMES = 12


@register("portrait", "line")
class LineRun(GridPortrait):
    """A run whose snapshots are densities over x."""

    axes: ClassVar[int | None] = 1

    def draw(self, figure: Figure, grid: GridSpec) -> list[Axes]:
        axes = side_by_side(figure, grid)
        self._draw_map(axes[0])
        self._draw_profiles(axes[1])
        return axes

    def scene(self, snapshots: list[int]) -> Scene:
        from mfpde.plotting.line_animation import LineScene

        return LineScene(self, snapshots)

    @cached_property
    def window(self) -> tuple[float, float]:
        """Where the mass is at one time or another."""
        ends = np.array([reach_of(grid, _MASS_OUTSIDE_WINDOW) for grid in self.grids])[:, :, 0]
        return window_of(ends[:, 0], ends[:, 1])

    @cached_property
    def edges(self) -> Float:
        """Borders of the pixels."""
        return np.linspace(*self.window, _PIXELS + 1)

    @cached_property
    def pixels(self) -> Float:
        """Densities `(shown, pixel)`, averaged over pixels."""
        return np.array([pixels_on_line(grid, self.edges) for grid in self.grids])

    def scale_of(self, density: Float) -> DensityScale:
        """How densities are shown: the uniform one on the window stays visible."""
        low, high = self.window
        return DensityScale.of(density, 1 / (high - low), units="")

    def profile(self, grid: GridDensity) -> tuple[Float, Float]:
        """Points x and the density there, fine enough for a smooth curve, every narrow panel included."""
        low, high = self.window
        pieces = [np.array([low, high])]
        for panel in grid.panels:
            ends = borders(panel)
            beyond = 1e-9 * (ends[-1] - ends[0])  # a panel ends at once
            pieces += [np.linspace(ends[0], ends[-1], _POINTS_PER_CELL * panel.values.size + 1)]
            pieces += [np.array([ends[0] - beyond, ends[-1] - 0.5 * beyond, ends[-1] + beyond])]
        x = np.unique(np.concatenate(pieces))
        x = x[(x >= low) & (x <= high)]
        return x, np.sum([_smooth(panel, x) for panel in grid.panels], axis=0)

    def _draw_map(self, axes: Axes) -> None:
        times = self.scale.edges(self.shown_times)
        scale = self.scale_of(self.pixels)
        mesh = axes.pcolormesh(times, self.edges, self.pixels.T, cmap=MAP, norm=scale.norm(), rasterized=True)
        colour_bar(axes.inset_axes((0, 1.035, 1, 0.045)), mesh, scale, "top")
        self._draw_clusters(axes)
        self.scale.lay_out(axes)
        axes.set_ylim(*self.window)
        axes.set_ylabel(label("x"))
        mark_times(axes, self.times, self.window[1])

    def _draw_clusters(self, axes: Axes) -> None:
        """Means of the observed clusters, over the map."""
        if "clusters-position" not in self.run.series:
            return
        times, positions = np.asarray(self.run.series_times), np.asarray(self.run.series["clusters-position"])
        counts = np.isfinite(positions).sum(axis=1)
        # where clusters merge, split or vanish, nobody knows which of them goes on as which
        starts = [0, *(np.flatnonzero(np.diff(counts)) + 1), len(counts)]
        for start, end in itertools.pairwise(starts):
            marker = "o" if len(times) < _MAX_MARKED_TIMES or end - start == 1 else ""
            for one in positions[start:end, : counts[start]].T:
                axes.plot(times[start:end], one, color="white", lw=1.0, marker=marker, ms=2.0, path_effects=stroked())
        axes.text(0.985, 0.03, "white: means of clusters", color="white", ha="right", transform=axes.transAxes, size=8)

    def _draw_profiles(self, axes: Axes) -> None:
        places = telling(self.pixels, _PROFILES)
        texts = time_texts(self.shown_times[places]) if places else []
        highest = [np.zeros(1)]
        for place, text, colour in zip(places, texts, sequence(len(places)), strict=True):
            x, density = self.profile(self.grids[place])
            highest.append(density)
            axes.plot(x, density, color=colour, label=text)
        self.scale_of(np.concatenate(highest)).linear_unless_narrow().lay_out(axes)
        axes.set_xlim(*self.window)
        axes.set_xlabel(label("x"))
        times_above(axes)


def _smooth(panel: Panel, x: Float) -> Float:
    """The panel's density between its cells, without waves where they are too few; 0 outside of it."""
    from scipy.interpolate import Akima1DInterpolator

    if panel.edges:
        return panel.interpolant.at(x[:, None])
    ends = borders(panel)
    middles, values = (
        0.5 * (ends[1:] + ends[:-1]),
        panel.values if panel.lattice.matrix[0, 0] > 0 else panel.values[::-1],
    )
    inside = (x >= ends[0]) & (x <= ends[-1])
    density = np.zeros(x.size)
    between = Akima1DInterpolator(middles, values, method="makima")
    density[inside] = between(np.clip(x[inside], middles[0], middles[-1]))
    return np.maximum(density, 0.0)
