"""The moment equations of a Gaussian, in coordinates in which its covariance is a projection."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dtrtrs

from mfpde.attention.affine import AffineDrift
from mfpde.measure.normal import Normal
from mfpde.measure.principal import principal
from mfpde.solvers.gaussian.frame import Frame, complement, framed
from mfpde.solvers.gaussian.law import LawSegment, inverse
from mfpde.solvers.steppers.base import Size
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Moments", "split"]

#: of the initial size, in place of 0
_SIZE_FLOOR = 1e-60
#: of the spread: errors of a smaller mean are relative to that
_MEAN_FLOOR = 1e-10
#: share of the motion that may leave a plane by rounding
_PLANE_TOLERANCE = 1e-12
#: of the thinnest variance: more noise in a step takes a part of its own, since logarithms of widths grow too fast
_MAX_NOISE_SHARE = 0.1
#: of a row of a triangular factor: smaller diagonals are rounding, and S is singular, as noise of a singular matrix can
#: leave it
_RANK_ROUNDING = 1e-14
#: up to which frames have more digits than doubles: products of such matrices take d^3 / 5 microseconds
_MAX_EXACT_DIMENSION = 16


class Moments:
    """`m' = c`, `S' = B S + S B^T + (2/kappa) I`, in steps that begin in a frame F in which S is a projection:
    `S = F X e^{2 l} X^T F^T` with X of unit lower triangles. With `P = X^{-1} F^{-1} B F X`, without noise,

        l_i' = P_ii,    (X^{-1} X')_ij = P_ij + e^{2 (l_i - l_j)} P_ji  for i > j.

    Every width has a logarithm of its own, in which errors are errors relative to it. A state is the array (F^{-1} m
    in units of the largest width, l, X below its diagonal). Where noise widens S, in a direction, by much of what it
    is, a step takes `S = F X e^{2 l} X^T F^T + F N F^T` instead, with a fourth part N, from N = 0. A noise matrix D
    stands in place of `(1/kappa) I`.
    """

    def __init__(self, equation: Equation, initial: Normal) -> None:
        self._velocity, self._noise = equation.velocity, equation.noise
        self.dimension = initial.ambient_dimension
        self._constant = self._velocity.constant
        times = (0.0, *self._noise.breaks())
        diffusions = [self._noise.diffusion_at(time) for time in times]
        self.noisy = max(diffusions) > 0
        self._diffusion = diffusions[0] if len(diffusions) == 1 else None
        root = self._noise.root(self.dimension)
        if root is not None:
            self.noisy = bool(root.any())
            self._diffusion = float(self.noisy)
        #: R with `R R^T = D` where noise has a matrix D, and with `R R^T = I`, in units of 1/kappa, where it has none
        self._noise_root = np.eye(self.dimension) if root is None else np.sqrt(0.5) * root
        law = self._velocity.at(0.0).law
        self._heads = [term.head for term in law.terms(self.dimension)] if law is not None else []
        forms = [head.gaussian_forms(self.dimension) for head in self._heads]
        self._pulled = law is None or (bool(forms) and all(form is not None for form in forms))
        segment = LawSegment(self._velocity, self._noise_root, 0.0)
        exact = self.dimension <= _MAX_EXACT_DIMENSION
        self.start = framed(initial.mean, initial.factor, exact, segment)
        self._least = _SIZE_FLOOR * max(self.start.spread, float(np.abs(initial.mean).max()), 1e-200)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times at which a coefficient jumps or has a kink."""
        return tuple(sorted({*self._velocity.breaks(), *self._noise.breaks()}))

    # -- frames
    # ---------------------------------------------------------------------------------------------------------

    def renewed(self, time: float, frame: Frame) -> Frame:
        """The frame with the law from that time on."""
        breaks = self._velocity.breaks()
        return frame.within(frame.segment.of(time)) if time in breaks else frame

    def state(self, frame: Frame, noise: bool) -> Float:
        """At the origin of a frame; with a part for noise of its own, or without."""
        d, r = self.dimension, frame.rank
        rest = r * (d + 1) - r * (r + 1) // 2 + (d * d if noise else 0)
        return np.concatenate([frame.mean * frame.shares, np.zeros(rest)])

    def drowned(self, frame: Frame, time: float, step: float) -> bool:
        """Whether noise widens a direction by a large factor in that time."""
        added = max(self.diffusion_at(time), self.diffusion_at(time + step))
        if added == 0 or frame.rank < self.dimension:
            return added > 0
        if added * step * np.diag(frame.noise).max() <= _MAX_NOISE_SHARE:
            return False
        growth = split(frame, self.slope(frame, time, self.state(frame, noise=False)))[1]
        return bool(step * growth.max() > _MAX_NOISE_SHARE)

    def moved(self, frame: Frame, state: Float) -> Frame:
        """The frame of a state in another frame."""
        mean, logs, lower, added = split(frame, state)
        basis, rank = np.eye(self.dimension), frame.rank
        if added is not None and added.any():
            whole = np.column_stack([lower * np.exp(logs), _root(added)])
            basis, rank = np.asarray(np.linalg.qr(whole.T, mode="r")).T, self.dimension
            if np.any(np.abs(np.diag(basis)) <= _RANK_ROUNDING * np.linalg.norm(basis, axis=1)):
                axes, widths, _ = principal(frame.factor @ basis)
                wide = widths > _RANK_ROUNDING * widths[0]
                root = axes[:, wide] * widths[wide]
                return framed(frame.factor @ mean, root, len(frame.parts) > 1, frame.segment)
        else:
            basis[:, :rank] = lower * np.exp(logs)
        return frame.moved(basis, mean, rank)

    # -- the equations
    # ---------------------------------------------------------------------------------------------------------

    def slope(self, frame: Frame, time: float, state: Float) -> Float:
        """The right-hand side."""
        mean, logs, lower, added = split(frame, state)
        grown, r = np.exp(logs), frame.rank
        whole = lower * grown if added is None else np.column_stack([lower * grown, _root(added)])
        velocity, pushed = self.push(frame, time, mean, whole)
        triangle = lower
        if r < self.dimension:
            triangle = np.eye(self.dimension)
            triangle[:, :r] = lower
        turned = _solved(triangle, pushed[:, :r] / grown)
        change = turned.copy()
        change[:r] += (grown[:, None] / grown) ** 2 * turned[:r].T
        growth, diffusion = turned.diagonal().copy(), self.diffusion_at(time)
        if diffusion > 0 and added is None:
            spread = diffusion * _solved(triangle, _solved(triangle, frame.noise).T) / grown**2
            growth += spread.diagonal()
            change += 2 * spread
        places, below = _below(self.dimension, r)
        parts = [velocity * frame.shares, growth, (triangle @ np.where(below, change, 0.0)).ravel()[places]]
        if added is not None:
            moved = pushed[:, r:] @ whole[:, r:].T
            parts.append((moved + moved.T + 2 * diffusion * frame.noise).ravel())
        return np.concatenate(parts)

    def push(self, frame: Frame, time: float, mean: Float, factor: Float) -> tuple[Float, Float]:
        """c and `B F` of `N(m, F F^T)`, all in the frame's coordinates."""
        if not self._pulled:
            outside, root = frame.factor @ mean, frame.factor @ factor
            drift, back = self.drift_of(time, outside, root @ root.T, root), inverse(frame.factor)
            return back @ drift.c, back @ (drift.B @ root)
        velocity, pushed = np.zeros(mean.size), np.zeros(factor.shape)
        for head, (form, value) in zip(self._heads, frame.law(time), strict=True):
            own, turned = head.gaussian_push(form, mean, factor)
            velocity, pushed = velocity + value @ own, pushed + value @ turned
        return velocity, pushed

    def drift_of(self, time: float, mean: Float, covariance: Float, factor: Float | None = None) -> AffineDrift:
        """c and B of any Gaussian, in R^d."""
        velocity = self._velocity if self._constant else self._velocity.at(time)
        return velocity.gaussian_drift(mean, covariance, factor)

    def diffusion_at(self, time: float) -> float:
        """`1 / kappa`; 1 with a matrix D."""
        return self._noise.diffusion_at(time) if self._diffusion is None else self._diffusion

    def noise(self, time: float) -> Float:
        """`(1/kappa) I`, or D."""
        diffusion: Float = self.diffusion_at(time) * (self._noise_root @ self._noise_root.T)
        return diffusion

    def growth(self, time: float, frame: Frame) -> float:
        """`d/dt log (tr S + |m|^2)`."""
        velocity, pushed = self.push(frame, time, frame.mean, np.eye(self.dimension, frame.rank))
        total = frame.spread**2 + float(frame.place @ frame.place)
        change = float(np.sum(frame.root * (frame.factor @ pushed))) + float(np.trace(self.noise(time)))
        return 2 * (change + float(frame.place @ (frame.factor @ velocity))) / total if total > 0 else 0.0

    def sizes(self, frame: Frame, state: Float) -> Size:
        """Errors of m relative to |m|, as long as that is not all but nothing beside the spread; of l, and of X as
        angles; of N to the variances."""
        mean, logs, lower, noise = split(frame, state)
        root, below = lower * np.exp(logs), _below(self.dimension, frame.rank)[1]
        spread = _length(frame.factor @ root) + self._least
        place = _length(frame.factor @ mean) + _MEAN_FLOOR * spread
        widths = frame.widths
        angles = np.minimum(widths[:, None] / np.maximum(widths[: frame.rank], 1e-300), 1.0)

        def size(error: Float) -> float:
            moved, logs, turned, added = split(frame, error)
            turned = np.where(below, turned, 0.0) * angles
            parts = [_length(frame.factor @ moved) / place, _length(logs), _length(turned)]
            if added is not None and noise is not None:
                variances = np.sqrt(np.sum(root**2, axis=1) + np.abs(np.diag(noise)))
                parts.append(_length(added / variances / variances[:, None]))
            return math.hypot(*parts)

        return size

    # -- what is asked of it
    # ---------------------------------------------------------------------------------------------------------

    def turning(self, time: float, frame: Frame) -> tuple[Float, Float, Float, Float]:
        """Widths s, the largest first, axes, m' along them, and K with `S' = s_j^2 K_ij + s_i^2 K_ji + noise` along
        them."""
        velocity, pushed = self.push(frame, time, frame.mean, np.eye(self.dimension, frame.rank))
        axes, widths, turn = principal(frame.root)
        r = frame.rank
        change = np.zeros((self.dimension, self.dimension))
        change[:r, :r] = widths[:, None] * (turn.T @ pushed[:r] @ turn)
        axes = np.column_stack([axes, complement(axes)])
        change[:, :r] += axes.T @ (frame.factor[:, r:] @ (pushed[r:] @ turn))
        change[:, :r] /= widths
        widths = np.concatenate([widths, np.zeros(self.dimension - r)])
        return widths, axes, axes.T @ (frame.factor @ velocity), change

    def rests(self, time: float, frame: Frame) -> bool:
        """Whether nothing moves."""
        velocity, pushed = self.push(frame, time, frame.mean, np.eye(self.dimension, frame.rank))
        return not velocity.any() and not pushed.any() and self.diffusion_at(time) == 0

    def rate(self, time: float, frame: Frame) -> float:
        """The fastest rate: `|B|`, and the speed of the mean over the spread."""
        drift = self.drift_of(time, frame.place, frame.covariance, frame.root)
        spread = frame.spread + float(np.linalg.norm(frame.place))
        return float(np.linalg.norm(drift.B)) + (float(np.linalg.norm(drift.c)) / spread if spread > 0 else 0.0)

    def pace(self, time: float, frame: Frame) -> float:
        """`rate`, and how fast noise widens the Gaussian."""
        noise, square = 2 * float(np.trace(self.noise(time))), frame.spread**2
        return self.rate(time, frame) + (noise / square if square > 0 else np.inf if noise > 0 else 0.0)

    def plane(self) -> Float | None:
        """An orthonormal basis (d, 2) of the invariant plane that holds the Gaussian, if there is one."""
        if self.dimension == 2:
            return np.eye(2)
        if self.noisy or self.start.rank != 2:
            return None
        basis: Float = np.linalg.qr(self.start.root)[0]
        moved = self.drift_of(0.0, self.start.place, basis @ basis.T).B @ basis
        outside = np.linalg.norm(moved - basis @ (basis.T @ moved))
        return basis if outside <= _PLANE_TOLERANCE * np.linalg.norm(moved) else None


