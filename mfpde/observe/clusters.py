"""How many clusters there are, where, how heavy and how wide."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.measure import Measure
from mfpde.measure.basins import Cluster
from mfpde.measure.linking import MOST_LINKED, TREE_DIMENSIONS
from mfpde.registry import register
from mfpde.specification import Real
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Clusters"]


@register("observable", "clusters")
class Clusters(Observable):
    """A cluster is a local maximum of the density that stands out, with the basin around it; of tokens, those that are
    linked by a chain in which each is within `radius` of the next.

    On the circle and on spheres it stands out when the density falls from it, on all sides, by at least `prominence`
    uniform densities before it rises above it again: ripples on a cluster do not split it, and a nearly uniform state
    has no cluster; in more than three dimensions, where densities are about an axis, it is a pole or a ring, with its
    mean on the axis. On line and plane, when the density falls below `dip` times its height before it rises above it
    again; basins with less mass than `least` are not counted.

    Series: `clusters` (their number) and, for the `most` heaviest in the order of their angles (of their first
    coordinates), NaN beyond them: `clusters-position` (angle of `z = int e^{i theta} dmu` over the basin, or its mean),
    `clusters-mass` (m), `clusters-width` (circular standard deviation `sqrt(-2 log(|z|/m))`, or `sqrt(tr S / d)`). Of
    tokens all clusters count, single tokens, too, and the space may be any; distances are those in R^d. Beyond eight
    dimensions for up to 20,000 tokens.

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
    looks_at: ClassVar[tuple[str, ...]] = ("density", "particles")
    prominence: Real = Field(default=0.5, gt=0, description="circle, sphere: least height, in uniform densities")
    dip: Real = Field(default=0.5, gt=0, lt=1, description="line, plane: largest share of a peak left between two")
    least: Real = Field(default=1e-3, ge=0, lt=1, description="line, plane, sphere: least mass of a cluster")

    radius: Real = Field(default=0.05, gt=0, description="tokens: distance to the next one of a cluster")

    def looked_at(self, equation: Equation) -> tuple[str, ...]:
        on_grids = equation.geometry.counts_as("circle", "line", "plane", "sphere")
        return self.looks_at if on_grids else ("particles",)

    def most_tokens(self, equation: Equation) -> int | None:
        return None if _components(equation.geometry) <= TREE_DIMENSIONS else MOST_LINKED

    def series(self, geometry: Geometry) -> dict[str, Series]:
        extent = (("cluster", self.most),)
        round_, components = geometry.angular, _components(geometry)
        places = extent if components == 1 else (*extent, ("component", components))
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
        found = instant.measure.clusters(self.prominence, self.dip, self.least, self.radius)
        return {"clusters": float(len(found)), **self._table(found, instant.measure)}

    def _table(self, found: list[Cluster], measure: Measure) -> dict[str, float | Float]:
        """The heaviest in order of place, NaN beyond them."""
        heaviest = sorted(found, key=lambda each: -each.mass)[: self.most]
        kept = sorted(heaviest, key=lambda each: tuple(np.atleast_1d(each.position)))
        components = _components(measure.space)
        positions = np.full((self.most, components), np.nan)
        masses, widths = np.full((2, self.most), np.nan)
        for row, each in enumerate(kept):
            positions[row], masses[row], widths[row] = each.position, each.mass, each.width
        places = positions[:, 0] if components == 1 else positions
        return {"clusters-position": places, "clusters-mass": masses, "clusters-width": widths}


def _components(geometry: Geometry) -> int:
    """Numbers that a place has."""
    return 1 if geometry.angular else geometry.ambient_dimension
