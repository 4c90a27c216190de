"""Densities on the plane, on grids that stay or move."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.measure import GridDensity
from mfpde.plotting.annotations import telling, time_texts
from mfpde.plotting.raster import pixels_on_plane, reach_of
from mfpde.plotting.run_plot import GridPortrait
from mfpde.plotting.scales import DensityScale
from mfpde.plotting.style import MAP, stroked
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec
    from matplotlib.image import AxesImage

    from mfpde.plotting.animation import Scene

__all__ = ["Picture", "PlaneRun", "Window", "add_bar", "common_scale"]

_PIXELS, _PICTURES = 160, 6  # along a side of a picture; pictures that fit in a row
#: on each side
_MASS_OUTSIDE_WINDOW = 1e-3
_MARGIN_SHARE = 0.15  # of the window, on each side
#: of windows that share axes
_MAX_SIZE_RATIO = 5.0

#: in pixels, over the largest density: below it the scale is not in multiples of the peak
_MIN_RESOLVED_PEAK = 0.5
#: distance of a window from 0 in half-widths, from which coordinates have an offset
_MIN_OFFSET_RATIO = 20.0
#: share of the window that counts as full; least exponent of the colour scale for an empty one
_FULL_WINDOW_PERCENT, _LEAST_EXPONENT = 20.0, 0.4

#: low and high corner
Window = tuple[Float, Float]


@register("portrait", "plane")
class PlaneRun(GridPortrait):
    """A run whose snapshots are densities over x and y: pictures at a few times."""

    height: ClassVar[float] = 5.6
    axes: ClassVar[int | None] = 2

    def draw(self, figure: Figure, grid: GridSpec) -> list[Axes]:
        places = self.chosen
        columns = min(len(places), 3)
        inner = grid[0, :].subgridspec(-(-len(places) // columns), columns)
        grids = [self.grid(self.shown[place]) for place in places]
        pictures = [Picture.of(one, window) for one, window in zip(grids, self.windows(grids), strict=True)]
        scale = common_scale([picture.density for picture in pictures])
        texts = time_texts(self.shown_times[places])
        axes = [figure.add_subplot(inner[number // columns, number % columns]) for number in range(len(places))]
        for one, place, picture, text in zip(axes, places, pictures, texts, strict=True):
            image = picture.draw(one, scale)
            one.set_title(f"{text}, {picture.told}", loc="left", size=8.5)
            self._draw_clusters(one, self.shown_times[place], picture)
        add_bar(figure, axes, image, scale)
        return axes

    def scene(self, snapshots: list[int]) -> Scene:
        from mfpde.plotting.plane_animation import PlaneScene

        return PlaneScene(self, snapshots)

    @cached_property
    def chosen(self) -> list[int]:
        """Places in `shown` of the few snapshots that tell most: between them mean and spread change equally much."""
        means, covariances = self.moments
        size = np.sqrt(np.trace(covariances, axis1=1, axis2=2)).max() or 1.0
        spreads = np.log(np.maximum(np.linalg.eigvalsh(covariances), 1e-30 * size**2)) / 2
        return telling(np.concatenate([means / size, spreads], axis=1), _PICTURES)[: _PICTURES + 1]

    def windows(self, grids: list[GridDensity]) -> list[Window]:
        """Squares around the mass: one for all while their sizes are alike, one for each otherwise."""
        ends = np.array([reach_of(grid, _MASS_OUTSIDE_WINDOW) for grid in grids])
        low, high = ends[:, 0], ends[:, 1]
        sizes = (high - low).max(axis=1)
        if sizes.max() <= _MAX_SIZE_RATIO * sizes.min():
            low, high = (np.broadcast_to(end, low.shape) for end in (low.min(axis=0), high.max(axis=0)))
            sizes = np.broadcast_to((high - low).max(axis=1), sizes.shape)
        middle, half = 0.5 * (low + high), (0.5 + _MARGIN_SHARE) * np.where(sizes > 0, sizes, 1.0)
        return [(m - h, m + h) for m, h in zip(middle, half, strict=True)]

    def _draw_clusters(self, axes: Axes, time: float, picture: Picture) -> None:
        """Means of the clusters observed at that time."""
        if "clusters-position" not in self.run.series or len(self.run.series_times) == 0:
            return
        row = int(np.argmin(np.abs(self.run.series_times - time)))
        places = np.asarray(self.run.series["clusters-position"])[row] - picture.offset
        axes.plot(*places.T, "+", color="white", ms=6, path_effects=stroked())


@dataclass(frozen=True, eq=False)
class Picture:
    """A density on the pixels of a window, in multiples of `unit`, `[y, x]` as pictures have them.

    Coordinates are told from an `offset`, 0 unless the window is far from 0 for its size.
    """

    density: Float
    window: Window
    offset: Float
    highest: float
    unit: float

    @property
    def told(self) -> str:
        """What 1 stands for: the largest density or, where that is narrower than pixels, the largest mean over one."""
        if self.unit == self.highest:
            return f"max {self.highest:.3g}"
        return f"max {self.highest:.2g}, of pixels {self.unit:.2g}"

    @classmethod
    def of(cls, grid: GridDensity, window: Window) -> Picture:
        low, high = window
        pixels = pixels_on_plane(grid, low, high, _PIXELS).T
        middle, half = 0.5 * (low + high), float(0.5 * (high - low).max())
        offset = np.array([_rounded(place, half) for place in middle])
        largest = max(float(panel.values.max()) for panel in grid.panels)
        if len(grid.panels) > 1:  # where they lie over each other there is more than in any of them
            largest = max(largest, float(pixels.max()))
        unit = largest if pixels.max() > _MIN_RESOLVED_PEAK * largest else float(pixels.max())
        return cls(pixels / (unit or 1.0), window, offset, largest, unit)

    def draw(self, axes: Axes, scale: DensityScale) -> AxesImage:
        """With equal scales on both axes."""
        (left, bottom), (right, top) = (end - self.offset for end in self.window)
        extent = (float(left), float(right), float(bottom), float(top))
        image = axes.imshow(self.density, cmap=MAP, norm=scale.norm(), origin="lower", extent=extent)
        image.set_interpolation("nearest")
        x, y = (_from(name, at) for name, at in zip("xy", self.offset, strict=True))
        axes.set_xlabel(x, loc="left" if self.offset[0] else "center")  # the power of ten stands at the right
        axes.set(ylabel=y, aspect="equal")
        axes.locator_params(nbins=5)
        axes.ticklabel_format(useMathText=True, scilimits=(-3, 4), useOffset=False)
        return image


def _from(name: str, offset: float) -> str:
    return f"{name} {'−' if offset > 0 else '+'} {abs(offset):.12g}" if offset else name


def _rounded(place: float, half: float) -> float:
    """A short number near a place that is far from 0 for a window so wide."""
    return 0.0 if abs(place) <= _MIN_OFFSET_RATIO * half else float(np.round(place, 1 - int(np.floor(np.log10(half)))))


def common_scale(densities: list[Float]) -> DensityScale:
    """For relative densities: linear unless some picture would be nearly empty then."""
    filled = min(float(density.mean()) for density in densities)
    scale = DensityScale.of(np.array([0.0, 1.0]), usual=min(_FULL_WINDOW_PERCENT * filled, 0.5), units="")
    return replace(scale, exponent=max(scale.exponent, _LEAST_EXPONENT))


def add_bar(figure: Figure, axes: list[Axes], image: AxesImage, scale: DensityScale) -> None:
    """The colours beside the pictures."""
    ticks = None if scale.linear else scale.ticks()
    bar = figure.colorbar(image, ax=axes, shrink=0.6, aspect=30, pad=0.02, ticks=ticks)
    bar.ax.minorticks_off()
    bar.set_label("density / max" if scale.linear else f"density / max (power scale, exponent {scale.exponent:.2g})")
