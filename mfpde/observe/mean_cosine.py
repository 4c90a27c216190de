"""Mean cosine between tokens."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Series
from mfpde.geometry import Geometry
from mfpde.observe.of_tokens import OfTokens, unit_vectors
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["MeanCosine"]


@register("observable", "mean-cosine")
class MeanCosine(OfTokens):
    """`sum_{i != j} w_i w_j cos(x_i, x_j) / sum_{i != j} w_i w_j`: 1 when all tokens point the same way. Its
    complement, `mean-cosine-gap`, keeps its digits when they nearly do.

    From the mean of the directions alone: any number of tokens. A token at 0 has no direction and does not count; a
    single one has NaN.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Circle())
    >>> three = mfpde.Particles([0.0, 2.0943951, 4.1887902], geometry=mfpde.Circle())
    >>> round(MeanCosine().evaluate(Instant(0.0, three, equation, lambda: 0.0))["mean-cosine"], 6)
    -0.5
    """

    kind: Literal["mean-cosine"] = "mean-cosine"
    citations: ClassVar[tuple[str, ...]] = ("geshkovski2025", "karagodin2025")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {
            "mean-cosine": Series("mean cosine between tokens", label="mean cosine"),
            "mean-cosine-gap": Series(
                "1 - mean cosine between tokens", label="1 - mean cosine", scale="magnitude", repeats="mean-cosine"
            ),
        }

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        units, weights = unit_vectors(instant)
        pairs = 1 - float(weights @ weights)
        if units.shape[0] < 2 or pairs <= 0:
            return {"mean-cosine": np.nan, "mean-cosine-gap": np.nan}
        # |x - y|^2 = 2 - 2 <x, y>, about the first token so that what all have in common does not cancel
        away = units - units[0]
        mean = weights @ away
        gap = float(weights @ np.einsum("nd,nd->n", away - mean, away - mean)) / pairs
        return {"mean-cosine": 1 - gap, "mean-cosine-gap": gap}
