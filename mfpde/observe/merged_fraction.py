"""How many copies have merged to a single cluster."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.contracts.observable import Instant, Series
from mfpde.geometry import Geometry
from mfpde.observe.of_tokens import OfTokens
from mfpde.registry import register
from mfpde.specification import Real
from mfpde.typing import Float, Truths

__all__ = ["MergedFraction"]


@register("observable", "merged-fraction")
class MergedFraction(OfTokens):
    """The fraction of independent copies in which all tokens have merged to one cluster: no two of them are farther
    apart than `radius`, in R^d. A phase diagram of clustering has it at one time for each beta. *In the literature*
    inner products above `1 - radius^2/2`, there 0.999.

    Of a single system 0 or 1.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle())
    >>> tokens = mfpde.Particles([1.0, 1.01, 1.03], geometry=mfpde.Circle())
    >>> MergedFraction().evaluate(Instant(0.0, tokens, equation, lambda: 0.0))
    {'merged-fraction': 1.0}
    """

    kind: Literal["merged-fraction"] = "merged-fraction"
    of_run: ClassVar[bool] = True
    citations: ClassVar[tuple[str, ...]] = ("geshkovski2025",)
    radius: Real = Field(default=0.05, gt=0, description="largest distance between two tokens of one cluster")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        said = "fraction of copies whose tokens have merged to one cluster"
        return {"merged-fraction": Series(said, label="merged copies", scale="share", leads=True)}

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        vectors = instant.measure.embedded_nodes()[0]
        systems = vectors.reshape(len(instant.copies), -1, vectors.shape[1])
        return {"merged-fraction": float(np.mean(_within(systems, self.radius)))}


def _within(systems: Float, radius: float) -> Truths:
    """Whether all points of each system `(copies, n, d)` are that near to each other: sure where all are within half of
    it, or one is beyond it, of the first."""
    away = systems - systems[:, :1]
    farthest = np.sqrt(np.einsum("mnd,mnd->mn", away, away).max(axis=1))
    found: Truths = farthest <= radius / 2
    for copy in np.flatnonzero(~found & (farthest <= radius)):
        points = away[copy]
        squares = np.einsum("nd,nd->n", points, points)
        found[copy] = (squares[:, None] + squares - 2 * points @ points.T).max() <= radius**2
    return found
