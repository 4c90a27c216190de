"""How spread out attention is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from mfpde.attention.head import Head
from mfpde.contracts.observable import Instant, Series
from mfpde.geometry import Geometry
from mfpde.measure import Measure
from mfpde.observe.of_tokens import MOST_OF_MATRIX, OfAttention, seen_tokens
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.attention.base import Term
    from mfpde.equation import Equation

__all__ = ["AttentionEntropy"]


@register("observable", "attention-entropy")
class AttentionEntropy(OfAttention):
    """`-sum_i w_i sum_j P_ij log P_ij`, P the attention matrix, of several heads the mean: 0 when every token looks at
    a single one, `log n` when it looks at all alike.

    Under softmax and unnormalized attention, for tokens of equal weights, `log n + log M(Ax) - <Ax, grad log M(Ax)>`
    by the fast sums: any number of tokens. Otherwise up to 4,096.

    >>> import math
    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Line(), attention=mfpde.Softmax(A=0))
    >>> values = AttentionEntropy().evaluate(Instant(0.0, mfpde.Particles([1.0, 2.0, 5.0]), equation, lambda: 0.0))
    >>> round(values["attention-entropy"] - math.log(3), 12)
    0.0
    """

    kind: Literal["attention-entropy"] = "attention-entropy"
    citations: ClassVar[tuple[str, ...]] = ("zhai2023",)

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {
            "attention-entropy": Series("mean entropy of rows of the attention matrix", label="entropy of attention")
        }

    def most_tokens(self, equation: Equation) -> int | None:
        terms = () if equation.attention is None else equation.attention.terms(equation.geometry.ambient_dimension)
        weighted = getattr(equation.initial, "weights", None) is not None
        return None if terms and not weighted and all(map(_by_sums, terms)) else MOST_OF_MATRIX

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        measure, equation = seen_tokens(instant), instant.equation
        weights = measure.nodes()[1]
        if np.ptp(weights) == 0 and equation.attention is not None and self.unfit(equation) is None:
            terms = equation.attention.terms(measure.ambient_dimension)
            if all(map(_by_sums, terms)):
                return {"attention-entropy": float(np.mean([_of_sums(term.head, measure) for term in terms]))}
        return {"attention-entropy": float(np.mean([weights @ _of_rows(pairs) for pairs in self.matrices(instant)]))}


def _by_sums(term: Term) -> bool:
    """Whether scores are `<Ax, y>` alone, of all tokens."""
    return term.head.plain and not term.masked


def _of_rows(pairs: Float) -> Float:
    return -np.sum(pairs * np.log(np.where(pairs > 0, pairs, 1.0)), axis=1)


def _of_sums(head: Head, measure: Measure) -> float:
    query = head.query_matrix(measure.ambient_dimension)
    vectors, weights = measure.embedded_nodes()
    logs, means = measure.tilt(measure.space.queries(measure.nodes()[0]), query)
    scores = np.einsum("nd,dn->n", vectors @ query.T, means)
    return max(float(np.log(len(weights)) + weights @ (logs - scores)), 0.0)
