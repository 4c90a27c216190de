"""What pictures need of a run on the circle: few enough snapshots, closed and fine enough profiles, named series."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.geometry import Axis, Circle
from mfpde.plotting.circle_axes import draw_map, draw_profiles
from mfpde.plotting.run_plot import Portrait, marginal, side_by_side
from mfpde.registry import register
from mfpde.run import Run
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

    from mfpde.plotting.animation import Scene

__all__ = ["CircleRun"]

#: for which a curve, a map looks smooth
_CURVE_ANGLES, _MAP_ANGLES = 512, 256
#: about the pixels of the axes: narrower cells would fall between them
_MAX_ANGLES = 360


@register("portrait", "circle")
class CircleRun(Portrait):
    """A run whose snapshots are densities over theta."""

    forms: ClassVar[tuple[str, ...]] = ("circle", "circle-panels")

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.axis: Axis = run.layout.axes[0]

    def draw(self, figure: Figure, grid: GridSpec) -> list[Axes]:
        axes = side_by_side(figure, grid)
        draw_map(axes[0], self)
        draw_profiles(axes[1], self)
        return axes

    def scene(self, snapshots: list[int]) -> Scene:
        from mfpde.plotting.circle_animation import CircleScene

        return CircleScene(self, snapshots)

    @cached_property
    def shown_density(self) -> Float:
        """Their densities."""
        return self.density(self.shown)

    def density(self, indices: list[int]) -> Float:
        """Densities of these snapshots (ascending) on the run's own grid."""
        chosen: slice | list[int] = slice(None) if len(indices) == self.times.size else indices
        return marginal(self.run, chosen)

    def cells(self, density: Float) -> tuple[Float, Float]:
        """Borders of angles, and the densities `(time, angle)` between them, for a map.

        Angles that no picture can tell apart are joined, the largest density being shown: a narrow cluster does not
        vanish between two pixels.
        """
        axis, density = self.smooth(density, _MAP_ANGLES)
        borders = np.append(axis.bounds[:, 0], axis.bounds[-1, 1])
        join = -(-density.shape[1] // _MAX_ANGLES)
        if join > 1:
            starts = np.arange(0, density.shape[1], join)
            density, borders = np.maximum.reduceat(density, starts, axis=1), np.append(borders[starts], borders[-1])
        # the first cell reaches below 0: what sticks out appears once more at the other end
        return np.append(borders, borders[1] + 2 * np.pi), np.column_stack([density, density[:, 0]])

    def profiles(self, density: Float) -> tuple[Float, Float]:
        """Angles from 0 to 2 pi and densities `(..., angle)`, the last equal to the first."""
        axis, smooth = self.smooth(density, _CURVE_ANGLES)
        closed = np.concatenate([smooth, smooth[..., :1]], axis=-1)
        return np.append(axis.values, axis.values[0] + 2 * np.pi), closed

    def smooth(self, density: Float, wanted: int) -> tuple[Axis, Float]:
        """Densities `(..., angle)` on at least so many angles: a coarse grid is refined by its own Fourier series."""
        count = self.axis.values.size
        if count < wanted and density.size and np.isfinite(density).all():
            fine = Circle().layout(count * -(-wanted // count))
            refined = self.run.layout.carry("density", density, fine)
            # a grid that does not resolve its density makes waves, which are not the solution's
            if refined.min() >= density.min() - 0.01 * density.max():
                return fine.axes[0], refined
        return self.axis, density

    def mean_vectors(self, density: Float) -> Float:
        """`int (cos theta, sin theta) dmu` of densities `(time, theta)`, `(time, 2)`."""
        waves = np.stack([np.cos(self.axis.values), np.sin(self.axis.values)], axis=1)
        return np.asarray((density * self.run.weight) @ waves)
