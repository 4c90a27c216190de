"""Rank of the cloud of tokens."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.contracts.observable import Instant, Series
from mfpde.geometry import Geometry
from mfpde.observe.attention_rank import effective_rank, exact_rank
from mfpde.observe.of_tokens import OfTokens
from mfpde.registry import register
from mfpde.specification import Real
from mfpde.typing import Float

__all__ = ["TokenRank"]

#: rows whose triangle is made at a time
_BLOCK = 2**16


@register("observable", "token-rank")
class TokenRank(OfTokens):
    """Rank of the matrix X of rows `sqrt(w_i) x_i`: singular values above `threshold` times the largest, and the
    effective rank `exp(-sum_k p_k log p_k)` of `p_k = s_k / sum s` (`token-rank-effective`) [roy2007].

    1 when all tokens lie on one line through 0. n d^2 operations.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Plane())
    >>> cross = mfpde.Particles([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> TokenRank().evaluate(Instant(0.0, cross, equation, lambda: 0.0))
    {'token-rank': 2.0, 'token-rank-effective': 2.0}
    """

    kind: Literal["token-rank"] = "token-rank"
    citations: ClassVar[tuple[str, ...]] = ("dong2021", "roy2007")
    threshold: Real = Field(default=1e-10, gt=0, lt=1, description="of the largest singular value")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {
            "token-rank": Series("rank of the tokens", label="rank of the tokens", scale="count"),
            "token-rank-effective": Series("their effective rank", label="effective rank of the tokens"),
        }

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        vectors, weights = instant.measure.embedded_nodes()
        triangle = np.zeros((0, vectors.shape[1]))
        for start in range(0, len(weights), _BLOCK):
            here = slice(start, start + _BLOCK)
            rows = np.sqrt(weights[here])[:, None] * vectors[here]
            triangle = np.asarray(np.linalg.qr(np.vstack([triangle, rows]), mode="r"))
        values = np.asarray(np.linalg.svd(triangle, compute_uv=False), dtype=float)
        found = exact_rank(values, self.threshold)
        return {"token-rank": found, "token-rank-effective": round(effective_rank(values), 12)}
