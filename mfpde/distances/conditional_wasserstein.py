"""The Wasserstein distance slice by slice."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from mfpde.distances.base import Distance
from mfpde.distances.transport import wasserstein
from mfpde.errors import ProblemError
from mfpde.measure import Measure
from mfpde.registry import register
from mfpde.specification import Real

__all__ = ["ConditionalWasserstein"]

_SAME_POSITION = 1e-9  # of positions, and of the shares of the mass there


@register("distance", "conditional-wasserstein")
class ConditionalWasserstein(Distance):
    """`(sum_s m_s W_p(mu^s, nu^s)^p)^{1/p}` over the positions s of masked attention: tokens are coupled with those at
    their own position only [castin2025]. Fails: other positions, or other masses there."""

    kind: Literal["conditional-wasserstein"] = "conditional-wasserstein"
    p: Real = Field(default=2.0, ge=1, lt=float("inf"), description="power of the distance in the cost")

    def between(self, measure: Measure, reference: Measure) -> float:
        slices, others = measure.slices, reference.slices
        if slices[0][0] is None or others[0][0] is None:
            raise ProblemError.at(
                "measure",
                "the conditional-wasserstein distance needs positions, as tokens of masked attention have them",
            )
        ours, theirs = (np.array([(place, share) for place, share, _ in each]) for each in (slices, others))
        if ours.shape != theirs.shape or np.abs(ours - theirs).max() > _SAME_POSITION:
            raise ProblemError.at("measure", "has other positions than the other one, or another mass at some of them")
        apart = np.array(
            [wasserstein(one, other, self.p) for (*_, one), (*_, other) in zip(slices, others, strict=True)]
        )
        return float((ours[:, 1] @ apart**self.p) ** (1 / self.p))
