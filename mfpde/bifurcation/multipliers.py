"""What a law multiplies the harmonics of each degree by: the interaction, ready for stationary states.

Stationary states solve `log mu = kappa phi(q) - log norm`, `q = sum_l h_l b_l p_l`, with `b_l = <p_l>` of mu. For
gradient laws phi is the identity and `h_l = w_l / N_l` (`g_l / beta` for unnormalised attention); softmax attention
has `h_l = g_l / (beta g_0)` and `phi(q) = log(1 + beta q) / beta`, its `softness` being beta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.attention import Law
from mfpde.attention.convolution import Convolution
from mfpde.attention.exponential_convolution import exponential_convolution
from mfpde.bifurcation.quadrature import harmonic_counts
from mfpde.errors import ProblemError
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.typing import Float

__all__ = ["Multipliers", "degree_multipliers", "exponential_multipliers", "multipliers_of"]

_NEGLIGIBLE_MULTIPLIER = 1e-18  # relative to the largest, for multipliers that are left out


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

    def largest_from(self, degree: int) -> float:
        """The largest `relative` of that degree and higher ones, 0 where none is positive."""
        return float(self._largest[degree]) if degree <= self.top else 0.0

    @cached_property
    def _largest(self) -> Float:
        return np.maximum(np.maximum.accumulate(self.relative[::-1])[::-1], 0.0)

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
    if geometry.harmonics is None:
        raise ProblemError.at("geometry", f"stationary states are known on circle and sphere, not on {geometry.name}")
    found = None if law is None or not law.constant else law.convolution(geometry)
    if found is None:
        raise ProblemError.at(
            "attention",
            "stationary states are known for interactions, and for attention that is a convolution: unnormalized or "
            "softmax, A and V constant multiples of I",
        )
    return _of_convolution(found)


def _of_convolution(found: Convolution) -> Multipliers:
    if found.external is not None:
        raise ProblemError.at(
            "interaction.external",
            "stationary states are followed from the uniform one, which is none with a potential",
        )
    if found.sines is not None:
        raise ProblemError.at(
            "interaction", "has sines: what leaves the uniform state turns, and is followed by no stationary states"
        )
    values = np.concatenate([[0.0], found.potential[1:]])
    if not values.any():
        raise ProblemError.at("attention", "tokens do not move each other: only the uniform state is there")
    dimension = found.harmonics.dimension
    if found.normaliser is None:
        return _scaled(dimension, values, 0.0)
    level = found.normaliser[0]
    return _scaled(dimension, values / level, float(found.normaliser[1] / found.potential[1]))


def degree_multipliers(coefficients: Sequence[float] | Float, dimension: int) -> Multipliers:
    """Of `W = sum_l w_l C_l(cosine)`, from w_1, w_2, ...: `h_l = w_l / N_l`."""
    listed = np.asarray(coefficients, dtype=float)
    values = np.concatenate([[0.0], listed]) / harmonic_counts(dimension, listed.size)
    return _scaled(dimension, values, 0.0)


def exponential_multipliers(scale: float, factor: float, dimension: int, normalised: bool) -> Multipliers:
    """Of exponential attention with `A = scale I`, `V = factor I`; the scale may be negative."""
    harmonics = Circle().harmonics if dimension == 2 else Sphere(dimension=dimension).harmonics
    return _of_convolution(exponential_convolution(harmonics, scale, factor, normalised))


def _scaled(dimension: int, values: Float, softness: float) -> Multipliers:
    largest = np.abs(values).max()
    relative = values / largest
    # degree l is felt through kappa h_l <p_l^2>: what is below roundoff relative to the largest is not felt
    kept = int(np.flatnonzero(np.abs(relative) > _NEGLIGIBLE_MULTIPLIER)[-1])
    return Multipliers(dimension, relative[: kept + 1], largest, softness)
