"""The distance of densities in L^1."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.distances.base import Distance
from mfpde.distances.side_by_side import side_by_side
from mfpde.measure import Measure
from mfpde.registry import register

__all__ = ["L1"]


@register("distance", "l1")
class L1(Distance):
    """`int |rho - sigma|`: cell averages against cell averages on a grid, and all of sigma outside of it."""

    kind: Literal["l1"] = "l1"
    of_densities: ClassVar[bool] = True

    def between(self, measure: Measure, reference: Measure) -> float:
        inside = total = 0.0
        for share, volume, own, other in side_by_side(self.kind, measure, reference):
            inside += float((share * other).sum()) * volume
            total += float((share * np.abs(own - other)).sum()) * volume
        return total + max(1.0 - inside, 0.0)
