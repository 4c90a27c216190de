"""Rank of the attention matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.contracts.observable import Instant, Series
from mfpde.geometry import Geometry
from mfpde.observe.of_tokens import OfAttention
from mfpde.registry import register
from mfpde.specification import Real
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["AttentionRank", "effective_rank", "exact_rank"]

#: tokens whose singular values are computed, n^3 operations
_MAX_TOKENS = 1024


@register("observable", "attention-rank")
class AttentionRank(OfAttention):
    """Rank of the attention matrix P, of several heads the mean: singular values above `threshold` times the largest,
    and the effective rank `exp(-sum_k p_k log p_k)` of `p_k = s_k / sum s` (`attention-rank-effective`) [roy2007].

    `attention-rank-third` is `s_3 / s_1`, which falls doubly exponentially for tokens on the line [geshkovski2023].

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Line(), attention=mfpde.Softmax(A=50))
    >>> values = AttentionRank().evaluate(Instant(0.0, mfpde.Particles([-5.0, -1.0, 2.0, 4.0]), equation, lambda: 0.0))
    >>> values["attention-rank"], round(values["attention-rank-effective"], 6)
    (2.0, 2.0)
    """

    kind: Literal["attention-rank"] = "attention-rank"
    citations: ClassVar[tuple[str, ...]] = ("geshkovski2023", "roy2007")
    threshold: Real = Field(default=1e-10, gt=0, lt=1, description="of the largest singular value")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {
            "attention-rank": Series("rank of the attention matrix", label="rank of attention"),
            "attention-rank-effective": Series("its effective rank", label="effective rank of attention"),
            "attention-rank-third": Series(
                "its third singular value over its first", label="third singular value", scale="magnitude"
            ),
        }

    def most_tokens(self, equation: Equation) -> int | None:
        return _MAX_TOKENS

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        spectra = [np.asarray(np.linalg.svd(pairs, compute_uv=False), dtype=float) for pairs in self.matrices(instant)]
        return {
            "attention-rank": float(np.mean([exact_rank(values, self.threshold) for values in spectra])),
            "attention-rank-effective": float(np.mean([effective_rank(values) for values in spectra])),
            "attention-rank-third": float(
                np.mean([values[2] / values[0] if values.size > 2 else 0 for values in spectra])
            ),
        }


def exact_rank(values: Float, threshold: float) -> float:
    """Singular values, descending, above that share of the largest."""
    return float((values > threshold * values[0]).sum()) if values[0] > 0 else 0.0


def effective_rank(values: Float) -> float:
    """Exponential of the entropy of singular values as probabilities."""
    total = values.sum()
    if total <= 0:
        return 0.0
    shares = values[values > 0] / total
    return float(np.exp(-shares @ np.log(shares)))
