"""What pictures need of a run on the circle: few enough snapshots, closed and fine enough profiles, named series."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mfpde.errors import MfpdeError
from mfpde.geometry import Axis, Circle
from mfpde.plotting.scales import TimeScale
from mfpde.run import Run
from mfpde.typing import Float

__all__ = ["CircleRun", "is_angle", "is_order_parameter"]

#: angles from which on a curve, a map looks smooth
_CURVE, _MAP = 512, 256
#: a panel has about as many pixels: narrower cells would be lost between them
_MOST_ANGLES, _MOST_TIMES = 360, 800

_PHASE = "-phase"


class CircleRun:
    """A run whose snapshots are densities over theta."""

    def __init__(self, run: Run) -> None:
        if run.layout.dimensions != ("theta",) or "density" not in run.stored:
            held = f"{', '.join(run.stored)} over {', '.join(run.layout.dimensions) or 'no grid'}"
            raise MfpdeError(f"only densities over theta can be drawn so far; this run holds {held}")
        if len(run.times) == 0:
            raise MfpdeError("this run holds no snapshot: there is nothing to draw")
        self.run = run
        self.times = np.asarray(run.times, dtype=float)
        self.axis: Axis = run.layout.axes[0]
        self.scale = TimeScale.of(self.times)

    @cached_property
    def shown(self) -> list[int]:
        """Snapshots that fit on a time axis, none twice."""
        if self.times.size <= _MOST_TIMES:
            return list(range(self.times.size))
        return sorted(set(self.scale.nearest(self.times, _MOST_TIMES)))

    @cached_property
    def shown_density(self) -> Float:
        """Their densities."""
        return self.density(self.shown)

    def density(self, indices: list[int]) -> Float:
        """Densities of these snapshots (ascending) on the run's own grid."""
        chosen: slice | list[int] = slice(None) if len(indices) == self.times.size else indices
        return np.asarray(self.run.density[chosen], dtype=float)

    def cells(self, density: Float) -> tuple[Float, Float]:
        """Borders of angles, and the densities `(time, angle)` between them, for a map.

        Angles that no picture can tell apart are joined, the largest density being shown: a narrow cluster does not
        vanish between two pixels.
        """
        axis, density = self.smooth(density, _MAP)
        borders = np.append(axis.bounds[:, 0], axis.bounds[-1, 1])
        join = -(-density.shape[1] // _MOST_ANGLES)
        if join > 1:
            starts = np.arange(0, density.shape[1], join)
            density, borders = np.maximum.reduceat(density, starts, axis=1), np.append(borders[starts], borders[-1])
        # the first cell reaches below 0: what sticks out appears once more at the other end
        return np.append(borders, borders[1] + 2 * np.pi), np.column_stack([density, density[:, 0]])

    def profiles(self, density: Float) -> tuple[Float, Float]:
        """Angles from 0 to 2 pi and densities `(..., angle)`, the last equal to the first."""
        axis, smooth = self.smooth(density, _CURVE)
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

    def telling(self, count: int) -> list[int]:
        """Places in `shown` of at most `count` snapshots: first, last, equal amounts of change between."""
        finite = np.flatnonzero(np.isfinite(self.shown_density).all(axis=1))
        if finite.size <= 2:
            return [int(place) for place in finite]
        change = np.abs(np.diff(self.shown_density[finite], axis=0)).mean(axis=1)
        way = np.concatenate([[0.0], np.cumsum(change)])
        if way[-1] <= 1e-9 * np.abs(self.shown_density[finite]).mean():
            return [int(finite[0]), int(finite[-1])]
        marks = np.linspace(0, way[-1], count)
        chosen = {int(np.argmin(np.abs(way - mark))) for mark in marks} | {0, finite.size - 1}
        return [int(finite[place]) for place in sorted(chosen)]

    def mean_vectors(self, density: Float) -> Float:
        """`int (cos theta, sin theta) dmu` of densities `(time, theta)`, `(time, 2)`."""
        waves = np.stack([np.cos(self.axis.values), np.sin(self.axis.values)], axis=1)
        return np.asarray((density * self.run.weight) @ waves)

    @cached_property
    def scalars(self) -> dict[str, Float]:
        """Observed series of one number per time, order parameters first, angles last."""
        one_each = (len(self.run.series_times),)
        names = [name for name, values in self.run.series.items() if np.shape(values) == one_each and one_each != (0,)]
        return {name: np.asarray(self.run.series[name], dtype=float) for name in sorted(names, key=_rank)}

    def resting(self, name: str) -> bool:
        """Whether this is the phase of an order parameter, which nobody asked for by name, and it does not turn."""
        order = self.scalars.get(name.removesuffix(_PHASE))
        if not name.endswith(_PHASE) or name not in self.scalars or order is None:
            return False
        angles = self.scalars[name][order > 1e-3]  # below that the phase of rounding errors
        return angles.size == 0 or float(np.ptp(np.unwrap(angles))) < 0.1


def _rank(name: str) -> int:
    return 0 if is_order_parameter(name) else 1 if name == "free-energy" else 3 if is_angle(name) else 2


def is_angle(name: str) -> bool:
    """A direction on the circle."""
    return name.endswith(_PHASE) or name == "mean-direction"


def is_order_parameter(name: str) -> bool:
    """The modulus of a mode, between 0 and 1."""
    return name.startswith("order-parameter") and not is_angle(name)
