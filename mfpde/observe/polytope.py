"""Vertices of the polytope that tokens span."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.contracts.observable import Instant, Series
from mfpde.geometry import Geometry
from mfpde.measure.linking import linked
from mfpde.observe.of_tokens import OfTokens
from mfpde.registry import register
from mfpde.specification import Real
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Polytope"]

#: dimensions in which hulls are computed: the number of their faces grows like n^(d/2)
_MOST_DIMENSIONS = 6
#: of the size of the cloud: directions in which it is thinner do not count
_THICKNESS_FLOOR = 1e-12


@register("observable", "polytope")
class Polytope(OfTokens):
    """Vertices of the convex hull of the tokens, those within `tolerance` of each other (in units of the largest
    standard deviation of the cloud) counted once: `polytope`; and the share of the tokens that are that near to a
    vertex: `polytope-share`.

    Under V = I, A > 0 rescaled tokens `e^{-t} x` tend to the vertices of a polytope (physics section 7); it has as many
    as the hull of the tokens themselves. Up to six dimensions. Fails: circle and spheres, where all tokens are
    vertices.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Plane())
    >>> tokens = mfpde.Particles([[0.0, 0.0], [2.0, 0.0], [2.0, 1e-6], [0.0, 2.0], [0.5, 0.5]])
    >>> Polytope().evaluate(Instant(0.0, tokens, equation, lambda: 0.0))
    {'polytope': 3.0, 'polytope-share': 0.8}
    """

    kind: Literal["polytope"] = "polytope"
    citations: ClassVar[tuple[str, ...]] = ("geshkovski2023",)
    spaces: ClassVar[tuple[str, ...]] = ("line", "plane", "space")
    tolerance: Real = Field(default=1e-2, gt=0, description="distance within which vertices are one")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {
            "polytope": Series("vertices of the hull of the tokens", label="vertices of the polytope", scale="count"),
            "polytope-share": Series("share of tokens at its vertices", label="tokens at vertices", scale="share"),
        }

    def unfit(self, equation: Equation) -> str | None:
        misplaced = super().unfit(equation)
        if misplaced is None and equation.geometry.ambient_dimension > _MOST_DIMENSIONS:
            return f"hulls are computed in up to {_MOST_DIMENSIONS} dimensions"
        return misplaced

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        from scipy.spatial import KDTree

        vectors, weights = instant.measure.embedded_nodes()
        placed = _in_own_frame(vectors)
        corners = placed[_hull(placed)]
        labels = linked(corners, self.tolerance)
        near = np.isfinite(KDTree(corners).query(placed, distance_upper_bound=self.tolerance)[0])
        share = float(min(weights[near].sum(), 1.0))
        return {"polytope": float(labels.max() + 1), "polytope-share": share}


def _in_own_frame(vectors: Float) -> Float:
    """In units of the largest standard deviation, in the directions in which the cloud is not flat; one at least."""
    away = vectors - vectors.mean(axis=0)
    spreads, axes = np.linalg.eigh(away.T @ away / len(away))
    size = np.sqrt(max(float(spreads[-1]), 0.0))
    if size == 0:
        return np.zeros((len(vectors), 1))
    placed = away @ axes / size
    thick = np.abs(placed).max(axis=0) > _THICKNESS_FLOOR
    thick[-1] = True
    return np.asarray(placed[:, thick])


def _hull(placed: Float) -> Float:
    """Numbers of the vertices."""
    if placed.shape[1] == 1:
        return np.unique([placed[:, 0].argmin(), placed[:, 0].argmax()])
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(ConvexHull(placed).vertices)
    except QhullError:  # flatter than Qhull can tell from rounding
        return np.asarray(ConvexHull(placed, qhull_options="QJ").vertices)
