"""Tokens that others look at."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Series
from mfpde.geometry import Geometry
from mfpde.observe.of_tokens import OfAttention
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Leaders"]


@register("observable", "leaders")
class Leaders(OfAttention):
    """Tokens that hold the columns of the attention matrix P: those that are the largest entry of a row, each counted
    once. `leaders-share` is `sum_i w_i max_j P_ij`, 1 when every token looks at its leader alone.

    Of several heads the mean. On the line P tends to a matrix whose rows are those of at most two leaders and their
    mean [geshkovski2023].

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Line(), attention=mfpde.Softmax(A=5))
    >>> values = Leaders().evaluate(Instant(0.0, mfpde.Particles([-5.0, -1.0, 2.0, 4.0]), equation, lambda: 0.0))
    >>> values["leaders"], round(values["leaders-share"], 6)
    (2.0, 1.0)
    """

    kind: Literal["leaders"] = "leaders"
    citations: ClassVar[tuple[str, ...]] = ("geshkovski2023",)

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {
            "leaders": Series("tokens that hold a column of the attention matrix", label="leaders"),
            "leaders-share": Series("mean attention to the leader of each token", label="attention to leaders"),
        }

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        weights, matrices = instant.measure.nodes()[1], self.matrices(instant)
        return {
            "leaders": float(np.mean([np.unique(pairs.argmax(axis=1)).size for pairs in matrices])),
            "leaders-share": float(np.mean([weights @ pairs.max(axis=1) for pairs in matrices])),
        }
