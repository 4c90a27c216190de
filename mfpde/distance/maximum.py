"""The distance of densities in the maximum norm."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mfpde.distance.base import Distance
from mfpde.measure import Measure
from mfpde.registry import register

__all__ = ["Maximum"]


@register("distance", "max")
class Maximum(Distance):
    """`max |rho - sigma| / max sigma`, over the cells of a grid."""

    of_densities: ClassVar[bool] = True

    def between(self, measure: Measure, reference: Measure) -> float:
        pieces = measure.beside(reference)
        worst = max(float(np.abs(own - other).max()) for _, _, own, other in pieces)
        return worst / max(float(other.max()) for *_, other in pieces)
