"""How a branch leaves the uniform state: `kappa / kappa_l = 1 + c_1 m_l + c_2 m_l^2 + ...`, from third cumulants and
fourth moments of the harmonic. On a degree-1 branch this is `c_2 = d/(d+2) [1 - (d-1) q/(1-q)]`, `q = g_2/g_1`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.bifurcation.multipliers import Multipliers
from mfpde.bifurcation.quadrature import harmonic_count, rule, size_for
from mfpde.typing import Float

__all__ = ["SUBCRITICAL", "SUPERCRITICAL", "TRANSCRITICAL", "NormalForm", "fitted_form", "normal_form"]

SUPERCRITICAL, SUBCRITICAL, TRANSCRITICAL = "supercritical", "subcritical", "transcritical"
_VANISHES = 1e-11  # of a coefficient that symmetry makes zero


@dataclass(frozen=True)
class NormalForm:
    """c_1 and c_2; c_2 is NaN where c_1 is not zero."""

    first: float
    second: float

    @property
    def type(self) -> str:
        """What the branch does for rising kappa."""
        if abs(self.first) > _VANISHES:
            return TRANSCRITICAL
        if abs(self.second) < _VANISHES:
            return ""
        return SUPERCRITICAL if self.second > 0 else SUBCRITICAL


def normal_form(multipliers: Multipliers, degree: int) -> NormalForm:
    """From the formula, for gradient laws and for softmax attention."""
    dimension = multipliers.dimension
    at = rule(dimension, size_for(4 * degree + 8))
    table = at.table(2 * degree)
    own = table[:, degree]
    triple = table.T @ (at.weights * own**2)
    fourth = float(at.weights @ own**4)
    levels = multipliers.resized(max(multipliers.top, 2 * degree)).relative[: 2 * degree + 1]
    level = levels[degree]
    # the second-order part of log(mu) is sigma (p_l^2) / 2 smaller for softmax attention: its logarithm is curved
    curved = multipliers.softness * multipliers.scale * level
    count = harmonic_count(dimension, degree)
    if abs(triple[degree]) > _VANISHES:
        first = -0.5 * float(triple[degree]) * (1 - curved) * float(np.sqrt(count))
        if abs(first) > _VANISHES:
            return NormalForm(first, float("nan"))
    share = np.delete(levels / level, [0, degree])
    with np.errstate(divide="ignore", invalid="ignore"):
        driven = 0.5 * (1 - curved) ** 2 * np.delete(triple, [0, degree]) ** 2 * share / (1 - share)
    driven = driven[np.delete(np.abs(triple), [0, degree]) > _VANISHES]
    cubic = (fourth - 3) / 6 - 0.5 * curved * (fourth - 1) + curved**2 * fourth / 3 + float(driven.sum())
    return NormalForm(0.0, -count * cubic)


def fitted_form(amplitude: Float, ratio: Float) -> NormalForm:
    """From points of a branch: amplitudes (with sign) and `kappa / kappa_l`."""
    odd = np.any(amplitude < 0)
    powers = np.arange(1, 8) if odd else np.arange(2, 13, 2)
    powers = powers[: amplitude.size]
    scaled = amplitude / np.abs(amplitude).max()
    coefficients = np.linalg.lstsq(scaled[:, None] ** powers, ratio - 1, rcond=None)[0]
    coefficients /= np.abs(amplitude).max() ** powers
    return (
        NormalForm(float(coefficients[0]), float(coefficients[1])) if odd else NormalForm(0.0, float(coefficients[0]))
    )
