"""Rates: eigenvalues of the linearised Fokker-Planck operator at a state, one azimuthal order at a time.

With `f = eta / sqrt(mu)` it is `-D* D B`, `D = grad - grad(log mu)/2` and `B = 1/kappa - sqrt(mu) phi' W* sqrt(mu)`.
D is kept as a matrix of values at Gauss nodes, `D = Q R`, so that `-R B R'` has the rates as its eigenvalues, and small
ones come from its inverse, where R and B are inverted one by one: exponentially small rates keep their digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mfpde.bifurcation.quadrature import Rule, harmonic_count, harmonic_counts, orthonormal, rule, size_for
from mfpde.bifurcation.stability import complement
from mfpde.bifurcation.states import State, log_density_at
from mfpde.typing import AnyArray, Complex, Float

__all__ = ["KEPT_RATES", "Mode", "basis_size", "eigenfunctions", "leading_rates", "uniform_rates"]

#: rates of a state that are kept, with multiplicity
KEPT_RATES = 16
_NEGLIGIBLE_HARMONIC = 1e-13  # harmonics of sqrt(mu) beyond which no basis function is needed
_SPARE = 24  # basis functions beyond those, which the leading eigenfunctions need
_ANGLE_STEP = 1e-5  # radian: a difference of that step has ten digits
_SMALL_RATE = 1e-4  # of the diffusion rate: below it a rate is taken from the inverse


@dataclass(frozen=True, eq=False)
class Mode:
    """A rate (complex where softmax attention makes it so), its azimuthal order and its multiplicity."""

    rate: complex
    order: int
    multiplicity: int
    rotation: bool = False


def leading_rates(state: State, kept: int = KEPT_RATES) -> list[Mode]:
    """The modes with the largest rates, descending, rotation's zero among them."""
    if not state.b[1:].any():
        return uniform_rates(state, kept)
    dimension = state.rule.dimension
    found: list[Mode] = []
    for order in range(2 if dimension == 2 else 64):
        count = int(harmonic_count(dimension - 1, order))
        modes = [Mode(rate, order, count) for rate in _Sector(state, order).rates()[:kept]]
        if order == 1:
            modes.append(Mode(0.0, 1, count, rotation=True))
        if order > 1 and modes[0].rate.real < _last(found, kept):
            break
        found = _sorted(found + modes)
    return _first(found, kept)


def eigenfunctions(state: State, angle: Float, count: int) -> list[tuple[Mode, Float | Complex]]:
    """The first modes, densities along an angle to the axis against the uniform measure, of largest modulus 1."""
    root = np.sqrt(np.exp(log_density_at(state, angle)))
    found: list[tuple[Mode, Float | Complex]] = []
    sectors: dict[int, _Sector] = {}
    for mode in leading_rates(state)[:count]:
        if mode.order not in sectors:
            sectors[mode.order] = _Sector(state, mode.order)
        sector = sectors[mode.order]
        known = [other for other, _ in found if other.order == mode.order and not other.rotation]
        values = sector.rotated(angle) if mode.rotation else root * sector.function(len(known), angle)
        largest = values[int(np.argmax(np.abs(values)))]
        found.append((mode, values / largest))
    return found


def uniform_rates(state: State, kept: int = KEPT_RATES) -> list[Mode]:
    """`l (l + d - 2) (h_l - 1/kappa)`, N_l times each."""
    multipliers, dimension = state.model.multipliers, state.rule.dimension
    top = max(multipliers.top, kept) + 1
    degree = np.arange(1, top + 1, dtype=float)
    relative = multipliers.resized(top).relative[1:]
    rates = multipliers.scale * degree * (degree + dimension - 2) * (relative - 1 / state.model.kappa)
    counts = harmonic_counts(dimension, top)[1:]
    modes = [Mode(float(rate), 0, int(count)) for rate, count in zip(rates, counts, strict=True)]
    return _first(_sorted(modes), kept)


def _sorted(modes: list[Mode]) -> list[Mode]:
    return sorted(modes, key=lambda mode: -mode.rate.real)


