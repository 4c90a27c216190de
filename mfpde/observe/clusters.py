"""How many clusters there are, where, how heavy and how wide."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.measure import Measure
from mfpde.measure.basins import Cluster
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
        round_, plane = geometry.angular, geometry.ambient_dimension == 2
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
        found = instant.measure.clusters(self.prominence, self.dip, self.least)
        return {"clusters": float(len(found)), **self._table(found, instant.measure)}

    def _table(self, found: list[Cluster], measure: Measure) -> dict[str, float | Float]:
        """The heaviest in order of place, NaN beyond them."""
        heaviest = sorted(found, key=lambda each: -each.mass)[: self.most]
        kept = sorted(heaviest, key=lambda each: tuple(np.atleast_1d(each.position)))
        plane = not measure.space.angular and measure.ambient_dimension == 2
        positions = np.full((self.most, 2 if plane else 1), np.nan)
        masses, widths = np.full((2, self.most), np.nan)
        for row, each in enumerate(kept):
            positions[row], masses[row], widths[row] = each.position, each.mass, each.width
        places = positions if plane else positions[:, 0]
        return {"clusters-position": places, "clusters-mass": masses, "clusters-width": widths}
