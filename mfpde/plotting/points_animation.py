"""A movie of weighted points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.plotting.animation import Scene
from mfpde.plotting.style import CATEGORIES, REFERENCE, THIN_LINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mfpde.plotting.points_run import PointsRun

__all__ = ["PointsScene"]

_MAX_DOTS = 2000  # more hide each other


class PointsScene(Scene):
    """Points on the plane, on the ring, or on the line with the mass up to each of them as height."""

    def __init__(self, shown: PointsRun, snapshots: list[int]) -> None:
        kept = sorted(set(snapshots))
        chosen = shown.some(_MAX_DOTS)
        self.weights = shown.weights[chosen]
        self.positions = np.asarray(shown.run.stored["position"])[kept][:, chosen, :2]
        self.round, self.plane, self.names = shown.round, shown.plane, shown.names
        super().__init__(shown, snapshots)

    def lay_out(self, figure: Figure) -> None:
        axes = figure.add_subplot()
        x, y = self._places(0)
        self.dots = self.moves(
            axes.scatter(x, y, s=4 + 16 * self.weights / self.weights.max(), color=CATEGORIES[0], lw=0)
        )
        self._frame(axes)
        self.clock = self.moves(axes.text(0.03, 0.97, "", ha="left", va="top", size=13, transform=axes.transAxes))

    def show(self, place: int) -> None:
        self.dots.set_offsets(np.column_stack(self._places(place)))

    def _places(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        points = self.positions[place]
        if self.plane:
            return points[:, 0], points[:, 1]
        if self.round:
            return np.cos(points[:, 0]), np.sin(points[:, 0])
        order = np.argsort(points[:, 0], kind="stable")
        below = np.empty(order.size)
        below[order] = np.cumsum(self.weights[order]) / self.weights.sum()
        return points[:, 0], below

    def _frame(self, axes: Axes) -> None:
        if self.round:
            angle = np.linspace(0, 2 * np.pi, 361)
            axes.plot(np.cos(angle), np.sin(angle), color=REFERENCE, lw=THIN_LINE, zorder=0)
            axes.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal", xlabel="cos θ", ylabel="sin θ")
            return
        low, high = self.positions.min(axis=(0, 1)), self.positions.max(axis=(0, 1))
        margin = 0.05 * np.where(high > low, high - low, 1.0)
        axes.set(xlim=(low[0] - margin[0], high[0] + margin[0]), xlabel=self.names[0])
        if self.plane:
            axes.set(ylim=(low[1] - margin[1], high[1] + margin[1]), ylabel=self.names[1], aspect="equal")
        else:
            axes.set(ylim=(0, 1.02), ylabel="mass up to there")
