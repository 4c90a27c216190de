"""What a law multiplies the harmonics of each degree by: the interaction, ready for stationary states.

Stationary states solve `log mu = kappa phi(q) - log norm`, `q = sum_l h_l b_l p_l`, with `b_l = <p_l>` of mu. For
gradient laws phi is the identity and `h_l = w_l / N_l` (`g_l / beta` for unnormalised attention); softmax attention
has `h_l = g_l / (beta g_0)` and `phi(q) = log(1 + beta q) / beta`, its `softness` being beta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mfpde.attention import Interaction, Law, Softmax, Unnormalized
from mfpde.bifurcation.quadrature import harmonic_counts
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.measure.bessel import log_phi
from mfpde.typing import Float

__all__ = ["Multipliers", "degree_multipliers", "exponential_multipliers", "multipliers_of"]

_NEGLIGIBLE = 1e-18  # relative to the largest, for multipliers that are left out
_LARGEST = 700.0  # |beta| from which e^|beta| overflows


@dataclass(frozen=True, eq=False)
class Multipliers:
    """`h_l = scale * relative[l]`, the largest |relative| being 1; relative[0] = 0."""

    dimension: int
    relative: Float
    scale: float
    softness: float = 0.0

    @property
    def top(self) -> int:
        """The highest degree that is not negligible."""
        return self.relative.size - 1

    @property
    def values(self) -> Float:
        """h_0, h_1, ..."""
        return self.scale * self.relative

    def critical(self) -> Float:
        """`kappa_l = 1 / h_l` at which degree l of the uniform state loses its stability; inf where it never does."""
        with np.errstate(divide="ignore"):
            return np.where(self.relative > 0, 1 / (self.scale * self.relative), np.inf)

    def resized(self, top: int) -> Multipliers:
        """With zeros up to another highest degree."""
        relative = np.zeros(top + 1)
        kept = min(top, self.top) + 1
        relative[:kept] = self.relative[:kept]
        return Multipliers(self.dimension, relative, self.scale, self.softness)


def multipliers_of(law: Law | None, geometry: Geometry) -> Multipliers:
    """The multipliers of a law on a circle or a sphere; a `ProblemError` for a law that has none."""
    dimension = 2 if geometry.angular else geometry.ambient_dimension
    if not (geometry.angular or geometry.name.startswith("sphere")):
        raise ProblemError.at("geometry", f"stationary states are known on circle and sphere, not on {geometry.name}")
    if isinstance(law, Interaction):
        return degree_multipliers(np.array(law.coefficients), dimension)
    if isinstance(law, Unnormalized | Softmax):
        found = law.multiples() if law.constant else None
        if found is None:
            raise ProblemError.at("attention", "stationary states need A and V that are constant multiples of I")
        return exponential_multipliers(*found, dimension, law.normalised)
    raise ProblemError.at(
        "attention", "stationary states are known for unnormalized and softmax attention and even interactions"
    )


def degree_multipliers(coefficients: Sequence[float] | Float, dimension: int) -> Multipliers:
    """Of `W = sum_l w_l C_l(cosine)`, from w_1, w_2, ...: `h_l = w_l / N_l`."""
    listed = np.asarray(coefficients, dtype=float)
    values = np.concatenate([[0.0], listed]) / harmonic_counts(dimension, listed.size)
    return _scaled(dimension, values, 1.0, 0.0)


def exponential_multipliers(scale: float, factor: float, dimension: int, normalised: bool) -> Multipliers:
    """Of exponential attention, `A = scale I`, `V = factor I`: `g_l / g_0` is a product of ratios
    `r_l = I_{l+nu} / I_{l+nu-1}`, `1 / r_l = 2 (l + nu) / beta + r_{l+1}`."""
    if abs(scale) > _LARGEST and not normalised:
        raise ProblemError.at("attention", f"e^{abs(scale):g} overflows: |beta| must be at most {_LARGEST:g}")
    half = 0.5 * dimension - 1
    reach = int(20 + 12 * np.sqrt(abs(scale) + 1))
    by_beta = np.zeros(reach + 2)  # r_l / beta, finite at beta = 0
    for degree in range(reach, 0, -1):
        by_beta[degree] = 1 / (2 * (degree + half) + scale**2 * by_beta[degree + 1])
    ratios = scale * by_beta[2 : reach + 1]
    relative = np.concatenate([[0.0, 1.0], np.cumprod(ratios)])
    size = factor * by_beta[1]
    if not normalised:
        size *= float(np.exp(log_phi(half, np.array([abs(scale)]))[0] + abs(scale)))
    if factor == 0:
        raise ProblemError.at("attention.V", "is 0: tokens do not see each other, and only the uniform state is there")
    return _scaled(dimension, relative, size, scale / factor if normalised else 0.0)


def _scaled(dimension: int, values: Float, factor: float, softness: float) -> Multipliers:
    largest = np.abs(values).max()
    relative = np.sign(factor) * values / largest
    # degree l is felt through kappa h_l <p_l^2>: what is below roundoff relative to the largest is not felt
    kept = int(np.flatnonzero(np.abs(relative) > _NEGLIGIBLE)[-1])
    return Multipliers(dimension, relative[: kept + 1], abs(factor) * largest, softness)
