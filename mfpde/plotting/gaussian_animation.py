"""A movie of a Gaussian: its bell on the line, its ellipse elsewhere, and its spreads with a mark on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from mfpde.plotting.animation import Scene
from mfpde.plotting.annotations import window_of
from mfpde.plotting.gaussian_run import ellipse
from mfpde.plotting.style import CATEGORIES, LINE, REFERENCE, THIN_LINE, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mfpde.measure import Normal
    from mfpde.plotting.gaussian_run import GaussianRun

__all__ = ["GaussianScene"]

_SHOWN_DEVIATIONS = 4.0  # beyond it a Gaussian is thinner than a line


class GaussianScene(Scene):
    """The density on the line, one standard deviation in the first two components elsewhere."""

    def __init__(self, shown: GaussianRun, snapshots: list[int]) -> None:
        measures = [shown.run.measure(index) for index in sorted(set(snapshots))]
        self.means = np.array([measure.mean for measure in measures])
        self.covariances = np.array([measure.covariance for measure in measures])
        self.spreads = np.sqrt([cast("Normal", measure).variances[::-1] for measure in measures])
        super().__init__(shown, snapshots)

    def lay_out(self, figure: Figure) -> None:
        grid = figure.add_gridspec(1, 2, width_ratios=[1.35, 1])
        axes, beside = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
        if self.means.shape[1] == 1:
            self._bell(axes)
        else:
            self._ellipse(axes)
        self.clock = self.moves(axes.text(0.03, 0.97, "", ha="left", va="top", size=13, transform=axes.transAxes))
        self.track(beside, self.times, list(self.spreads.T[::-1]))
        if self.spreads.min() > 0 and self.spreads.max() > 30 * self.spreads.min():
            beside.set_yscale("log")
        else:
            beside.set_ylim(bottom=0)
        several = self.means.shape[1] > 1
        beside.set_title("standard deviations along the axes" if several else "standard deviation", loc="left")

    def show(self, place: int) -> None:
        self.curve.set_data(*self._curve(place))
        if self.means.shape[1] > 1:
            self.centre.set_data(*self.means[place, :2, None])
        self.move_mark(place)

    def _curve(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        if self.means.shape[1] > 1:
            return ellipse(self.means[place], self.covariances[place])
        z = np.linspace(-_SHOWN_DEVIATIONS, _SHOWN_DEVIATIONS, 201)
        spread = self.spreads[place, 0]
        density = np.exp(-0.5 * z**2) / (np.sqrt(2 * np.pi) * spread) if spread > 0 else np.zeros(z.size)
        return self.means[place, 0] + spread * z, density

    def _bell(self, axes: Axes) -> None:
        (self.curve,) = axes.plot(*self._curve(0), color=CATEGORIES[0], lw=LINE)
        self.moves(self.curve)
        ends = _SHOWN_DEVIATIONS * self.spreads[:, 0]
        axes.set_xlim(*window_of(self.means[:, 0] - ends, self.means[:, 0] + ends))
        highest = max(float(self._curve(place)[1].max()) for place in range(len(self.means)))
        axes.set_ylim(0, 1.05 * highest)
        axes.set(xlabel=label("x"), ylabel="density")

    def _ellipse(self, axes: Axes) -> None:
        curves = np.array([self._curve(place) for place in range(len(self.means))])
        axes.plot(self.means[:, 0], self.means[:, 1], color=REFERENCE, lw=THIN_LINE)
        (self.curve,) = axes.plot(*curves[0], color=CATEGORIES[0], lw=LINE)
        (self.centre,) = axes.plot(*self.means[0, :2], "o", color=CATEGORIES[0], ms=4)
        for artist in (self.curve, self.centre):
            self.moves(artist)
        ends = [window_of(curves[:, axis].min(axis=1), curves[:, axis].max(axis=1)) for axis in range(2)]
        low, high = np.array(ends).T
        middle, half = 0.5 * (low + high), 0.5 * float((high - low).max())
        axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half), aspect="equal")
        more = self.means.shape[1] > 2
        axes.set(xlabel="first component" if more else label("x"), ylabel="second component" if more else label("y"))
