"""A stationary state as one sees it: moments, energy, rates, measure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from mfpde.bifurcation.quadrature import SIZES, harmonic_counts, rule, size_for
from mfpde.bifurcation.spectrum import KEPT_RATES, Mode, eigenfunctions, leading_rates
from mfpde.bifurcation.stability import instability
from mfpde.bifurcation.states import Model, State, log_density_at
from mfpde.bifurcation.symmetry import stride_of_moments
from mfpde.errors import MfpdeError
from mfpde.geometry import Sphere
from mfpde.measure import Measure, Uniform
from mfpde.measure.axisymmetric import Axisymmetric
from mfpde.measure.circle_density import CircleDensity
from mfpde.typing import AnyArray, Complex, Float

__all__ = ["StationaryState"]

_ZERO_MOMENT = 1e-17  # a moment beyond which a list of moments ends


@dataclass(frozen=True, eq=False)
class StationaryState:
    """`mu = e^{kappa phi(q)} / norm`, a state at which nothing changes.

    `moments[k]` is `<cos k theta>` on the circle, `<P_k>` on S^2 (Gegenbauer polynomials with value 1 at 1 elsewhere),
    `free_energy` is minus the uniform state's (NaN for softmax attention), `rates` are the leading eigenvalues of the
    linearised equation, descending, with multiplicity and rotation's zeros; `unstable` counts the growing directions.

    >>> import mfpde
    >>> attention = mfpde.Unnormalized(beta=5)
    >>> state = mfpde.stationary_state(mfpde.Circle(), attention, kappa=0.19, side="lower")
    >>> state.moments[:2].round(6), state.unstable, state.rates[:2].round(6)
    (array([1.      , 0.396111]), 1, array([0.526977, 0.      ]))
    """

    state: State
    mode: int = 1

    @property
    def kappa(self) -> float:
        """Inverse noise strength."""
        return self.state.model.true_kappa

    @cached_property
    def moments(self) -> Float:
        """m_0 = 1, m_1, ..., to roundoff."""
        own = self.state.b / np.sqrt(harmonic_counts(self.state.rule.dimension, self.state.b.size - 1))
        if not self.state.b[1:].any():
            return own[:2]
        found = self.state.moments(self.state.rule.count - 1)
        size = min(own.size, found.size)
        found[:size] = own[:size]
        stride = stride_of_moments(own, self.state.rule.dimension)
        found[np.arange(found.size) % stride != 0] = 0.0
        return found[: max(int(np.flatnonzero(np.abs(found) > _ZERO_MOMENT)[-1]) + 1, 2)]

    @property
    def amplitude(self) -> float:
        """Modulus of the moment of the branch's own mode."""
        return float(abs(self.state.b[self.mode])) / float(
            np.sqrt(harmonic_counts(self.state.rule.dimension, self.mode)[-1])
        )

    @property
    def free_energy(self) -> float:
        """`(1/kappa) int mu log mu - E`, minus the uniform state's."""
        return self.state.free_energy

    @cached_property
    def modes(self) -> list[Mode]:
        """Leading rates with their azimuthal orders and multiplicities."""
        return leading_rates(self.state)

    @property
    def rates(self) -> Float | Complex:
        """The leading eigenvalues, each as often as its multiplicity; real for gradient laws."""
        values = np.repeat([mode.rate for mode in self.modes], [mode.multiplicity for mode in self.modes])[:KEPT_RATES]
        return values.real if not np.iscomplexobj(values) or np.all(values.imag == 0) else values

    @property
    def spectral_gap(self) -> float:
        """Minus the largest real part of the rates without rotation: how fast the state is come back to, at the latest;
        negative where a direction grows."""
        return -max(float(np.real(mode.rate)) for mode in self.modes if not mode.rotation)

    @cached_property
    def unstable(self) -> int:
        """The number of growing directions."""
        if self.state.model.softness:
            return softened_instability(self.modes)
        return instability(self.state, max(stride_of_moments(self.state.b, self.state.rule.dimension), 1))

    @property
    def stable(self) -> bool:
        """Whether none grows (rotation and, on a vertical branch, the branch itself are neutral)."""
        return self.unstable == 0

    @property
    def residual(self) -> float:
        """`max |m_l - <p_l>|`, by quadrature."""
        return self.state.residual

    @property
    def quadratic_residual(self) -> float:
        """Circle: of `(k / kappa) c_k = sum_j j W_j c_j c_{k-j}`, an independent equation; NaN elsewhere."""
        return quadratic_residual(self.state)

    def log_density_at(self, angle: Float) -> Float:
        """Logarithm of the density against the uniform state, at angles to the axis."""
        return log_density_at(self.state, angle)

    def eigenfunctions(self, angle: Float, count: int = 4) -> list[tuple[Mode, Float | Complex]]:
        """The leading modes (`rate`, azimuthal `order`, `multiplicity`, `rotation`), each with its density against the
        uniform measure at angles to the axis, of largest modulus 1. On the circle those of order 1 are odd; on spheres
        the density is that profile times a harmonic of that order of the directions about the axis.

        >>> import mfpde
        >>> state = mfpde.stationary_state(mfpde.Circle(), mfpde.Unnormalized(beta=0), kappa=4)
        >>> (rotation, turned), (decay, profile) = state.eigenfunctions(np.array([-0.5, 0.0, 0.5]), 2)
        >>> rotation.rotation, turned.round(3), decay.order
        (True, array([ 1.,  0., -1.]), 0)
        """
        if not self.state.b[1:].any():
            raise MfpdeError("the eigenfunctions of the uniform state are all harmonics of a degree")
        return eigenfunctions(self.state, angle, count)

    @property
    def measure(self) -> Measure:
        """The state as a measure, symmetric about angle 0 or the first axis."""
        return measure_of(self.state)


