"""Initial data that have more modes than a run may use: what its snapshot at t = 0 shows of them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.contracts import PROMISED, Accuracy
from mfpde.errors import ProblemError
from mfpde.geometry import Circle
from mfpde.measure import CircleDensity, Measure
from mfpde.solvers.amplification import Amplification
from mfpde.typing import Complex

__all__ = ["NOT_CUT", "Cut", "cut_of", "smooth_from"]

#: angles at which densities are compared: sixteen for the shortest wave of the most modes a solver may use
_ANGLES = 2**17
#: mass that a density may lack at those angles; one that lacks more is so narrow that its peak lies between them
_MAX_MASS_DEFECT = 1e-2


class Cut(NamedTuple):
    """What the initial measure has beyond the modes of a solver: whether there is anything, and by how much the sum of
    the modes that are kept is off at t = 0, relative to the peak; 0 where that is no more than is promised anyway."""

    hides_modes: bool
    error: float

    def message(self, modes: int, diffusion: float, tolerance: float) -> str:
        """What there is to say of it."""
        if self.error == 0:
            return ""
        far = "there is no density of it" if self.error == np.inf else f"off by {100 * self.error:.2g} % of its peak"
        return (
            f"snapshot 0 shows the initial measure cut at {modes} modes, {far}; from "
            f"t = {smooth_from(modes, diffusion, tolerance):.2g} on the density is resolved"
        )

    def accuracy(self, tolerance: float, amplification: Amplification) -> Accuracy:
        """Whether the promise of that tolerance is kept: by the data, and as far as rounding errors may have grown."""
        promised = PROMISED * tolerance
        if self.error > 0:
            return Accuracy(promised, self.error, kept=False, cause="modes")
        return amplification.judged(Accuracy(promised, kept=True))


NOT_CUT = Cut(hides_modes=False, error=0.0)


def smooth_from(modes: int, diffusion: float, tolerance: float) -> float:
    """The time from which on noise has damped all modes beyond those to the tolerance: `e^{-D k^2 t}`."""
    return -math.log(tolerance) / (diffusion * float(modes) ** 2)


def cut_of(measure: Measure, kept: Complex, diffusion: float, tolerance: float) -> Cut:
    """What is cut off the measure. Without noise nothing does better later, and modes that matter are refused."""
    bandwidth = getattr(measure, "bandwidth", None)
    if bandwidth is not None and bandwidth <= kept.size:
        return NOT_CUT
    error = _error(measure, kept) if diffusion > 0 else 0.0
    return Cut(True, error if error > PROMISED * tolerance else 0.0)


def _error(measure: Measure, kept: Complex) -> float:
    """`max|cut - density| / max density`, infinite for point masses, about 1 for what is narrower than all angles."""
    by_series = getattr(measure, "at_grid", None)
    try:
        density = by_series(_ANGLES) if by_series else measure.evaluate(Circle().layout(_ANGLES).axes[0].values)
    except ProblemError:  # point masses among others
        return np.inf
    if abs(density.mean() * 2 * np.pi - 1) > _MAX_MASS_DEFECT:
        return 1.0
    cut = CircleDensity.of(kept).on_grid(_ANGLES)
    return float(np.abs(cut - density).max() / density.max())
