"""Order of axes: the second moments on spheres."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.contracts.observable import Instant, Observable, Series
from mfpde.geometry import Geometry
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["NematicOrder"]


@register("observable", "nematic-order")
class NematicOrder(Observable):
    """Eigenvalues `q_1 >= .. >= q_d` of `(d int x x^T dmu - 1) / (d - 1)`: series `nematic-order` (q_1: 0 for the
    uniform state, 1 where all tokens lie on one line) and `nematic-order-biaxiality` (`q_2 - q_d`, 0 about an axis that
    q_1 belongs to).

    >>> import mfpde
    >>> from mfpde.observe import Instant
    >>> equation = mfpde.Equation(geometry=mfpde.Sphere())
    >>> axis = mfpde.Particles([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], geometry=mfpde.Sphere())
    >>> values = NematicOrder().evaluate(Instant(0.0, axis, equation, lambda: 0.0))
    >>> {name: round(value, 12) for name, value in values.items()}
    {'nematic-order': 1.0, 'nematic-order-biaxiality': 0.0}
    """

    kind: Literal["nematic-order"] = "nematic-order"
    spaces: ClassVar[tuple[str, ...]] = ("sphere",)

    def series(self, geometry: Geometry) -> dict[str, Series]:
        return {
            "nematic-order": Series("nematic order", label="nematic order"),
            "nematic-order-biaxiality": Series("biaxiality", label="biaxiality"),
        }

    def evaluate(self, instant: Instant) -> dict[str, float | Float]:
        mean = instant.measure.mean
        moments = instant.measure.covariance + np.outer(mean, mean)
        found = (mean.size * np.linalg.eigvalsh(moments) - 1) / (mean.size - 1)
        return {"nematic-order": float(found[-1]), "nematic-order-biaxiality": float(found[-2] - found[0])}
