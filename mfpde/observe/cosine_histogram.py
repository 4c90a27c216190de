"""How the cosines between tokens are distributed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.contracts.observable import Instant, Series
from mfpde.geometry import Geometry
from mfpde.observe.of_tokens import OfTokens, unit_vectors
from mfpde.registry import register
from mfpde.typing import Float, Integers

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["CosineHistogram"]

#: tokens whose pairs are all counted, and pairs that are at a time
_MAX_TOKENS, _BLOCK = 10_000, 2**22


@register("observable", "cosine-histogram")
class CosineHistogram(OfTokens):
    """Share of pairs i != j with `cos(x_i, x_j)` in each of `bins` equal intervals of [-1, 1], pairs weighed by
    `w_i w_j`.

    A token at 0 has no direction and does not count.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle())
    >>> three = mfpde.Particles([0.0, 0.1, 3.1], geometry=mfpde.Circle())
    >>> values = CosineHistogram(bins=2).evaluate(Instant(0.0, three, equation, lambda: 0.0))
    >>> values["cosine-histogram"].round(6)
    array([0.666667, 0.333333])
    """

    kind: Literal["cosine-histogram"] = "cosine-histogram"
    citations: ClassVar[tuple[str, ...]] = ("rigollet2025",)
    bins: int = Field(default=100, ge=1, le=10_000, description="intervals of [-1, 1]")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        what, extent = "shares of pairs of tokens by their cosine, -1 first", (("bin", self.bins),)
        label = "cosines between tokens"
        return {"cosine-histogram": Series(what, extent=extent, label=label, listed=True, bins=(-1.0, 1.0))}

    def most_tokens(self, equation: Equation) -> int | None:
        return _MAX_TOKENS

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        units, weights = unit_vectors(instant)
        count, shares = len(weights), np.zeros(self.bins)
        equal = count > 0 and np.ptp(weights) == 0
        rows = max(1, _BLOCK // max(count, 1))
        for start in range(0, count, rows):
            block, later = slice(start, start + rows), slice(start + rows, None)
            own = self._places(units[block] @ units[block].T)
            upper = np.triu_indices(len(own), 1)
            shares += np.bincount(own[upper], np.outer(weights[block], weights[block])[upper], self.bins)
            others = self._places(units[block] @ units[later].T).ravel()
            pairs = None if equal else np.outer(weights[block], weights[later]).ravel()
            shares += (float(weights[0] ** 2) if equal else 1.0) * np.bincount(others, pairs, self.bins)
        total = shares.sum()
        return {"cosine-histogram": shares / total if total > 0 else np.full(self.bins, np.nan)}

    def _places(self, cosines: Float) -> Integers:
        """Numbers of the intervals."""
        cosines += 1
        cosines *= 0.5 * self.bins
        return np.clip(cosines.astype(np.int64), 0, self.bins - 1)
