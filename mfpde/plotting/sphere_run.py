"""Weighted points on spheres: both halves of S^2 from above, and coordinates of spheres in other dimensions."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.plotting.annotations import evenly_many, telling, time_texts, times_above
from mfpde.plotting.run_plot import Portrait, side_by_side
from mfpde.plotting.style import REFERENCE, THIN_LINE, sequence
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

    from mfpde.plotting.animation import Scene

__all__ = ["SphereRun", "disc", "halves"]

_MAX_DOTS, _TIMES_SHOWN = 400, 3  # more hide each other
#: dimension of the space around S^2
_AMBIENT_DIMENSION = 3
#: colatitudes of the thin circles
_CIRCLES_DEGREES = (30, 60)


@register("portrait", "sphere")
class SphereRun(Portrait):
    """A run whose snapshots are weighted points on a sphere: where they are at a few times."""

    height: ClassVar[float] = 4.1
    forms: ClassVar[tuple[str, ...]] = ("particles", "characteristics")
    spaces: ClassVar[tuple[str, ...]] = ("sphere",)

    def draw(self, figure: Figure, grid: GridSpec) -> list[Axes]:
        axes = side_by_side(figure, grid)
        for number, one in enumerate(axes):
            self.lay_out(one, number)
        places, chosen = (
            telling(self.positions, _TIMES_SHOWN),
            evenly_many(self.positions[0], self.run.weights, _MAX_DOTS),
        )
        weights = self.run.weights[chosen]
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
        return np.asarray(self.run.stored["position"])[self.shown]

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
