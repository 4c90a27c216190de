"""Initial data that have more modes than a run may use: what its snapshot at t = 0 shows of them."""

from __future__ import annotations

import math

import numpy as np

from mfpde.errors import ProblemError
from mfpde.measure import CircleDensity, Measure
from mfpde.typing import Complex

__all__ = ["smooth_from", "words_on_cut_data"]

#: angles at which densities are compared: sixteen for the shortest wave of the most modes a solver may use
_ANGLES = 2**17
#: mass that a density may lack at those angles; one that lacks more is so narrow that its peak lies between them
_SEEN = 1e-2
#: errors up to so many times the tolerance are promised
_PROMISED = 10


def smooth_from(modes: int, diffusion: float, tolerance: float) -> float:
    """The time from which on noise has damped all modes beyond those to the tolerance: `e^{-D k^2 t}`."""
    return -math.log(tolerance) / (diffusion * float(modes) ** 2)


def words_on_cut_data(measure: Measure, kept: Complex, diffusion: float, tolerance: float) -> str:
    """How far the sum of the modes that are kept is from the density at t = 0; nothing where that is promised anyway,
    or where there is no noise to do better later."""
    if diffusion == 0:
        return ""
    error = _error(measure, kept)
    if error <= _PROMISED * tolerance:
        return ""
    far = "there is no density of it" if error == np.inf else f"off by {100 * error:.2g} % of its peak"
    return (
        f"snapshot 0 shows the initial measure cut at {kept.size} modes, {far}; from "
        f"t = {smooth_from(kept.size, diffusion, tolerance):.2g} on the density is resolved"
    )


def _error(measure: Measure, kept: Complex) -> float:
    """`max|cut - density| / max density`, infinite for point masses, about 1 for what is narrower than all angles."""
    try:
        density = measure.series("the error of cut data").at_grid(_ANGLES)
    except ProblemError:  # point masses among others
        return np.inf
    if abs(density.mean() * 2 * np.pi - 1) > _SEEN:
        return 1.0
    cut = CircleDensity.of(kept).on_grid(_ANGLES)
    return float(np.abs(cut - density).max() / density.max())