def _first(modes: list[Mode], kept: int) -> list[Mode]:
    total = np.cumsum([mode.multiplicity for mode in modes])
    return modes[: int(np.searchsorted(total, kept)) + 1]


def _last(modes: list[Mode], kept: int) -> float:
    first = _first(modes, kept)
    return first[-1].rate.real if sum(mode.multiplicity for mode in first) >= kept else -np.inf


class _Sector:
    """One azimuthal order: R, B and, of order 1, the direction of rotations."""

    def __init__(self, state: State, order: int) -> None:
        model, multipliers = state.model, state.model.multipliers
        dimension = multipliers.dimension
        count = basis_size(state)
        fine = rule(dimension, size_for(max(2 * count, state.rule.count)))
        at = State(model, state.b, fine)
        values = fine.table(order + count - 1, order)
        density = at.probability / fine.weights
        slope_of_log = _slope(at)
        rows = [_derivative(fine, order, count) - 0.5 * slope_of_log[:, None] * values]
        if order and dimension > 2:
            rows.append(np.sqrt(order * (order + dimension - 3.0)) / fine.sines[:, None] * values)
        weight = np.sqrt(fine.weights)[:, None]
        rows = [weight * row for row in rows]
        root = np.sqrt(density)
        weighted = values * (fine.weights * root)[:, None]
        top = multipliers.top
        low = max(order, 1)
        harmonics = fine.table(top, order)[:, low - order :]
        seen = harmonics.T @ weighted
        softened = seen if model.softness == 0 else harmonics.T @ (weighted * model.slope(at.q)[:, None])
        pair = np.eye(count) / model.kappa - softened.T @ (multipliers.relative[low : top + 1, None] * seen)
        matrix = np.vstack(rows)
        self.null: Float | None = None
        self.state, self.order, self.count, self.kept = at, order, count, np.eye(count)
        if order == 0:
            keep = self.kept = complement(weighted.sum(axis=0))  # mass does not change: f is orthogonal to sqrt(mu)
            matrix, pair = matrix @ keep, keep.T @ pair @ keep
        self.triangle: Float = np.asarray(scipy.linalg.qr(matrix, mode="r", check_finite=False)[0][: matrix.shape[1]])
        self.pair = pair
        self.symmetric = model.softness == 0
        self.scale, self.kappa = multipliers.scale, model.kappa
        if order == 1:
            turned = weighted.T @ slope_of_log
            self.null = scipy.linalg.solve_triangular(self.triangle, turned, trans=1, check_finite=False)

    def rates(self) -> Complex | Float:
        """Descending, without rotation's zero."""
        r = self.triangle
        whole = r @ self.pair @ r.T
        if self.null is not None:
            keep = complement(self.null)
            whole = keep.T @ whole @ keep
        if not self.symmetric:
            values: Complex = np.asarray(-np.linalg.eigvals(whole), dtype=np.complex128)
            return self.scale * values[np.argsort(-values.real)]
        rates: Float = np.asarray(-np.linalg.eigvalsh(whole), dtype=np.float64)
        small = np.abs(rates) < _SMALL_RATE / self.kappa
        if small.any():
            rates = self._refined(rates, small)
        return self.scale * rates

    def function(self, place: int, angle: Float) -> Float | Complex:
        """f of the rate of that place, along an angle to the axis: `R^T y` of the eigenvector y of `R B R^T`."""
        r = self.triangle
        whole = r @ self.pair @ r.T
        keep = np.eye(whole.shape[0]) if self.null is None else complement(self.null)
        whole = keep.T @ whole @ keep
        values, vectors = np.linalg.eigh(whole) if self.symmetric else np.linalg.eig(whole)
        coefficients = self.kept @ (r.T @ (keep @ vectors[:, np.argsort(values.real)[place]]))
        found: Float | Complex = self._waves(angle) @ coefficients
        return found

    def _waves(self, angle: Float) -> Float:
        """The basis there."""
        order, dimension, fine = self.order, self.state.rule.dimension, self.state.rule
        if dimension == 2:
            phase = np.outer(angle, np.arange(order, order + self.count))
            waves = np.sqrt(2) * (np.sin(phase) if order else np.cos(phase))
            if not order:
                waves[:, 0] = 1.0
            return waves
        size = np.sqrt(fine.weights @ fine.sines ** (2 * order))
        polynomials = orthonormal(0.5 * dimension - 1 + order, np.abs(angle), self.count)
        return polynomials * (np.abs(np.sin(angle)) ** order / size)[:, None]

    def rotated(self, angle: Float) -> Float:
        """`d mu / d angle`, what a rotation adds, by central differences."""
        ends = (np.exp(log_density_at(self.state, angle + step)) for step in (_ANGLE_STEP, -_ANGLE_STEP))
        above, below = ends
        found: Float = (above - below) / (2 * _ANGLE_STEP)
        return found

    def _refined(self, rates: Float, small: AnyArray) -> Float:
        """The small ones again, as inverses of the largest eigenvalues of `R'^-1 B^-1 R^-1`."""
        r, pair = self.triangle, 0.5 * (self.pair + self.pair.T)
        if self.null is not None:
            # B has a null vector; what is added moves the eigenvalue of rotations and no other
            moved = scipy.linalg.solve_triangular(r, self.null, check_finite=False)
            pair = pair + np.outer(moved, moved) / (self.kappa * float(self.null @ self.null))
        inverse = np.linalg.inv(pair)
        half = scipy.linalg.solve_triangular(r, inverse, trans=1, check_finite=False)
        whole = scipy.linalg.solve_triangular(r, half.T, trans=1, check_finite=False)
        whole = 0.5 * (whole + whole.T)
        if self.null is not None:
            keep = complement(self.null)
            whole = keep.T @ whole @ keep
        inverses = -np.linalg.eigvalsh(whole)
        largest = inverses[np.argsort(-np.abs(inverses))[: int(small.sum())]]
        refined = rates.copy()
        refined[small] = -np.sort(-1 / largest)
        return refined


