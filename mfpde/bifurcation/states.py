"""The equation of stationary states in moments, its derivatives, and Newton's method.

`b_l = <p_l>` are moments against orthonormal harmonics; `m_l = b_l / sqrt(N_l)` those of `physics.md` (`<cos l theta>`,
`<P_l>`). Everything is computed in units in which the largest multiplier is 1: `kappa h` is what states depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgesv  # what solve() calls: half of the time of such small systems is what is around it

from mfpde.bifurcation.multipliers import Multipliers
from mfpde.bifurcation.quadrature import SIZES, Rule, harmonic_counts, orthonormal, rule, size_for
from mfpde.typing import Float

__all__ = ["Family", "Model", "Solved", "State", "System", "log_density_at", "newton"]

TOLERANCE = 1e-13  # of the moments m_l
_LAST_STEP = 1e-15  # of Newton's method, in moments
_STEPS_TO_ROUNDOFF = 6  # after which steps that do not become shorter are roundoff
_ROUNDOFF = 3e-15  # moments of the highest degrees of a rule, below which the rule resolves the measure
_DERIVATIVE_STEP = 1e-6  # of the parameter in units of its range: central differences of log densities


@dataclass(frozen=True, eq=False)
class Model:
    """A law's multipliers at one value of the parameter, and `kappa` in units in which the largest of them is 1."""

    multipliers: Multipliers
    kappa: float

    @property
    def softness(self) -> float:
        """beta of softmax attention in those units; 0 for gradient laws."""
        return self.multipliers.softness * self.multipliers.scale

    @property
    def true_kappa(self) -> float:
        """kappa in the problem's units."""
        return self.kappa / self.multipliers.scale

    def exponent(self, q: Float) -> Float:
        """`kappa phi(q)`."""
        if self.softness == 0:
            return self.kappa * q
        return self.kappa / self.softness * np.log1p(self.softness * q)

    def slope(self, q: Float) -> Float:
        """`phi'(q)`."""
        return np.ones(q.size) if self.softness == 0 else 1 / (1 + self.softness * q)


@dataclass(frozen=True, eq=False)
class Family:
    """A one-parameter family of models: `model(value)`, with as many degrees for every value in `low .. high`.

    States are functions of `u = (value - low) / (high - low)`.
    """

    parameter: str
    low: float
    high: float
    make: Callable[[float], Model]
    top: int

    def value(self, u: float) -> float:
        """The parameter at u."""
        return self.low + (self.high - self.low) * u

    def place(self, value: float) -> float:
        """u of a parameter."""
        return (value - self.low) / (self.high - self.low)

    def model(self, u: float) -> Model:
        """The model at u."""
        made = self.make(self.value(u))
        if made.multipliers.top == self.top:
            return made
        return Model(made.multipliers.resized(self.top), made.kappa)

    @property
    def dimension(self) -> int:
        """d of S^{d-1}."""
        return self.make(self.low).multipliers.dimension


@dataclass(frozen=True, eq=False)
class State:
    """A measure `e^{kappa phi(q)} / norm` that is axisymmetric, at the nodes of a rule: `b[l] = <p_l>`, b[0] = 1."""

    model: Model
    b: Float
    rule: Rule

    @cached_property
    def q(self) -> Float:
        """`sum_l h_l b_l p_l` at the nodes."""
        return self.rule.table(self.model.multipliers.top) @ (self.model.multipliers.relative * self.b)

    @cached_property
    def _tilted(self) -> tuple[Float, float, float]:
        exponent = self.model.exponent(self.q)
        highest = float(exponent.max())
        exponent -= highest
        raised = np.exp(exponent, out=exponent)
        raised *= self.rule.weights
        total = float(raised.sum())
        raised /= total
        return raised, total, highest

    @property
    def probability(self) -> Float:
        """The share of each node."""
        return self._tilted[0]

    @property
    def log_norm(self) -> float:
        """`log int e^{kappa phi(q)}` against the uniform probability measure."""
        return float(np.log(self._tilted[1])) + self._tilted[2]

    @property
    def log_density(self) -> Float:
        """Against the uniform probability measure, at the nodes."""
        return self.model.exponent(self.q) - self.log_norm

    def moments(self, top: int) -> Float:
        """m_0 .. m_top by quadrature; m_0 = 1."""
        counts = harmonic_counts(self.rule.dimension, top)
        return self.rule.table(top).T @ self.probability / np.sqrt(counts)

    @property
    def resolved(self) -> bool:
        """Whether the rule integrates this measure to roundoff: its highest moments vanish."""
        last, scale = self.rule.highest
        # the exponent has roundoff relative to its size, the density the same as an absolute error
        roundoff = _ROUNDOFF * (1 + 0.3 * float(np.ptp(self.log_density)))
        return bool(np.abs(last.T @ self.probability / scale).max() < roundoff)

    @property
    def residual(self) -> float:
        """`max |m_l - <p_l> / sqrt(N_l)|`."""
        own = self.moments(self.model.multipliers.top)
        given = self.b / np.sqrt(harmonic_counts(self.rule.dimension, self.b.size - 1))
        return float(np.abs(own - given)[1:].max())

    @property
    def free_energy(self) -> float:
        """`(1/kappa) int mu log mu - E` minus that of the uniform state; NaN where there is none."""
        if self.model.softness:
            return float("nan")
        parts = self.model.multipliers
        energy = 0.5 * float(parts.relative[1:] @ self.b[1:] ** 2)
        return parts.scale * (energy - self.log_norm / self.model.kappa)


