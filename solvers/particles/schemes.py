"""Normalisation schemes as laws of directions and norms (physics section 7): the NumPy form of what kernels do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.normalization import Normalization
from mfpde.typing import Float

__all__ = ["Gain", "norm_rate", "speed_factor"]


@dataclass(frozen=True)
class Gain:
    """What LayerNorm multiplies directions by, D = radius diag(gain): attention sees D theta."""

    factors: Float

    @classmethod
    def of(cls, scheme: Normalization | None, dimension: int) -> Gain | None:
        """None where directions are seen as they are."""
        if scheme is None:
            return None
        factors = scheme.factors(dimension)
        return None if (factors == 1).all() else cls(factors)

    def query(self, matrix: Float) -> Float:
        """`D A D`."""
        return self.factors[:, None] * matrix * self.factors

    def value(self, matrix: Float, scheme: Normalization) -> Float:
        """`V D`, and `D^{-1} V D` where the tokens themselves are D theta."""
        seen = matrix * self.factors
        return seen / self.factors[:, None] if scheme.kind == "post" else seen


def speed_factor(scheme: Normalization, time: float, norms: Float, sizes: Float) -> Float:
    """What divides the speed of directions, for norms of tokens and sizes of outputs."""
    if scheme.kind == "pre" or (scheme.kind == "mix" and time >= (scheme.switch or 0.0)):
        return norms
    if scheme.kind == "peri":
        return norms * sizes
    if scheme.kind == "ngpt":
        return sizes / (scheme.rate or 1.0)
    if scheme.kind == "sqrt":
        return norms * np.sqrt(time + 1)
    return np.ones_like(norms)


def norm_rate(scheme: Normalization, time: float, along: Float, sizes: Float) -> Float:
    """How fast norms grow, for the parts of outputs along directions, and their sizes."""
    if scheme.kind == "pre" or (scheme.kind == "mix" and time >= (scheme.switch or 0.0)):
        return along
    if scheme.kind == "peri":
        return along / sizes
    if scheme.kind == "sqrt":
        return along / np.sqrt(time + 1)
    return np.zeros_like(along)
