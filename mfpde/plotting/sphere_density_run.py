"""Densities on spheres: maps and halves of S^2, and how strong each degree is; in other dimensions profiles."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.geometry import Harmonics
from mfpde.geometry.gauss import gauss_on_sphere
from mfpde.plotting.annotations import telling, time_texts
from mfpde.plotting.run_plot import Portrait, marginal, side_by_side
from mfpde.plotting.scales import DensityScale, angle_axis
from mfpde.plotting.sphere_pixels import draw_graticule, draw_half_graticule, half_points, map_points, sampled, spectrum
from mfpde.plotting.sphere_run import disc
from mfpde.plotting.style import LINE, MAP, sequence
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec
    from matplotlib.image import AxesImage

    from mfpde.plotting.animation import Scene

__all__ = ["ProfileRun", "SphereDensityRun", "draw_spectra"]

_MAPS, _PIXELS = 3, 240  # snapshots that are shown, and the height of each
_PROFILES = 6  # snapshots: more hide each other
_FAINTEST = 1e-17  # of a spectrum, relative to the mean density
_HEADROOM = 3.0  # times the largest of a spectrum


class _DensityRun(Portrait):
    """What both have in common."""

    @property
    def density(self) -> Float:
        """Densities at the shown snapshots."""
        return marginal(self.run, slice(None))[self.shown]

    @property
    def colatitudes(self) -> Float:
        return self.run.layout.axes[0].values


@register("portrait", "sphere-density")
class SphereDensityRun(_DensityRun):
    """A run whose snapshots are densities over colatitude and longitude."""

    height: ClassVar[float] = 5.2
    forms: ClassVar[tuple[str, ...]] = ("sphere", "sphere-panels")

    def draw(self, figure: Figure, grid: GridSpec) -> list[Axes]:
        density, places = self.density, self.chosen
        texts, rows = time_texts(self.shown_times[places]), grid[0, :].subgridspec(2, 1, height_ratios=[1, 1.25])
        # each row has columns of its own: the bar of the lower one is not to part the maps of the upper one
        maps, halves = (rows[place].subgridspec(1, 3) for place in (0, 1))
        points, axes = map_points(_PIXELS), []
        for number, (place, text) in enumerate(zip(places, texts, strict=True)):
            axes.append(figure.add_subplot(maps[number]))
            values = sampled(density[place], self.colatitudes, points)
            draw_image(axes[-1], values, (-2 * np.sqrt(2), 2 * np.sqrt(2), -np.sqrt(2), np.sqrt(2)))
            draw_graticule(axes[-1])
            axes[-1].set_title(f"{text}, max {density[place].max():.3g}", size=8.5)
        last = density[places[-1]]
        for number, southern in enumerate((False, True)):
            axes.append(figure.add_subplot(halves[number]))
            half = sampled(last, self.colatitudes, half_points(_PIXELS, southern))
            image = draw_image(axes[-1], half, (-1, 1, -1, 1), float(last.max()))
            draw_half_graticule(axes[-1])
            disc(axes[-1])
            for angle, text in zip(np.arange(4) * np.pi / 2, ["0", "π/2", "π", "3π/2"], strict=True):
                axes[-1].text(1.12 * np.cos(angle), 1.12 * np.sin(angle), text, ha="center", va="center", size=8.5)
            name = "south, seen through the sphere" if southern else f"north at {texts[-1]}"
            axes[-1].text(0, -1.25, name, ha="center", va="top", size=8.5)
        bar = figure.colorbar(image, ax=axes[-2:], shrink=0.6, aspect=25, pad=0.02)
        bar.set_label("density" if getattr(image.norm, "gamma", 1.0) == 1.0 else "density, power scale")
        axes.append(figure.add_subplot(halves[2]))
        draw_spectra(axes[-1], [spectrum(density[place]) for place in places], texts)
        return axes

    def scene(self, snapshots: list[int]) -> Scene:
        from mfpde.plotting.sphere_density_animation import GlobeScene

        return GlobeScene(self, snapshots)

    @cached_property
    def chosen(self) -> list[int]:
        """Places in `shown` of the few snapshots that tell most."""
        places = telling(self.density, _MAPS)
        return places[:: max(1, len(places) - 1)] if len(places) < _MAPS else [places[0], places[1], places[-1]]


@register("portrait", "profile")
class ProfileRun(_DensityRun):
    """A run whose snapshots are densities over the colatitude about an axis, in more than three dimensions."""

    forms: ClassVar[tuple[str, ...]] = ("profile",)

    def draw(self, figure: Figure, grid: GridSpec) -> list[Axes]:
        axes, density = side_by_side(figure, grid), self.relative
        places = telling(density, _PROFILES)
        texts = time_texts(self.shown_times[places])
        for place, text, colour in zip(places, texts, sequence(len(places)), strict=True):
            axes[0].plot(self.colatitudes, density[place], color=colour, lw=LINE, label=text)
        axes[0].set(xlabel="colatitude", ylabel="density / uniform density", yscale="log")
        angle_axis(axes[0].xaxis)
        axes[0].set_xlim(0, np.pi)
        axes[0].legend(frameon=False)
        draw_spectra(axes[1], [self._spectrum(density[place]) for place in places], texts)
        return axes

    def scene(self, snapshots: list[int]) -> Scene:
        from mfpde.plotting.sphere_density_animation import ProfileScene

        return ProfileScene(self, snapshots)

    @property
    def dimension(self) -> int:
        """Of the space around the sphere."""
        return self.run.problem.geometry.ambient_dimension

    @property
    def relative(self) -> Float:
        """Densities relative to the uniform one, where they are known."""
        values = self.density * np.exp(Harmonics(self.dimension).log_area)
        floor = np.finfo(float).eps * values.max(axis=1, keepdims=True)
        return np.where(values > floor, values, np.nan)

    def _spectrum(self, relative: Float) -> Float:
        harmonics, count = Harmonics(self.dimension), relative.size
        cosines, weights = (each[::-1] for each in gauss_on_sphere(count, self.dimension))
        moments = harmonics.zonal(cosines, count - 1) @ (weights * np.nan_to_num(relative))
        with np.errstate(over="ignore", invalid="ignore"):
            return np.abs(moments) * np.sqrt(harmonics.multiplicities(count - 1))


def draw_image(axes: Axes, values: Float, extent: tuple[float, float, float, float], largest: float = 0.0) -> AxesImage:
    """A picture of a density, dark to light up to its largest value, or the largest elsewhere."""
    scale = DensityScale.of(np.append(values[np.isfinite(values)], [0.0, largest]))
    return axes.imshow(values, cmap=MAP, norm=scale.norm(), origin="lower", extent=extent)


def draw_spectra(axes: Axes, spectra: list[Float], texts: list[str]) -> None:
    """Sizes of degrees on a logarithmic axis."""
    for values, text, colour in zip(spectra, texts, sequence(len(spectra)), strict=True):
        degree = np.flatnonzero(values > _FAINTEST)
        axes.plot(degree, values[degree], ".-", ms=3, lw=0.5 * LINE, color=colour, label=text)
    top = max(float(np.nanmax(values)) for values in spectra)
    axes.set(xlabel="degree", ylabel="size of the degree", yscale="log", ylim=(_FAINTEST, _HEADROOM * top))
    axes.legend(frameon=False)
