"""What becomes of a Gaussian: where its covariance goes, or when it blows up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.solvers.gaussian.moments import Moments
from mfpde.solvers.march import Attempt, March
from mfpde.typing import Float

__all__ = ["BlowUp", "Limit", "blow_up", "growth", "limit"]

_MOVING = 0.1  # powers of time with which something goes to zero or to infinity; 1/sqrt(t) is the slowest that occurs
_AGE = 3.0  # times of the initial drift before which nobody can tell
_FLAT = 1e-13  # of the largest variance
_FASTER = 1e9  # growth rates that only a pole has, in units of 1/t
_LOOSER = 16.0


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


@dataclass(frozen=True)
class BlowUp:
    """A pole of the covariance, and how far its time may be wrong."""

    time: float
    uncertainty: float


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


def growth(moments: Moments, time: float, state: Float) -> float:
    """`d/dt log tr S`."""
    change = float(np.trace(moments.speed(time, state)[1]))
    total = float(np.trace(moments.covariance(state)))
    return change / total if total > 0 else 0.0


def pole(moments: Moments, march: March) -> float | None:
    """The time at which `d/dt log tr S = p / (t* - t)` is infinite, once steps have become too short to go on; None
    when that is not why."""
    rates = [growth(moments, march.start_time, march.start), growth(moments, march.time, march.state)]
    if not rates[1] * march.time > _FASTER:
        return None
    power = (march.time - march.start_time) / (1 / rates[0] - 1 / rates[1])
    return march.time + min(max(power, 0.0), 10.0) / rates[1]


def blow_up(moments: Moments, march: March, looser: March, ratio: float) -> BlowUp | None:
    """The pole, and how far it may be wrong: ten times the share that the error of a march with a `ratio` times larger
    tolerance makes one expect."""
    time = pole(moments, march)
    if time is None:
        return None
    while looser.time < 2 * time and looser.attempt() is not Attempt.VANISHED:
        pass
    other = pole(moments, looser)
    apart = 10 / ratio * abs(time - other) if other is not None else np.inf
    return BlowUp(time, max(apart, 8 * np.finfo(float).eps * time))
