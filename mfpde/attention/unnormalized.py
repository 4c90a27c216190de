"""Unnormalized exponential attention."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.attention.exponential_convolution import Rotational
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Unnormalized"]


@register("attention", "unnormalized")
class Unnormalized(Rotational):
    """`G_mu(x) = int e^{<Ax,y>} V y dmu(y)`; on spheres with `beta` the survey's (USA), the gradient flow of an energy.

    `beta: 0` on the circle is noisy Kuramoto. *Symmetries:* permutations of the tokens; invertible maps x -> Tx, if A
    becomes `T^-T A T^-1` and V `T V T^-1`. *Good values:* beta 0 to 20; velocities grow like e^beta, so choose times
    like e^-beta. *Fails:* off spheres it can blow up in finite time, and `|A| L^2` beyond 700 overflows.

    >>> import mfpde, numpy as np
    >>> two = mfpde.Particles([0.0, np.pi / 2], geometry=mfpde.Circle())
    >>> mfpde.Unnormalized(beta=0).drift(two, [0.0])          # half of sin(pi / 2 - 0)
    array([0.5])
    """

    citations: ClassVar[tuple[str, ...]] = ("rigollet2025", "geshkovski2025")
    kind: Literal["unnormalized"] = "unnormalized"
    normalised: ClassVar[bool] = False

    def kernel(self, queries: Float, keys: Float, weights: Float) -> Float:
        return np.exp(self.scores(queries, keys))
