"""The Wasserstein distance W_1."""

from __future__ import annotations

from typing import Literal

from mfpde.distances.base import Distance
from mfpde.distances.transport import wasserstein
from mfpde.measure import Measure
from mfpde.registry import register

__all__ = ["Wasserstein1"]


@register("distance", "wasserstein-1")
class Wasserstein1(Distance):
    """`W_1 = inf int |x - y| dpi`: exact on the line, the circle (arc length, by a median of F - G [cabrelli1995]) and
    between points. Fails: densities elsewhere."""

    kind: Literal["wasserstein-1"] = "wasserstein-1"

    def between(self, measure: Measure, reference: Measure) -> float:
        return wasserstein(measure, reference, 1.0)
