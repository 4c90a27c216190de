"""The distance of covariances."""

from __future__ import annotations

from typing import Literal

import numpy as np

from mfpde.distances.base import Distance
from mfpde.measure import Measure
from mfpde.registry import register

__all__ = ["CovarianceDistance"]


@register("distance", "covariance")
class CovarianceDistance(Distance):
    """`|S - S'| / |S'|` in the spectral norm."""

    kind: Literal["covariance"] = "covariance"

    def between(self, measure: Measure, reference: Measure) -> float:
        size = float(np.linalg.norm(reference.covariance, 2))
        return float(np.linalg.norm(measure.covariance - reference.covariance, 2)) / (size or 1.0)
