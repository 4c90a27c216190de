"""Weighted points: particles, and nodes that follow the characteristics."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.plotting.annotations import evenly_many, telling, time_texts, times_above
from mfpde.plotting.run_plot import side_by_side
from mfpde.plotting.scales import angle_axis
from mfpde.plotting.style import MAP, REFERENCE, label, sequence
from mfpde.plotting.token_run import CROWD_TOKENS, TokenPortrait, cells_for
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

    from mfpde.plotting.animation import Scene

__all__ = ["PointsRun"]

_MAX_PATHS, _MAX_DOTS, _TIMES_SHOWN = 60, 300, 3  # more hide each other
#: cells of a histogram of many tokens at most, and the exponent of its shades
_CELLS, _SHADE_EXPONENT = 256, 0.4


@register("portrait", "points")
class PointsRun(TokenPortrait):
    """A run whose snapshots are weighted points: the paths of some, or the density of many over time, and where they
    are at a few times."""

    height: ClassVar[float] = 3.7

    def draw(self, figure: Figure, grid: GridSpec) -> list[Axes]:
        axes = side_by_side(figure, grid)
        if self.plane:
            self._draw_paths_on_plane(axes[0])
            (self._draw_crowd if self.weights.size >= CROWD_TOKENS else self._draw_dots)(axes[1])
        else:
            (self._draw_density if self.weights.size >= CROWD_TOKENS else self._draw_paths)(axes[0])
            self._draw_distribution(axes[1])
        return axes

    def scene(self, snapshots: list[int]) -> Scene:
        from mfpde.plotting.points_animation import PointsScene

        return PointsScene(self, snapshots)

    @property
    def plane(self) -> bool:
        return self.positions.shape[2] == 2

    @property
    def names(self) -> tuple[str, str]:
        """What the coordinates are called."""
        if self.run.problem.geometry.ambient_dimension > 2:
            return "first component", "second component"
        return label("theta" if self.round else "x"), label("y")

    @property
    def called(self) -> str:
        """What the points are: the nodes of a quadrature, unless they were given."""
        initial = self.run.problem.initial
        carried = self.run.layout.form == "characteristics" and not (initial is not None and initial.pointlike)
        return "nodes" if carried else "tokens"

    @property
    def round(self) -> bool:
        """Whether the coordinates are angles."""
        return bool(np.shape(self.run.stored["position"])[-1] < self.run.problem.geometry.ambient_dimension)

    @cached_property
    def positions(self) -> Float:
        """`(shown, n, components)`, at most two of them, angles in [0, 2 pi)."""
        everywhere = self.tokens(self.shown)[..., :2]
        return np.mod(everywhere, 2 * np.pi) if self.round else everywhere

    def some(self, count: int) -> list[int]:
        """Numbers of at most so many points, as evenly as the mass lies."""
        return evenly_many(self.positions[0], self.weights, count)

    def _draw_paths(self, axes: Axes) -> None:
        chosen = self.some(_MAX_PATHS)
        for number, colour in zip(chosen, sequence(len(chosen)), strict=True):
            path = self.positions[:, number, 0].copy()
            if self.round:
                path[1:][np.abs(np.diff(path)) > np.pi] = np.nan
            axes.plot(self.shown_times, path, color=colour, lw=0.7)
        self._along_time(axes, f"paths of {len(chosen)} of {self.weights.size} {self.called}")

    def _along_time(self, axes: Axes, title: str) -> None:
        self.scale.lay_out(axes)
        axes.set_title(title, loc="left")
        self._coordinate(axes.set_ylabel)
        if self.round:
            axes.set_ylim(0, 2 * np.pi)
            angle_axis(axes.yaxis)

    def _draw_density(self, axes: Axes) -> None:
        """Histograms over time, as a map."""
        from matplotlib.colors import PowerNorm

        places = self.positions[:, :, 0]
        span = (0.0, 2 * np.pi) if self.round else (float(places.min()), float(places.max()) + 1e-300)
        cells = cells_for(self.weights.size, 1, _CELLS)
        rows = [np.histogram(row, cells, span, weights=self.weights)[0] for row in places]
        heights, edges = np.linspace(*span, cells + 1), self.scale.edges(self.shown_times)
        norm = PowerNorm(_SHADE_EXPONENT, 0.0, max(float(np.max(rows)), 1e-300))
        axes.pcolormesh(edges, heights, np.array(rows).T, norm=norm, cmap=MAP, rasterized=True, lw=0)
        self._along_time(axes, f"density of {self.weights.size} {self.called}")

    def _draw_distribution(self, axes: Axes) -> None:
        """Mass up to x: it needs no bins."""
        places = telling(self.positions, _TIMES_SHOWN)
        texts = time_texts(self.shown_times[places])
        for place, text, colour in zip(places, texts, sequence(len(places)), strict=True):
            order = np.argsort(self.positions[place, :, 0], kind="stable")
            shares = np.cumsum(self.weights[order])
            kept = np.unique(np.linspace(0, order.size - 1, min(order.size, CROWD_TOKENS)).astype(int))
            axes.step(self.positions[place, order[kept], 0], shares[kept], where="post", color=colour, label=text)
        axes.set_ylim(0, 1)
        self._coordinate(axes.set_xlabel)
        axes.set_ylabel("mass up to there")
        if self.round:
            axes.set_xlim(0, 2 * np.pi)
            angle_axis(axes.xaxis)
        times_above(axes)

    def _coordinate(self, say: object) -> None:
        say(self.names[0])  # type: ignore[operator]

    def _draw_paths_on_plane(self, axes: Axes) -> None:
        chosen = self.some(_MAX_PATHS)
        for number in chosen:
            axes.plot(*self.positions[:, number].T, color=REFERENCE, lw=0.6)
        axes.plot(*self.positions[0, chosen].T, "o", color=REFERENCE, ms=3, mfc="white", label="start")
        axes.plot(*self.positions[-1, chosen].T, "o", color="black", ms=3, label="end")
        axes.set(xlabel=self.names[0], ylabel=self.names[1])
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title(f"paths of {len(chosen)} of {self.weights.size} {self.called}", loc="left")
        axes.legend(loc="best", handlelength=1.0)

    def _draw_crowd(self, axes: Axes) -> None:
        """Where they are at the end, as the map of a histogram."""
        x, y = self.positions[-1].T
        shares, *edges = np.histogram2d(x, y, cells_for(x.size, 2, _CELLS), weights=self.weights)
        axes.pcolormesh(
            *edges, np.where(shares > 0, shares, np.nan).T ** _SHADE_EXPONENT, cmap=MAP, rasterized=True, lw=0
        )
        axes.set(xlabel=self.names[0], ylabel=self.names[1])
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title(f"{self.weights.size} {self.called}, {time_texts(self.shown_times[-1:])[0]}", loc="left")

    def _draw_dots(self, axes: Axes) -> None:
        places, chosen = telling(self.positions, _TIMES_SHOWN), self.some(_MAX_DOTS)
        texts = time_texts(self.shown_times[places])
        size = 2 + 8 * self.weights[chosen] / self.weights.max()
        for place, text, colour in zip(places, texts, sequence(len(places)), strict=True):
            x, y = self.positions[place, chosen].T
            axes.scatter(x, y, s=size, color=colour, lw=0, label=text)
        axes.set(xlabel=self.names[0], ylabel=self.names[1])
        axes.set_aspect("equal", adjustable="datalim")
        times_above(axes)
