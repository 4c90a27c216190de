"""Weighted points on spheres: both halves of S^2 from above, and coordinates of spheres in other dimensions."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.plotting.annotations import evenly_many, telling, time_texts, times_above
from mfpde.plotting.run_plot import side_by_side
from mfpde.plotting.style import MAP, REFERENCE, THIN_LINE, sequence
from mfpde.plotting.token_run import CROWD_TOKENS, TokenPortrait, cells_for
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

    from mfpde.plotting.animation import Scene

__all__ = ["SphereRun", "disc", "halves"]

_MAX_DOTS, _MAX_PATHS, _TIMES_SHOWN = 400, 60, 3  # more hide each other
#: cells of a histogram of many tokens along a disc at most, and the exponent of its shades
_CELLS, _SHADE_EXPONENT = 96, 0.4
#: points along a side of a cell, by which its part in the disc is told
_SAMPLES = 16
_FAINT_LINE = "0.7"
#: length of a path's step between two snapshots beyond which it is not drawn: nobody knows where it went
_JUMP = 0.5
#: dimension of the space around S^2
_AMBIENT_DIMENSION = 3
#: colatitudes of the thin circles
_CIRCLES_DEGREES = (30, 60)


@register("portrait", "sphere")
class SphereRun(TokenPortrait):
    """A run whose snapshots are weighted points on a sphere: the paths of some, and where they are at a few times; the
    density of many at the end."""

    height: ClassVar[float] = 4.1
    spaces: ClassVar[tuple[str, ...]] = ("sphere",)

    def draw(self, figure: Figure, grid: GridSpec) -> list[Axes]:
        axes = side_by_side(figure, grid)
        for number, one in enumerate(axes):
            self.lay_out(one, number)
        if self.weights.size >= CROWD_TOKENS:
            self._draw_crowd(axes)
            return axes
        self._draw_paths(axes)
        places, chosen = telling(self.positions, _TIMES_SHOWN), evenly_many(self.positions[0], self.weights, _MAX_DOTS)
        weights = self.weights[chosen]
        for place, text, colour in self._times(places):
            for one, (x, y) in zip(axes, halves(self.positions[place, chosen]), strict=True):
                one.scatter(x, y, s=3 + 9 * weights / weights.max(), color=colour, lw=0, label=text)
        for one in axes:
            times_above(one)
        return axes

    def scene(self, snapshots: list[int]) -> Scene:
        from mfpde.plotting.sphere_animation import SphereScene

        return SphereScene(self, snapshots)

    @property
    def dimension(self) -> int:
        """Of the space around the sphere."""
        return int(self.positions.shape[2])

    @cached_property
    def positions(self) -> Float:
        """Unit vectors `(shown, n, d)`."""
        return self.tokens(self.shown)

    def _draw_paths(self, axes: list[Axes]) -> None:
        """Of some tokens, broken where they cross the rim or jump."""
        for token in evenly_many(self.positions[0], self.weights, _MAX_PATHS):
            path = self.positions[:, token]
            for one, (x, y) in zip(axes, halves(path), strict=True):
                far = np.concatenate([[False], np.hypot(np.diff(x), np.diff(y)) > _JUMP])
                one.plot(np.where(far, np.nan, x), y, color=_FAINT_LINE, lw=0.5, zorder=1)

    def _draw_crowd(self, axes: list[Axes]) -> None:
        """Of many tokens the histogram at the end, over the parts of its cells in the disc; on S^2 equal parts of a
        disc have equal areas."""
        from matplotlib.patches import Circle

        edges = np.linspace(-1, 1, cells_for(self.weights.size // 2, 2, _CELLS) + 1)
        parts = _parts_in_disc(edges)
        found = [
            np.histogram2d(x, y, [edges, edges], weights=np.where(np.isfinite(x), self.weights, 0.0))[0] / parts
            for x, y in ((np.nan_to_num(a, nan=9.0), np.nan_to_num(b, nan=9.0)) for a, b in halves(self.positions[-1]))
        ]
        most = max(float(np.max(found)), 1e-300)
        for one, shares in zip(axes, found, strict=True):
            shades = np.where(shares > 0, (shares / most) ** _SHADE_EXPONENT, np.nan).T
            mesh = one.pcolormesh(edges, edges, shades, cmap=MAP, vmin=0, vmax=1, rasterized=True, lw=0)
            mesh.set_clip_path(Circle((0, 0), 1, transform=one.transData))
        text = time_texts(self.shown_times[-1:])[0]
        axes[0].set_title(f"density of {self.weights.size} tokens, {text}", loc="left")

    def _times(self, places: list[int]) -> list[tuple[int, str, tuple[float, ...]]]:
        texts = time_texts(self.shown_times[places])
        return list(zip(places, texts, sequence(len(places)), strict=True))

    def lay_out(self, axes: Axes, number: int) -> None:
        """The disc of one half, and what is seen in it."""
        disc(axes)
        sign = ("≥ 0", "< 0")[number]
        if self.dimension != _AMBIENT_DIMENSION:
            last = f"x{self.dimension} {sign}" if self.dimension > 2 else f"y {sign}"
            axes.text(0, -1.13, f"tokens with {last}: first two coordinates", ha="center", va="top", size=8.5)
            return
        for degrees in _CIRCLES_DEGREES:
            disc(axes, np.sqrt(2) * np.sin(np.radians(degrees) / 2))
        for angle, text in zip(np.arange(4) * np.pi / 2, ["0", "π/2", "π", "3π/2"], strict=True):
            axes.text(1.1 * np.cos(angle), 1.1 * np.sin(angle), text, ha="center", va="center", size=8.5)
        half = ("northern half, z ≥ 0", "southern half, z < 0, seen through the sphere")[number]
        axes.text(0, -1.22, f"{half}; longitude at the rim", ha="center", va="top", size=8.5)


def _parts_in_disc(edges: Float) -> Float:
    """Of each square cell the part inside the unit disc, at least a quarter: a token in a corner is no peak."""
    fine = np.linspace(edges[0], edges[-1], _SAMPLES * (edges.size - 1) + 1)
    middles = 0.5 * (fine[1:] + fine[:-1])
    inside = middles[:, None] ** 2 + middles**2 <= 1
    cells = inside.reshape(edges.size - 1, _SAMPLES, edges.size - 1, _SAMPLES)
    return np.maximum(cells.mean(axis=(1, 3)), 0.25)


def disc(axes: Axes, radius: float = 1.0) -> None:
    """The rim of a half, or a circle of latitude in it, in axes without coordinates."""
    angle = np.linspace(0, 2 * np.pi, 361)
    axes.plot(radius * np.cos(angle), radius * np.sin(angle), color=REFERENCE, lw=THIN_LINE, zorder=0)
    axes.set(xlim=(-1.25, 1.25), ylim=(-1.4, 1.2), aspect="equal")
    axes.set_axis_off()


def halves(points: Float) -> list[tuple[Float, Float]]:
    """Places in two discs, NaN for points of the other half.

    Of S^2 the halves above and below the equator, from above and in proportion to area (Lambert), longitudes
    anticlockwise in both; of other spheres the halves by the sign of the last coordinate, and the first two
    coordinates.
    """
    last = points[:, -1]
    if points.shape[1] == _AMBIENT_DIMENSION:
        across = np.hypot(points[:, 0], points[:, 1])
        colatitude = np.arctan2(across, np.abs(last))
        scale = np.sqrt(2) * np.sin(colatitude / 2) / np.where(across > 0, across, 1.0)
    else:
        scale = np.ones(len(points))
    x, y = scale * points[:, 0], scale * points[:, 1]
    return [(np.where(here, x, np.nan), np.where(here, y, np.nan)) for here in (last >= 0, last < 0)]
