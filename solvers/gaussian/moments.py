"""The moment equations of a Gaussian, in a form that keeps what is singular singular."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.attention.affine import AffineDrift
from mfpde.measure.normal import Normal
from mfpde.solvers.gaussian.columns import leaning, orthogonalised
from mfpde.solvers.march import Size
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Moments"]

#: sizes below this share of the first ones are as good as zero
_NOTHING = 1e-60
#: a mean below this share of the spread is as good as zero
_CENTRED = 1e-10
#: share of a motion that may lead out of a plane by rounding
_IN_IT = 1e-12


class Moments:
    """`m' = c`, `S' = B S + S B^T + (2/kappa) I` for `S = F F^T + N`: `F' = B F` from the data, of their rank for ever,
    and `N' = B N + N B^T + (2/kappa) I` from the noise, from N = 0.

    A state is one array (m, F, N); without noise there is no N. Both parts of S stay positive, and a relative error of
    F is one of every width of the Gaussian, however thin it has become.
    """

    def __init__(self, equation: Equation, initial: Normal) -> None:
        self._velocity, self._noise = equation.velocity, equation.noise
        self.dimension, self.rank = initial.factor.shape
        self._constant = self._velocity.constant
        times = (0.0, *self._noise.breaks())
        diffusions = [self._noise.diffusion_at(time) for time in times]
        self.noisy = max(diffusions) > 0
        self._diffusion = diffusions[0] if len(diffusions) == 1 else None
        parts = [initial.mean, initial.factor.ravel(), np.zeros(self.dimension**2 if self.noisy else 0)]
        self.start = np.concatenate(parts)
        self._least = _NOTHING * max(self.spread(self.start), float(np.abs(initial.mean).max()), 1e-200)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times at which a coefficient jumps or has a kink."""
        return tuple(sorted({*self._velocity.breaks(), *self._noise.breaks()}))

    def split(self, state: Float) -> tuple[Float, Float, Float | None]:
        """m, F and N (None without noise)."""
        d, r = self.dimension, self.rank
        mean, factor, rest = state[:d], state[d : d + d * r].reshape(d, r), state[d + d * r :]
        return mean, factor, rest.reshape(d, d) if self.noisy else None

    def upright(self, state: Float) -> Float | None:
        """The state with `F Q` for F, Q orthogonal, which is another factor of the same S, if columns of F have leant
        towards each other: all do towards what grows most, and what is thin would be lost between them."""
        factor = self.split(state)[1]
        if self.rank < 2 or not leaning(factor):
            return None
        turned = state.copy()
        turned[self.dimension : self.dimension * (1 + self.rank)] = orthogonalised(factor).ravel()
        return turned

    def covariance(self, state: Float) -> Float:
        """S."""
        _, factor, noise = self.split(state)
        covariance = factor @ factor.T
        return covariance if noise is None else covariance + 0.5 * (noise + noise.T)

    def drift(self, time: float, state: Float) -> AffineDrift:
        """c and B."""
        mean, factor, noise = self.split(state)
        if noise is None:
            return self.drift_of(time, mean, factor @ factor.T, factor)
        return self.drift_of(time, mean, self.covariance(state))

    def drift_of(self, time: float, mean: Float, covariance: Float, factor: Float | None = None) -> AffineDrift:
        """c and B of any Gaussian."""
        velocity = self._velocity if self._constant else self._velocity.at(time)
        return velocity.gaussian_drift(mean, covariance, factor)

    def slope(self, time: float, state: Float) -> Float:
        """The right-hand side."""
        drift = self.drift(time, state)
        _, factor, noise = self.split(state)
        parts = [drift.c, (drift.B @ factor).ravel()]
        if noise is not None:
            moved = drift.B @ noise
            change = moved + moved.T + 2 * self._diffusion_at(time) * np.eye(self.dimension)
            parts.append(change.ravel())
        return np.concatenate(parts)

    def speed(self, time: float, state: Float) -> tuple[Float, Float]:
        """m' and S'."""
        drift, covariance = self.drift(time, state), self.covariance(state)
        moved = drift.B @ covariance
        return drift.c, moved + moved.T + 2 * self._diffusion_at(time) * np.eye(self.dimension)

    def _diffusion_at(self, time: float) -> float:
        return self._noise.diffusion_at(time) if self._diffusion is None else self._diffusion

    def growth(self, time: float, state: Float) -> float:
        """`d/dt log (tr S + |m|^2)`."""
        mean = state[: self.dimension]
        velocity, change = self.speed(time, state)
        total = float(np.trace(self.covariance(state))) + float(mean @ mean)
        return (float(np.trace(change)) + 2 * float(mean @ velocity)) / total if total > 0 else 0.0

    def sizes(self, state: Float) -> Size:
        """Errors of m relative to |m|, as long as that is not all but nothing beside the spread; of F and N to the
        spread."""
        spread = self.spread(state) + self._least
        place = float(np.linalg.norm(state[: self.dimension])) + _CENTRED * spread

        def size(error: Float) -> float:
            mean, factor, noise = self.split(error)
            parts = [np.linalg.norm(mean) / place, np.linalg.norm(factor) / spread]
            if noise is not None:
                parts.append(np.linalg.norm(noise) / spread**2)
            return float(np.linalg.norm(parts))

        return size

    def rate(self, time: float, state: Float) -> float:
        """How fast anything can change at first: `|B|`, and what moves the mean by the spread."""
        drift = self.drift(time, state)
        spread = self.spread(state) + float(np.linalg.norm(state[: self.dimension]))
        return float(np.linalg.norm(drift.B)) + (float(np.linalg.norm(drift.c)) / spread if spread > 0 else 0.0)

    def pace(self, time: float, state: Float) -> float:
        """`rate`, and how fast noise widens the Gaussian."""
        noise, square = 2 * self.dimension * self._diffusion_at(time), self.spread(state) ** 2
        return self.rate(time, state) + (noise / square if square > 0 else np.inf if noise > 0 else 0.0)

    def plane(self) -> Float | None:
        """An orthonormal basis (d, 2) of the plane that it is in and never leaves, if there is one."""
        if self.dimension == 2:
            return np.eye(2)
        if self.noisy or self.rank != 2:
            return None
        mean, factor, _ = self.split(self.start)
        basis: Float = np.linalg.qr(factor)[0]
        moved = self.drift_of(0.0, mean, basis @ basis.T).B @ basis
        outside = np.linalg.norm(moved - basis @ (basis.T @ moved))
        return basis if outside <= _IN_IT * np.linalg.norm(moved) else None

    def spread(self, state: Float) -> float:
        """`sqrt(tr S)`."""
        _, factor, noise = self.split(state)
        added = 0.0 if noise is None else max(0.0, float(np.trace(noise)))
        return float(np.hypot(np.linalg.norm(factor), np.sqrt(added)))