def softened_instability(modes: list[Mode]) -> int:
    """Growing directions by the eigenvalues themselves: those of softmax attention come from no symmetric matrix."""
    scale = max(abs(mode.rate) for mode in modes)
    return sum(mode.multiplicity for mode in modes if mode.rate.real > 1e-11 * scale and not mode.rotation)


def quadratic_residual(state: State) -> float:
    """The largest `|c_k - (kappa / k) sum_j j W_j c_j c_{k-j}|` of a gradient law on the circle."""
    multipliers = state.model.multipliers
    if multipliers.dimension != 2 or state.model.softness:
        return float("nan")
    top = multipliers.top
    c = state.moments(2 * top)
    j = np.arange(-top, top + 1)
    pull = j * multipliers.relative[np.abs(j)] * c[np.abs(j)]
    k = np.arange(1, top + 1)
    sums = c[np.abs(k[:, None] - j)] @ pull
    return float(np.abs(c[k] - state.model.kappa / k * sums).max())


def measure_of(state: State) -> Measure:
    """On circle or sphere; the closed form gives densities at any point."""
    multipliers = state.model.multipliers
    if multipliers.dimension == 2:
        if not state.b[1:].any():
            return CircleDensity.of(np.ones(1))
        return _on_circle(state, StationaryState(state).moments)
    geometry = Sphere(dimension=multipliers.dimension)
    return Uniform().on(geometry) if not state.b[1:].any() else Axial(state, geometry)


def _on_circle(state: State, moments: Float) -> CircleDensity:
    return CircleDensity(partial(_padded, moments.astype(complex)), moments.size, partial(_circle_density, state))


def _padded(known: Complex, count: int) -> Complex:
    out = np.zeros(count, dtype=complex)
    out[: min(count, known.size)] = known[:count]
    return out


def _circle_density(state: State, theta: Float) -> Float:
    return np.exp(log_density_at(state, theta)) / (2 * np.pi)


class Axial(Axisymmetric):
    """A stationary state on S^{d-1}, about the first axis."""

    def __init__(self, state: State, geometry: Sphere) -> None:
        super().__init__(np.eye(geometry.dimension)[-1 if geometry.dimension == 3 else 0], geometry)
        self.state = state

    def log_shape(self, angle: Float) -> Float:
        return log_density_at(self.state, angle)

    def window(self, tilt: float, accuracy: float) -> tuple[float, float]:
        return np.pi, float(np.ptp(self.state.log_density))

    @property
    def _heights(self) -> tuple[float, float]:
        x = self.state.rule.nodes
        return float(self.state.probability @ x), float(self.state.probability @ x**2)

    @property
    def mean(self) -> Float:
        return self._heights[0] * self.axis

    @property
    def covariance(self) -> Float:
        mean, square = self._heights
        along = np.outer(self.axis, self.axis)
        across = (1 - square) / (self.axis.size - 1)
        return (square - mean**2) * along + across * (np.eye(self.axis.size) - along)

    def evaluate(self, points: AnyArray) -> Float:
        from scipy.special import gammaln

        half = 0.5 * self.axis.size
        log_area = np.log(2) + half * np.log(np.pi) - gammaln(half)
        return np.exp(self.log_shape(self.angles(points)) - log_area)


def state_from_moments(model: Model, moments: Float) -> State:
    """The state with these low moments, on a rule that resolves it."""
    top = model.multipliers.top
    b = np.zeros(top + 1)
    size = min(b.size, moments.size)
    b[:size] = moments[:size] * np.sqrt(harmonic_counts(model.multipliers.dimension, size - 1))
    count = size_for(top + 8)
    while True:
        state = State(model, b, rule(model.multipliers.dimension, count))
        if state.resolved or count == SIZES[-1]:
            return state
        count = size_for(count + 1)
