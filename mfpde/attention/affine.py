"""Drifts that keep Gaussians Gaussian."""

from __future__ import annotations

from dataclasses import dataclass

from mfpde.typing import Float

__all__ = ["AffineDrift"]


@dataclass(frozen=True, eq=False)
class AffineDrift:
    """`G(x) = c + B (x - mean)`: under it `N(mean, S)` stays Gaussian, with `m' = c` and `S' = B S + S B^T + 2/kappa I`
    (physics section 4)."""

    c: Float
    B: Float

    def __add__(self, other: AffineDrift) -> AffineDrift:
        return AffineDrift(self.c + other.c, self.B + other.B)
