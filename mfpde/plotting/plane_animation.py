"""A movie on the plane: the density as a picture, and the spreads with a mark on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.plotting.animation import Scene
from mfpde.plotting.plane_run import Picture, add_bar, common_scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mfpde.plotting.plane_run import PlaneRun

__all__ = ["PlaneScene"]


class PlaneScene(Scene):
    """Density over x and y, in one window for all times."""

    def __init__(self, shown: PlaneRun, snapshots: list[int]) -> None:
        grids = [shown.grid(index) for index in sorted(set(snapshots))]
        ends = np.array([shown.windows([grid])[0] for grid in grids])
        low, high = ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)
        middle, half = 0.5 * (low + high), 0.5 * float((high - low).max())
        window = (middle - half, middle + half)
        self.pictures = [Picture.of(grid, window) for grid in grids]
        self.spreads = np.sqrt(np.maximum(np.linalg.eigvalsh([grid.covariance for grid in grids]), 0.0))
        super().__init__(shown, snapshots)

    def lay_out(self, figure: Figure) -> None:
        grid = figure.add_gridspec(1, 2, width_ratios=[1.35, 1])
        axes, beside = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
        scale = common_scale([picture.density for picture in self.pictures])
        self.image = self.moves(self.pictures[0].draw(axes, scale))
        add_bar(figure, [axes], self.image, scale)
        self.clock = self.moves(
            axes.text(0.03, 0.95, "", ha="left", va="top", size=13, color="white", transform=axes.transAxes)
        )
        self.track(beside, self.times, [self.spreads[:, 1], self.spreads[:, 0]])
        if self.spreads.min() > 0 and self.spreads.max() > 1e2 * self.spreads.min():
            beside.set_yscale("log")
        else:
            beside.set_ylim(bottom=0)
        beside.set_title("standard deviations along both axes", loc="left")

    def show(self, place: int) -> None:
        self.image.set_data(self.pictures[place].density)
        self.move_mark(place)
