"""The distance of means."""

from __future__ import annotations

from typing import Literal

import numpy as np

from mfpde.distances.base import Distance
from mfpde.measure import Measure
from mfpde.registry import register

__all__ = ["MeanDistance"]


@register("distance", "mean")
class MeanDistance(Distance):
    """`|m - m'| / (int |x|^2 dmu')^{1/2}`."""

    kind: Literal["mean"] = "mean"

    def between(self, measure: Measure, reference: Measure) -> float:
        size = np.sqrt(reference.mean @ reference.mean + np.trace(reference.covariance))
        return float(np.linalg.norm(measure.mean - reference.mean)) / float(size or 1.0)
