"""How fast everything moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.measure import GridDensity
from mfpde.typing import Float

__all__ = ["Fluxes", "Rates"]


@dataclass(frozen=True)
class Fluxes:
    """Through the faces, over the width of a cell: `d_t u = - differences`; `across (panels, rows + 1, columns)`,
    `along (panels, rows, columns + 1)`."""

    across: Float
    along: Float

    @property
    def leaving(self) -> Float:
        """What flows out of each cell, `(panels, rows, columns)`."""
        return np.asarray(np.diff(self.across, axis=1) + np.diff(self.along, axis=2))


@dataclass(frozen=True)
class Rates:
    """How fast everything moves, and what it follows from."""

    fluxes: Fluxes
    measure: GridDensity | None  # None where attention knows nothing to go on from
    mean: Float
    matrix: Float
    speeds: Float  # b, (panels, d, rows, columns)
    conductivities: Float  # K, (panels, d, d)
    outflow: float  # the largest share of a cell that first-order transport takes out per unit time
    spreading: float  # the same of diffusion

    @property
    def emptying(self) -> float:
        """Of both together."""
        return self.outflow + self.spreading
