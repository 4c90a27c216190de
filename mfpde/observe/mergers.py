"""How many mergers there have been."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Series
from mfpde.geometry import Geometry
from mfpde.observe.of_tokens import OfTokens
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["MergerCount"]


@register("observable", "mergers")
class MergerCount(OfTokens):
    """Tokens less the number of their different places: how many have been merged into others so far (`solver.merge`).
    Who merged with whom, and when, is `run.mergers`.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Line())
    >>> MergerCount().evaluate(Instant(0.0, mfpde.Particles([0.0, 3.0, 0.0]), equation, lambda: 0.0))
    {'mergers': 1.0}
    """

    kind: Literal["mergers"] = "mergers"
    citations: ClassVar[tuple[str, ...]] = ("geshkovski2024",)

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {"mergers": Series("number of mergers so far", label="mergers", scale="count")}

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        points = instant.measure.nodes()[0]
        return {"mergers": float(len(points) - len(np.unique(points, axis=0)))}