def log_density_at(state: State, angle: Float) -> Float:
    """Against the uniform probability measure, at angles to the axis."""
    multipliers = state.model.multipliers
    pulls = multipliers.relative * state.b
    if multipliers.dimension == 2:
        waves = np.cos(np.outer(angle, np.arange(pulls.size)))
        q = waves @ (pulls * np.where(np.arange(pulls.size) == 0, 1.0, np.sqrt(2)))
    else:
        q = orthonormal(0.5 * multipliers.dimension - 1, np.abs(angle), pulls.size) @ pulls
    return state.model.exponent(q) - state.log_norm


class System:
    """`R(b, u) = b - <p>` for the degrees `active`, all others being zero by symmetry."""

    def __init__(self, family: Family, active: Sequence[int], size: int = 0) -> None:
        self.family = family
        self.active = np.asarray(active, dtype=int)
        self.counts = harmonic_counts(family.dimension, family.top)
        self.scale = np.sqrt(self.counts[self.active])
        self.size = size_for(max(size, family.top + 8))
        self._last: tuple[tuple[int, bytes], State] | None = None

    def state(self, x: Float) -> State:
        """The measure of unknowns x = (b of the active degrees, u); asked for again, the same object."""
        key = self.size, x.tobytes()
        if self._last is None or self._last[0] != key:
            b = np.zeros(self.family.top + 1)
            b[0] = 1.0
            b[self.active] = x[:-1]
            self._last = key, State(self.family.model(float(x[-1])), b, rule(self.family.dimension, self.size))
        return self._last[1]

    def evaluate(self, x: Float) -> tuple[Float, Float]:
        """The residual and its derivative by (b, u)."""
        state = self.state(x)
        model, share, table = state.model, state.probability, self.table
        mean = table.T @ share
        pull = share if model.softness == 0 else model.slope(state.q) * share
        covariance = state.rule.products(pull, self.active)
        covariance -= mean[:, None] * (mean if model.softness == 0 else table.T @ pull)
        jacobian = np.empty((self.active.size, self.active.size + 1))
        np.multiply(covariance, -model.kappa * model.multipliers.relative[self.active], out=jacobian[:, :-1])
        jacobian.reshape(-1)[:: self.active.size + 2] += 1.0  # its diagonal
        jacobian[:, -1] = self._moved(x, mean, share, covariance)
        return x[:-1] - mean, jacobian

    @property
    def table(self) -> Float:
        """The active harmonics at the nodes."""
        return rule(self.family.dimension, self.size).columns(self.active)

    def _moved(self, x: Float, mean: Float, share: Float, covariance: Float) -> Float:
        """`-d<p>/du = -Cov(p, d (kappa phi(q)) / du)`."""
        ends = [self.family.model(float(x[-1]) + step) for step in (_DERIVATIVE_STEP, -_DERIVATIVE_STEP)]
        first, second = (model.multipliers.relative[self.active] * x[:-1] for model in ends)
        if ends[0].softness == 0:
            second *= 0.5 / _DERIVATIVE_STEP * ends[1].kappa
            second -= 0.5 / _DERIVATIVE_STEP * ends[0].kappa * first
            found: Float = covariance @ second
            return found
        above, below = (model.exponent(self.table @ pull) for model, pull in zip(ends, (first, second), strict=True))
        change = (above - below) / (2 * _DERIVATIVE_STEP) * share
        return mean * change.sum() - self.table.T @ change

    def refined(self, x: Float) -> bool:
        """Whether the rule had to grow for that state."""
        grown = False
        while not self.state(x).resolved and self.size < SIZES[-1]:
            self.size = size_for(self.size + 1)
            grown = True
        return grown


class Solved(NamedTuple):
    """What Newton's method found, its number of steps, and the direction in which the last equation grows by 1."""

    x: Float
    steps: int
    direction: Float


@np.errstate(all="ignore")
def newton(
    system: System,
    start: Float,
    constraint: Callable[[Float], tuple[float, Float]],
    most: int = 12,
) -> Solved | None:
    """Newton's method for `R = 0` and one more equation, `constraint(x) -> (value, gradient)`; None where it does not
    converge."""
    x = start.copy()
    scale = np.append(system.scale, 1.0)
    last = np.inf
    right = np.zeros((x.size, 2))
    right[-1, 1] = 1.0
    bordered = np.empty((x.size, x.size))
    for step in range(1, most + 1):
        right[:-1, 0], bordered[:-1] = system.evaluate(x)
        right[-1, 0], bordered[-1] = constraint(x)
        solved, singular = dgesv(bordered, right)[2:]
        if singular:
            return None
        change, direction = solved.T
        x = x - change
        moved = float(np.abs(change / scale).max())
        if not moved < 2.0:
            return None
        # convergence is quadratic: the next step would be about as much shorter than this one, squared
        if moved < _LAST_STEP or (step > 1 and moved * (moved / last) ** 2 < _LAST_STEP):
            return Solved(x, step, direction)
        if step > _STEPS_TO_ROUNDOFF and moved > 0.5 * last:
            return Solved(x, step, direction) if moved < TOLERANCE else None
        last = moved
    return None
