"""The distance of densities in the maximum norm."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.distances.base import Distance
from mfpde.distances.side_by_side import side_by_side
from mfpde.measure import Measure
from mfpde.registry import register

__all__ = ["Maximum"]


@register("distance", "maximum")
class Maximum(Distance):
    """`max |rho - sigma| / max sigma`, over the cells of a grid."""

    kind: Literal["maximum"] = "maximum"
    of_densities: ClassVar[bool] = True

    def between(self, measure: Measure, reference: Measure) -> float:
        pieces = side_by_side(self.kind, measure, reference)
        worst = max(float(np.abs(own - other).max()) for _, _, own, other in pieces)
        return worst / max(float(other.max()) for *_, other in pieces)
