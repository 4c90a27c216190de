"""Distances between tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Series
from mfpde.geometry import Geometry
from mfpde.measure import Measure
from mfpde.observe.of_tokens import OfTokens
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["PairDistances"]

#: dimensions in which a tree finds neighbours, and tokens up to which all pairs are looked at beyond
_TREE, _MAX_TOKENS = 8, 20_000


@register("observable", "pair-distances")
class PairDistances(OfTokens):
    """The smallest distance between two tokens, `pair-distances-least`, and the root mean square over all pairs,
    `pair-distances` (`(sum_{i != j} w_i w_j |x_i - x_j|^2 / sum_{i != j} w_i w_j)^{1/2}`), in R^d.

    Any number of tokens in up to eight dimensions, 20,000 beyond. NaN for a single token.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Line())
    >>> tokens = mfpde.Particles([0.0, 3.0, 4.0])
    >>> PairDistances().evaluate(Instant(0.0, tokens, equation, lambda: 0.0))["pair-distances-least"]
    1.0
    """

    kind: Literal["pair-distances"] = "pair-distances"
    citations: ClassVar[tuple[str, ...]] = ("geshkovski2024",)

    def series(self, geometry: Geometry) -> dict[str, Series]:
        label = "distance between tokens"
        return {
            "pair-distances": Series("root mean square distance between tokens", label=label, scale="magnitude"),
            "pair-distances-least": Series(
                "smallest distance between two tokens", label="least distance", scale="magnitude"
            ),
        }

    def most_tokens(self, equation: Equation) -> int | None:
        return None if equation.geometry.ambient_dimension <= _TREE else _MAX_TOKENS

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        vectors, weights = instant.measure.embedded_nodes()
        pairs = 1 - float(weights @ weights)
        if len(weights) < 2 or pairs <= 0:
            return {"pair-distances": np.nan, "pair-distances-least": np.nan}
        away = vectors - vectors[0]
        away = away - weights @ away
        square = 2 * float(weights @ np.einsum("nd,nd->n", away, away)) / pairs
        return {"pair-distances": float(np.sqrt(square)), "pair-distances-least": _least(instant.measure, vectors)}


def _least(measure: Measure, vectors: Float) -> float:
    if measure.space.angular or vectors.shape[1] == 1:
        places = np.sort(measure.nodes()[0][:, 0])
        gap = float(np.diff(places).min())
        return gap if not measure.space.angular else 2 * float(np.sin(min(gap, places[0] + 2 * np.pi - places[-1]) / 2))
    if vectors.shape[1] <= _TREE:
        from scipy.spatial import KDTree

        if len(np.unique(vectors, axis=0)) < len(vectors):  # a tree cannot tell points that are the same
            return 0.0
        return float(np.asarray(KDTree(vectors).query(vectors, k=2)[0])[:, 1].min())
    least = np.inf
    for row in range(len(vectors) - 1):
        apart = vectors[row + 1 :] - vectors[row]
        least = min(least, float(np.einsum("nd,nd->n", apart, apart).min()))
    return float(np.sqrt(least))
