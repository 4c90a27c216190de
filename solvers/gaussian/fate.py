"""What becomes of a Gaussian: where its covariance tends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.solvers.gaussian.moments import Moments
from mfpde.typing import Float

__all__ = ["Limit", "limit"]

_MOVING = 0.1  # powers of time with which something goes to zero or to infinity; 1/sqrt(t) is the slowest that occurs
_AGE = 3.0  # times of the initial drift before which nobody can tell
_FLAT = 1e-13  # of the largest variance


@dataclass(frozen=True)
class Limit:
    """Where the covariance tends: `kind`, and the `dimension` of the space it keeps extending in.

    Kinds: "to zero", "to a line", "to a plane", "to a subspace", "at rest" (in all directions), "diverges", and "under
    way" where it is too early to tell.
    """

    kind: str
    dimension: int

    def __str__(self) -> str:
        if self.kind == "under way":
            return ""
        if self.kind == "to a subspace":
            return f"tends to a subspace of dimension {self.dimension}"
        return f"tends {self.kind}" if self.kind.startswith("to ") else self.kind


def limit(moments: Moments, time: float, state: Float) -> Limit:
    """Read from the powers `d log lambda / d log t` with which the eigenvalues lambda of S change at that time.

    A single Gaussian cannot tend to two lines or two points; mixtures can, which finite volumes follow.
    """
    covariance = moments.covariance(state)
    velocity, change = moments.speed(time, state)
    variances, axes = np.linalg.eigh(covariance)
    flat = variances <= _FLAT * variances[-1]
    powers = time * np.einsum("ij,ik,kj->j", axes, change, axes) / np.where(flat, 1.0, variances)
    away = state[: moments.dimension] @ velocity * time / max(float(np.sum(state[: moments.dimension] ** 2)), 1e-300)
    kept = int(np.sum(~flat & (powers > -_MOVING)))
    if time * moments.rate(0.0, moments.start) < _AGE:
        return Limit("under way", kept)
    if np.any(powers[~flat] > _MOVING) or away > _MOVING:
        return Limit("diverges", kept)
    if kept == moments.dimension:
        return Limit("at rest", kept)
    return Limit({0: "to zero", 1: "to a line", 2: "to a plane"}.get(kept, "to a subspace"), kept)
