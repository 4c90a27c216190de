"""A movie on the line: a profile, and the spread with a mark on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.plotting.animation import Scene
from mfpde.plotting.style import CATEGORIES, LINE, label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mfpde.plotting.line_run import LineRun

__all__ = ["LineScene"]


class LineScene(Scene):
    """Density over x."""

    def __init__(self, shown: LineRun, snapshots: list[int]) -> None:
        self.shown = shown
        grids = [shown.grid(index) for index in sorted(set(snapshots))]
        self.profiles = [shown.profile(grid) for grid in grids]
        self.spread = np.sqrt(np.array([grid.covariance[0, 0] for grid in grids]))
        super().__init__(shown, snapshots)

    def lay_out(self, figure: Figure) -> None:
        grid = figure.add_gridspec(2, 1, height_ratios=[2.4, 1])
        axes, below = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
        (self.curve,) = axes.plot(*self.profiles[0], color=CATEGORIES[0], lw=LINE)
        self.moves(self.curve)
        everything = np.concatenate([density for _, density in self.profiles])
        self.shown.scale_of(np.append(everything, 0.0)).linear_unless_narrow().lay_out(axes)
        axes.set_xlim(*self.shown.window)
        axes.set_xlabel(label("x"))
        self.clock = self.moves(axes.text(0.985, 0.93, "", ha="right", va="top", size=13, transform=axes.transAxes))
        self.track(below, self.times, [self.spread])
        if self.spread.min() > 0 and self.spread.max() > 1e2 * self.spread.min():
            below.set_yscale("log")
        below.set_ylabel("standard\ndeviation")

    def show(self, place: int) -> None:
        self.curve.set_data(*self.profiles[place])
        self.move_mark(place)
