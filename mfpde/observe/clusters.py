"""How many clusters there are, where, how heavy and how wide."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.geometry import Geometry
from mfpde.measure import GridDensity, Measure
from mfpde.observe.base import Instant, Observable, Series
from mfpde.observe.basins import clusters_on_grid
from mfpde.observe.flat import concrete, is_circle
from mfpde.observe.minimum import turning_point
from mfpde.observe.trapezoid import CircleGrid, as_density
from mfpde.registry import register
from mfpde.specification import Real
from mfpde.typing import Float

__all__ = ["Clusters"]


@register("observable", "clusters")
class Clusters(Observable):
    """A cluster is a local maximum of the density that stands out, with the basin around it.

    On the circle it stands out when the density falls from it, on both sides, by at least `prominence` uniform
    densities 1/(2 pi) before it rises above it again: ripples on a cluster do not split it, and a nearly uniform state
    has no cluster. On line and plane, when the density falls below `dip` times its height before it rises above it
    again; basins with less mass than `least` are not counted.

    Series: `clusters` (their number) and, for the `most` heaviest in the order of their angles (of their first
    coordinates), NaN beyond them: `clusters-position` (angle of `z = int e^{i theta} dmu` over the basin, or its mean),
    `clusters-mass` (m), `clusters-width` (circular standard deviation `sqrt(-2 log(|z|/m))`, or `sqrt(tr S / d)`).

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle())
    >>> heavy = mfpde.VonMises(direction=1, concentration=100, weight=3)
    >>> two = mfpde.Mixture(components=[heavy, mfpde.VonMises(direction=4, concentration=100)])
    >>> values = Clusters(most=3).evaluate(Instant(0.0, two, equation, lambda: 0.0))
    >>> values["clusters"], values["clusters-position"].round(6), values["clusters-mass"].round(6)
    (2.0, array([ 1.,  4., nan]), array([0.75, 0.25,  nan]))
    """

    kind: Literal["clusters"] = "clusters"
    citations: ClassVar[tuple[str, ...]] = ("geshkovski2024",)
    most: int = Field(default=16, ge=1, le=1000, description="how many of them to describe")
    spaces: ClassVar[tuple[str, ...]] = ("circle", "line", "plane")
    looks_at: ClassVar[tuple[str, ...]] = ("density",)
    prominence: Real = Field(default=0.5, gt=0, description="circle: least height, in uniform densities 1/(2 pi)")
    dip: Real = Field(default=0.5, gt=0, lt=1, description="line, plane: largest share of a peak left between two")
    least: Real = Field(default=1e-3, ge=0, lt=1, description="line, plane: least mass of a cluster")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        extent = (("cluster", self.most),)
        round_, plane = is_circle(geometry), geometry.ambient_dimension == 2
        places = (*extent, ("component", 2)) if plane and not round_ else extent
        what = "circular standard deviations" if round_ else "standard deviations"
        units = "radian" if round_ else "1"
        return {
            "clusters": Series("number of clusters", label="number of clusters", scale="count"),
            "clusters-position": Series(
                "angles of the clusters" if round_ else "means of the clusters", units, places, listed=True
            ),
            "clusters-mass": Series("masses of the clusters", extent=extent, listed=True),
            "clusters-width": Series(f"{what} of the clusters", units, extent, listed=True),
        }

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        measure = concrete(instant.measure)
        if isinstance(measure, GridDensity):
            least = self.least * measure.mass
            basins = [basin for basin in clusters_on_grid(measure, self.dip) if basin.mass > least]
            found = [_Cluster(basin.mean, basin.mass, basin.width) for basin in basins]
        else:
            grid = CircleGrid(as_density(measure, "clusters"))
            cuts = _cuts(grid, self.prominence)
            found = [_moments(grid, start, end) for start, end in pairwise(cuts)]
        return {"clusters": float(len(found)), **self._table(found, measure)}

    def _table(self, found: list[_Cluster], measure: Measure) -> dict[str, float | Float]:
        """The heaviest in order of place, NaN beyond them."""
        heaviest = sorted(found, key=lambda each: -each.mass)[: self.most]
        kept = sorted(heaviest, key=lambda each: tuple(np.atleast_1d(each.position)))
        plane = not is_circle(measure.geometry) and measure.ambient_dimension == 2
        positions = np.full((self.most, 2 if plane else 1), np.nan)
        masses, widths = np.full((2, self.most), np.nan)
        for row, each in enumerate(kept):
            positions[row], masses[row], widths[row] = each.position, each.mass, each.width
        places = positions if plane else positions[:, 0]
        return {"clusters-position": places, "clusters-mass": masses, "clusters-width": widths}


@dataclass(frozen=True)
class _Cluster:
    position: float | Float
    mass: float
    width: float


def _cuts(grid: CircleGrid, prominence: float) -> list[float]:
    """Angles of the minima between clusters, rising, the first once more at the end; empty without a cluster."""
    count = grid.start
    ratio = 1 + grid.excess(count)
    first = int(ratio.argmin())
    turned = np.roll(ratio, -first)
    minima = _deep_minima(turned, prominence)
    if not minima:
        return []
    spacing = 2 * np.pi / count
    angles = [(first + index) * spacing for index in minima]
    if grid.smooth:
        angles = [turning_point(grid, angle, spacing) for angle in angles]
    return [*angles, angles[0] + 2 * np.pi]


def _deep_minima(values: Float, depth: float) -> list[int]:
    """Indices of the minima from which periodic values, the smallest first, rise by `depth` on both sides.

    One pass over the extrema with hysteresis: a peak counts once the values have fallen by `depth` below it, a valley
    once they have risen by `depth` above it.
    """
    rising = np.concatenate([np.diff(values), [values[0] - values[-1]]]) > 0
    extrema = np.flatnonzero(rising != np.roll(rising, 1))
    minima: list[int] = []
    lowest, highest = 0, -1
    climbing = False
    for index in [*(int(place) for place in extrema if place), 0]:
        value = values[index]
        if climbing and value > values[highest]:
            highest = index
        elif climbing and value <= values[highest] - depth:
            lowest, climbing = index, False
        elif not climbing and value < values[lowest]:
            lowest = index
        elif not climbing and value >= values[lowest] + depth:
            minima.append(lowest)
            highest, climbing = index, True
    return minima


def _moments(grid: CircleGrid, start: float, end: float) -> _Cluster:
    """Mass and first moment of the basin from start to end, the integrals of the Fourier series in closed form."""
    modes = grid.modes
    length, middle = end - start, 0.5 * (start + end)
    order = np.arange(-modes.size + 1, modes.size)
    both = np.concatenate([np.conj(modes[:0:-1]), modes])
    both[modes.size - 1] = 1.0

    def integral(shift: int) -> complex:
        waves = np.sinc((order + shift) * length / (2 * np.pi)) * np.exp(1j * (order + shift) * middle)
        return complex(both @ waves) * length / (2 * np.pi)

    mass, first = integral(0).real, integral(1)
    concentration = min(abs(first) / mass, 1.0)
    angle = float(np.angle(first)) % (2 * np.pi)
    return _Cluster(angle if angle < 2 * np.pi else 0.0, mass, float(np.sqrt(-2 * np.log(concentration))) + 0.0)
