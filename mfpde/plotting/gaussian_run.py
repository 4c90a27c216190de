"""Gaussians: where the mean goes, and what becomes of the covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from mfpde.plotting.annotations import telling, time_texts, times_above, window_of
from mfpde.plotting.run_plot import Portrait, side_by_side
from mfpde.plotting.series import SeriesAxes
from mfpde.plotting.style import CATEGORIES, LINE, MAP, REFERENCE, THIN_LINE, label, sequence
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

    from mfpde.measure import Normal
    from mfpde.plotting.animation import Scene

__all__ = ["GaussianRun", "ellipse"]

_ELLIPSES = 6  # more cannot be told apart


@register("portrait", "gaussian")
class GaussianRun(Portrait):
    """A run whose snapshots are the moments of a Gaussian."""

    height: ClassVar[float] = 3.7
    forms: ClassVar[tuple[str, ...]] = ("gaussian",)

    def draw(self, figure: Figure, grid: GridSpec) -> list[Axes]:
        axes = side_by_side(figure, grid)
        if self.moments[0].shape[1] == 1:
            self._draw_band(axes[0])
        else:
            self._draw_ellipses(axes[0])
        self._draw_spreads(axes[1])
        return axes

    def scene(self, snapshots: list[int]) -> Scene:
        from mfpde.plotting.gaussian_animation import GaussianScene

        return GaussianScene(self, snapshots)

    @property
    def drawn(self) -> tuple[str, ...]:
        return ("covariance", "covariance-eigenvalues")

    def derived(self) -> list[SeriesAxes]:
        return []

    @property
    def spreads(self) -> Float:
        """Standard deviations `(shown, d)`, the largest first; NaN for none."""
        variances = np.array([cast("Normal", one).variances for one in self.measures])
        return np.sqrt(np.where(variances > 0, variances, np.nan))

    def _draw_band(self, axes: Axes) -> None:
        mean, spread = self.moments[0][:, 0], np.sqrt(self.moments[1][:, 0, 0])
        axes.fill_between(self.shown_times, mean - spread, mean + spread, color=CATEGORIES[0], alpha=0.25, lw=0)
        axes.plot(self.shown_times, mean, color=CATEGORIES[0], lw=LINE)
        self.scale.lay_out(axes)
        axes.set_ylim(*window_of(mean - 2 * spread, mean + 2 * spread))
        axes.set_title("mean and standard deviation", loc="left")
        axes.set_ylabel(label("x"))

    def _draw_ellipses(self, axes: Axes) -> None:
        means, covariances = self.moments
        places = self.chosen
        texts = time_texts(self.shown_times[places])
        way = means[: places[-1] + 1]  # towards a pole the rest would hide it
        axes.plot(way[:, 0], way[:, 1], color=REFERENCE, lw=THIN_LINE)
        for place, text, colour in zip(places, texts, sequence(len(places)), strict=True):
            axes.plot(*ellipse(means[place], covariances[place]), color=colour, label=text)
            axes.plot(*means[place, :2], ".", color=colour, ms=4)
        axes.text(0.02, 0.02, "ellipses: one standard deviation", color=REFERENCE, size=8, transform=axes.transAxes)
        axes.set_aspect("equal", adjustable="datalim")
        more = means.shape[1] > 2
        axes.set_xlabel("first component" if more else label("x"))
        axes.set_ylabel("second component" if more else label("y"))
        times_above(axes)

    @property
    def chosen(self) -> list[int]:
        """Places in `shown` between which the ellipses change equally much."""
        means, covariances = self.moments
        roots = np.sqrt(np.abs(np.diagonal(covariances, axis1=1, axis2=2)))
        size = np.quantile(roots[:, 0], 0.9) or 1.0
        # what grows beyond all bounds would hide the rest
        small = np.flatnonzero(roots.max(axis=1) <= max(4 * roots[0].max(), 2 * size))
        return [int(small[place]) for place in telling(np.concatenate([means, roots], axis=1)[small], _ELLIPSES)]

    def _draw_spreads(self, axes: Axes) -> None:
        from matplotlib import colormaps

        spreads = self.spreads
        count = spreads.shape[1]
        many = count > len(CATEGORIES)
        for number, one in enumerate(spreads.T):
            colour = colormaps[MAP](0.85 * number / max(count - 1, 1)) if many else CATEGORIES[number]
            axes.plot(self.shown_times, one, color=colour, lw=THIN_LINE if many else LINE)
        self.scale.lay_out(axes)
        finite = spreads[np.isfinite(spreads)]
        if finite.size and finite.min() > 0 and finite.max() > 30 * finite.min():
            axes.set_yscale("log")
        axes.set_title("standard deviations along the axes" if count > 1 else "standard deviation", loc="left")


def ellipse(mean: Float, covariance: Float) -> tuple[Float, Float]:
    """The curve of one standard deviation in the first two components."""
    spread, axes = np.linalg.eigh(covariance[:2, :2])
    angle = np.linspace(0, 2 * np.pi, 181)
    x, y = mean[:2, None] + axes @ (
        np.sqrt(np.maximum(spread, 0.0))[:, None] * np.array([np.cos(angle), np.sin(angle)])
    )
    return x, y