def split(frame: Frame, state: Float) -> tuple[Float, Float, Float, Float | None]:
    """`F^{-1} m`, l, X, and N if the state has that part."""
    d, r = frame.mean.size, frame.rank
    count = r * d - r * (r + 1) // 2
    lower = np.eye(d, r)
    lower.ravel()[_below(d, r)[0]] = state[d + r : d + r + count]
    rest = state[d + r + count :]
    return state[:d] / frame.shares, state[d : d + r], lower, rest.reshape(d, d) if rest.size else None


@lru_cache(maxsize=64)
def _below(dimension: int, rank: int) -> tuple[AnyArray, AnyArray]:
    """Places below the diagonal, by number in a matrix `(dimension, rank)`, and as true in it."""
    below = np.tri(dimension, rank, -1, dtype=bool)
    return np.flatnonzero(below), below


def _length(values: Float) -> float:
    """The root of the sum of squares; `np.linalg.norm` takes three times as long to ask it."""
    return math.sqrt(float(np.vdot(values, values)))


def _solved(triangle: Float, right: Float) -> Float:
    """`X^{-1} right`, X of unit lower triangles; scipy's `solve_triangular` takes ten times as long to ask it."""
    return np.asarray(dtrtrs(triangle, right, lower=1, unitdiag=1)[0])


def _root(added: Float) -> Float:
    """R with `R R^T = N`; negative eigenvalues are rounding and become 0."""
    scale = np.sqrt(np.maximum(np.diag(added), 0.0))
    safe = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(0.5 * (added + added.T) / safe / safe[:, None])
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))
