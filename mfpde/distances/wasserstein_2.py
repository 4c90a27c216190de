"""The Wasserstein distance W_2."""

from __future__ import annotations

from typing import Literal

from mfpde.distances.base import Distance
from mfpde.distances.transport import wasserstein
from mfpde.measure import Measure
from mfpde.registry import register

__all__ = ["Wasserstein2"]


@register("distance", "wasserstein-2")
class Wasserstein2(Distance):
    """`W_2 = (inf int |x - y|^2 dpi)^{1/2}`: exact on the line, the circle (arc length, by the best shift [delon2010]),
    between normal laws and between points. Fails: other densities elsewhere."""

    kind: Literal["wasserstein-2"] = "wasserstein-2"

    def between(self, measure: Measure, reference: Measure) -> float:
        return wasserstein(measure, reference, 2.0)
