"""The Wasserstein distance W_infinity."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from mfpde.distances.base import Distance
from mfpde.distances.transport import wasserstein
from mfpde.measure import Measure
from mfpde.registry import register

__all__ = ["WassersteinInfinity"]


@register("distance", "wasserstein-infinity")
class WassersteinInfinity(Distance):
    """The least, over all couplings, of the longest way: exact on the line and the circle (arc length). Mass below
    1e-14, and densities below a millionth of their maximum, are not looked at: where there are some, six digits are
    right. Fails: two measures with tails."""

    kind: Literal["wasserstein-infinity"] = "wasserstein-infinity"
    spaces: ClassVar[tuple[str, ...]] = ("line", "circle")

    def between(self, measure: Measure, reference: Measure) -> float:
        return wasserstein(measure, reference, math.inf)
