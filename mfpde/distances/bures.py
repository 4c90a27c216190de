"""The Bures distance."""

from __future__ import annotations

from typing import Literal

from mfpde.distances.base import Distance
from mfpde.distances.transport import bures
from mfpde.measure import Measure
from mfpde.registry import register

__all__ = ["Bures"]


@register("distance", "bures")
class Bures(Distance):
    """`(|m - m'|^2 + tr(S + S' - 2 (S^{1/2} S' S^{1/2})^{1/2}))^{1/2}` of means and covariances alone (in ambient
    coordinates on circle and sphere): W_2 of normal laws, and at most W_2 of any others [gelbrich1990]."""

    kind: Literal["bures"] = "bures"

    def between(self, measure: Measure, reference: Measure) -> float:
        return bures(measure.mean, measure.covariance, reference.mean, reference.covariance)
