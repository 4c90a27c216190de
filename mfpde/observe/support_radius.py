"""How far out tokens are."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.specification import Real
from mfpde.typing import Float

__all__ = ["SupportRadius"]


@register("observable", "support-radius")
class SupportRadius(Observable):
    """`min {R: mu(|x| > R) <= beyond}`, the radius about the origin of the ball that holds all mass but `beyond`.

    Without noise, softmax, l2 and sinkhorn attention let it grow at most like `exp(int |V| dt)` (physics section 9).
    Good values: 1e-3 to 1e-6 for densities, whose edges a grid smears over a few cells; 0 for particles. Known to half
    a cell, of characteristics to the outermost node. Fails: a Gaussian reaches everywhere.

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Plane())
    >>> two = mfpde.Particles([[3.0, 4.0], [0.0, 1.0]], geometry=mfpde.Plane())
    >>> SupportRadius().evaluate(Instant(0.0, two, equation, lambda: 0.0))
    {'support-radius': 5.0}
    """

    kind: Literal["support-radius"] = "support-radius"
    citations: ClassVar[tuple[str, ...]] = ("castin2025",)
    spaces: ClassVar[tuple[str, ...]] = ("line", "plane", "space")
    looks_at: ClassVar[tuple[str, ...]] = ("density", "particles", "characteristics")
    beyond: Real = Field(default=1e-6, ge=0, lt=1, description="mass that may lie farther out")

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {
            "support-radius": Series(f"radius that holds all mass but {self.beyond:g}", label="radius of the support")
        }

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        points, masses, _ = instant.measure.places()
        radii = np.linalg.norm(points, axis=1)
        order = np.argsort(radii)[::-1]
        farther = np.cumsum(masses[order])
        # the outermost point that takes the mass beyond it past what may lie there
        place = int(np.searchsorted(farther, self.beyond * farther[-1], side="right"))
        return {"support-radius": float(radii[order[min(place, radii.size - 1)]])}
