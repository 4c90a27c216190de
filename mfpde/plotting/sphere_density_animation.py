"""Movies of densities on spheres: a turning globe on S^2, a profile in other dimensions, spectra beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.plotting.animation import Scene
from mfpde.plotting.run_plot import marginal
from mfpde.plotting.scales import DensityScale, angle_axis
from mfpde.plotting.sphere_density_run import draw_spectra
from mfpde.plotting.sphere_pixels import globe_graticule, globe_points, sampled, spectrum
from mfpde.plotting.sphere_run import disc
from mfpde.plotting.style import ALARM, CATEGORIES, LINE, MAP, REFERENCE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mfpde.plotting.sphere_density_run import ProfileRun, SphereDensityRun

__all__ = ["GlobeScene", "ProfileScene"]

_PIXELS = 260  # along the diameter of a disc
_TILT = float(np.radians(25))  # latitude from which the globe is seen
_FAINTEST = 1e-17  # of a spectrum


class GlobeScene(Scene):
    """The density on a globe that turns once, and its spectrum."""

    def __init__(self, shown: SphereDensityRun, snapshots: list[int]) -> None:
        self.shown = shown
        self.density = marginal(shown.run, sorted(set(snapshots)))
        self.spectra = [spectrum(density) for density in self.density]
        self.scale = DensityScale.of(np.append(self.density.ravel(), 0.0))
        super().__init__(shown, snapshots)

    def lay_out(self, figure: Figure) -> None:
        axes, beside = figure.subplots(1, 2, width_ratios=[1.2, 1])
        self.image = axes.imshow(
            self._globe(0), cmap=MAP, norm=self.scale.norm(), origin="lower", extent=(-1, 1, -1, 1)
        )
        self.moves(self.image)
        (self.lines,) = axes.plot(*globe_graticule(0.0, _TILT), color=REFERENCE, lw=0.5 * LINE)
        self.moves(self.lines)
        disc(axes)
        bar = figure.colorbar(self.image, ax=axes, shrink=0.7, pad=0.02)
        bar.set_label("probability density")
        self.clock = self.moves(axes.text(-1.2, 1.15, "", ha="left", va="top", size=13))
        draw_spectra(beside, [self.spectra[0]], ["beginning"])
        (self.curve,) = beside.plot([], [], ".-", color=ALARM, ms=3, lw=0.5 * LINE, label="now")
        beside.legend(frameon=False)
        self.moves(self.curve)

    def _turn(self, place: int) -> float:
        """The longitude that the globe is seen from."""
        return 2 * np.pi * place / len(self.density)

    def _globe(self, place: int) -> np.ndarray:
        return sampled(self.density[place], self.shown.colatitudes, globe_points(_PIXELS, self._turn(place), _TILT))

    def show(self, place: int) -> None:
        self.image.set_data(self._globe(place))
        self.lines.set_data(*globe_graticule(self._turn(place), _TILT))
        values = self.spectra[place]
        degree = np.flatnonzero(values > _FAINTEST)
        self.curve.set_data(degree, values[degree])


class ProfileScene(Scene):
    """The density over the colatitude, relative to the uniform one."""

    def __init__(self, shown: ProfileRun, snapshots: list[int]) -> None:
        self.shown = shown
        self.density = shown.relative[[shown.shown.index(snapshot) for snapshot in sorted(set(snapshots))]]
        super().__init__(shown, snapshots)

    def lay_out(self, figure: Figure) -> None:
        axes = figure.subplots()
        (self.curve,) = axes.plot(self.shown.colatitudes, self.density[0], color=CATEGORIES[0], lw=LINE)
        self.moves(self.curve)
        low, high = np.nanmin(self.density), np.nanmax(self.density)
        axes.set(ylim=(0.5 * low, 2 * high), yscale="log")
        axes.set(xlabel="colatitude", ylabel="density / uniform density")
        angle_axis(axes.xaxis)
        axes.set_xlim(0, np.pi)
        self.clock = self.moves(axes.text(0.97, 0.95, "", ha="right", va="top", size=13, transform=axes.transAxes))

    def show(self, place: int) -> None:
        self.curve.set_ydata(self.density[place])