def basis_size(state: State) -> int:
    """Functions that resolve `sqrt(mu) f` for the leading eigenfunctions f."""
    if not state.b[1:].any():
        return 1
    count = state.rule.count
    root = np.sqrt(state.probability * state.rule.weights)
    seen = np.abs(state.rule.table(count - 1).T @ root) / np.sqrt(harmonic_counts(state.rule.dimension, count - 1))
    return int(1.2 * (np.flatnonzero(seen > _NEGLIGIBLE_HARMONIC)[-1] + 1)) + _SPARE


def _slope(state: State) -> Float:
    """`d log mu / d theta` at the nodes."""
    multipliers, dimension = state.model.multipliers, state.rule.dimension
    degree = np.arange(1, multipliers.top + 1)
    pulls = multipliers.relative[1:] * state.b[1:] * np.sqrt(degree * (degree + dimension - 2.0))
    return -state.model.kappa * state.model.slope(state.q) * (state.rule.table(multipliers.top, 1) @ pulls)


def _derivative(at: Rule, order: int, count: int) -> Float:
    """`d p_l^m / d theta` at the nodes: `m cot(theta) p_l^m - c p_l^{m+1}`."""
    degree = np.arange(count, dtype=float)
    size = np.sqrt(degree * (degree + at.dimension - 2 + 2 * order))
    if at.dimension == 2:
        phase = (np.arange(at.count) + 0.5) * (np.pi / at.count)
        waves = np.outer(phase, np.arange(order, order + count))
        slopes: Float = np.sqrt(2) * np.arange(order, order + count) * (np.cos(waves) if order else -np.sin(waves))
        return slopes
    slopes = np.zeros((at.count, count))
    slopes[:, 1:] = -size[1:] * at.table(order + count - 1, order + 1)
    if order:
        slopes += (order * at.nodes / at.sines)[:, None] * at.table(order + count - 1, order)
    return slopes
