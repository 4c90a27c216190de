"""Steps of the cosine and the norm of equiangular tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mfpde.contracts import PROMISED, Accuracy, Progress, State
from mfpde.errors import ProblemError
from mfpde.solvers.reduced.tokens import ReducedIntegration, equal_weights
from mfpde.solvers.steppers.base import OrdinarySystem, Size
from mfpde.solvers.stepping.adaptive_ode import March, Verdict
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.reduced.equiangular import Equiangular

__all__ = ["EquiangularIntegration"]

#: by which cosines and norms of the tokens given may differ: rounding of numbers in a file
_EQUAL = 1e-9
#: of a cosine, within which it counts as 1 or as the least one, where it stays
_COSINE_ROUNDING = 1e-14
#: tokens whose angles are checked in pairs
_MOST_TOKENS = 4096
#: microseconds of one attempted step: twelve evaluations in Python
_COST = 1500.0


@dataclass(frozen=True, eq=False)
class _Frame:
    """Tokens `r (c_across h_i + c_along e)`: unit vectors e along the mean and h_i across it."""

    across: Float
    along: Float
    cosine: float
    norm: float

    @classmethod
    def of(cls, vectors: Float) -> _Frame:
        """Of tokens in R^d, which must have equal norms and equal angles."""
        count = len(vectors)
        norms = np.linalg.norm(vectors, axis=1)
        if norms.min() <= 0 or np.ptp(norms) > _EQUAL * norms.max():
            raise ProblemError.at("initial", f"needs tokens of equal norms, not {norms.min():.6g} to {norms.max():.6g}")
        units = vectors / norms[:, None]
        mean = units.mean(axis=0)
        cosine = 1.0 if count == 1 else float((count * (mean @ mean) - 1) / (count - 1))
        gram = units @ units.T
        np.fill_diagonal(gram, cosine)
        if np.abs(gram - cosine).max() > _EQUAL:
            pair = f"{gram.min():.6g} to {gram.max():.6g}"
            raise ProblemError.at("initial", f"needs tokens with equal cosines, not {pair}; use random: equiangular")
        across = units - mean
        lengths = np.linalg.norm(across, axis=1, keepdims=True)
        long = float(np.linalg.norm(mean))
        along = mean / long if long > _COSINE_ROUNDING else np.zeros_like(mean)
        return cls(across / np.where(lengths > _COSINE_ROUNDING, lengths, np.inf), along, cosine, float(norms.mean()))

    def vectors(self, gap: float, sum_: float, norm: float) -> Float:
        """Tokens of that norm with `1 - rho = gap` and `1 + (n-1) rho = sum_`."""
        count = len(self.across)
        return norm * (np.sqrt(gap * (count - 1) / count) * self.across + np.sqrt(sum_ / count) * self.along)


class EquiangularIntegration(ReducedIntegration):
    """State `(log((1 + (n-1) rho) / (1 - rho)), r)`."""

    def __init__(self, settings: Equiangular, task: InitialValueProblem) -> None:
        points, weights = task.initial.nodes()
        super().__init__(task, weights)
        equal_weights(weights)
        geometry = task.equation.geometry
        self._settings, self._count = settings, len(weights)
        self._velocity = task.equation.velocity
        self._scheme = task.equation.normalization
        if self._count > _MOST_TOKENS:
            raise ProblemError.at("initial", f"{self._count:,} tokens: equal angles are checked up to {_MOST_TOKENS:,}")
        self._frame = _Frame.of(geometry.embed(points))
        count, cosine = self._count, self._frame.cosine
        self._fixed = min(1 - cosine, 1 + (count - 1) * cosine) <= _COSINE_ROUNDING * count
        ratio = 0.0 if self._fixed else float(np.log((1 + (count - 1) * cosine) / (1 - cosine)))
        system = _CosineAndNorm(self, np.array([ratio, self._frame.norm]))
        self._march = March(system, settings.tolerance, implicit=True)
        self._time, self._state = 0.0, self._march.state

    @property
    def breaks(self) -> list[float]:
        """Times at which a coefficient, or the scheme of normalisation, changes."""
        switch = () if self._scheme is None or self._scheme.switch is None else (self._scheme.switch,)
        return sorted({*self._velocity.breaks(), *switch})

    def _gap_and_sum(self, state: Float) -> tuple[float, float]:
        """`1 - rho` and `1 + (n-1) rho`."""
        count, ratio = self._count, float(state[0])
        if self._fixed:
            return 1 - self._frame.cosine, 1 + (count - 1) * self._frame.cosine
        if ratio > 0:
            small = np.exp(-ratio)
            return count * small / (1 + (count - 1) * small), count / (1 + (count - 1) * small)
        large = np.exp(ratio)
        return count / (large + count - 1), count * large / (large + count - 1)

    def slope(self, time: float, state: Float) -> Float:
        gap, sum_ = self._gap_and_sum(state)
        count, norm = self._count, float(state[1])
        if not norm > 0:
            raise ProblemError.at("initial", "norms of tokens have reached 0")
        own, other = self._shares(time, gap)
        along = own + (sum_ - 1) * other
        # |own x_i + other sum_{j != i} x_j|^2: the part along the mean, and the one across it
        length = np.sqrt(((own + (count - 1) * other) ** 2 * sum_ + (own - other) ** 2 * (count - 1) * gap) / count)
        speed, growth = self._factors(time, norm, float(length))
        turning = 0.0 if self._fixed else 2 * count * other * speed
        return np.array([turning, growth * along])

    def _factors(self, time: float, norm: float, length: float) -> tuple[float, float]:
        """1/s, and what the attention along a token is multiplied by for the change of its norm."""
        scheme = self._scheme
        if scheme is None:
            return 1.0, 0.0
        pre = scheme.radius / norm, scheme.radius
        root, shrunk = np.sqrt(time + 1), 1 / length if length > 0 else np.inf
        return {
            "post": (1.0, 0.0),  # the tokens themselves are radius theta
            "pre": pre,
            "peri": (shrunk / norm, shrunk),
            "mix": (scheme.radius, 0.0) if time < (scheme.switch or 0.0) else pre,
            "ngpt": ((scheme.rate or 1.0) * shrunk, 0.0),
            "sqrt": (pre[0] / root, pre[1] / root),
        }[scheme.kind]

    def _shares(self, time: float, gap: float) -> tuple[float, float]:
        """What a token itself, and each other one, is multiplied by in the attention of a token."""
        dimension = self._task.equation.geometry.ambient_dimension
        square = 1.0 if self._scheme is None else self._scheme.radius**2
        weights = np.array([1.0, self._count - 1]) / self._count
        own, other = 0.0, 0.0
        law = self._velocity.at(time).law
        for term in () if law is None else law.terms(dimension):
            form = term.head.key_form(dimension)
            strength, damping = term.head.query_matrix(dimension)[0, 0], 0.0 if form is None else form[0, 0]
            scores = square * np.array([[strength - damping, strength * (1 - gap) - damping]])
            shares = term.value[0, 0] * term.head.couplings(scores, weights)[0][0]
            own, other = own + float(shares[0]), other + float(shares[1]) / max(self._count - 1, 1)
        return own, other

    @property
    def time(self) -> float:
        return self._time

    def advance(self, target: float, budget: int) -> Progress:
        for tried in self._march.to(target, max(1, int(budget / _COST))):
            if tried is Verdict.VANISHED:
                self._stand(self._march.time)
                message = self._march.trouble or "norms of tokens go to 0, and their angles move ever faster"
                return Progress(State.NOT_FINITE, message, "end the run earlier")
            self._stand(min(self._march.time, target))
        if self._march.time < target:
            return Progress(State.UNDER_WAY)
        self._stand(target)
        return Progress(State.REACHED)

    def _stand(self, time: float) -> None:
        self._time, self._state = time, self._march.look(time)

    def vectors(self) -> Float:
        gap, sum_ = self._gap_and_sum(self._state)
        scheme, flat = self._scheme, self._task.equation.geometry.flat
        longer = scheme.radius if scheme is not None and scheme.kind == "post" and not flat else 1.0
        return self._frame.vectors(gap, sum_, longer * float(self._state[1]))

    def residual(self) -> float:
        """`|x_i'| / |x_i|`, the same for all tokens."""
        gap, sum_ = self._gap_and_sum(self._state)
        slope, count = self.slope(self._time, self._state), self._count
        # |theta'|: half the speed of the angle between a token and the mean, from rho' = gap sum_ / n (log ratio)'
        turn = np.sqrt(gap * sum_ * (count - 1)) * slope[0] / (2 * count)
        return float(np.hypot(turn, slope[1] / self._state[1]))

    def state(self) -> dict[str, AnyArray]:
        return {"view_time": np.array(self._time), "view": self._state.copy(), **self._march.arrays()}

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self._march.restore(state)
        self._time, self._state = float(state["view_time"]), state["view"].copy()

    def accuracy(self) -> Accuracy:
        return Accuracy(PROMISED * self._settings.tolerance, kept=True)

    def statistics(self) -> dict[str, float]:
        return {"particles": float(self._count), **{name: float(value) for name, value in self._march.counts.items()}}


class _CosineAndNorm(OrdinarySystem):
    """Their equations."""

    def __init__(self, tokens: EquiangularIntegration, start: Float) -> None:
        self._tokens, self.start, self.breaks = tokens, start, tokens.breaks

    def rhs(self, time: float, state: Float) -> Float:
        return self._tokens.slope(time, state)

    def sizes(self, state: Float) -> Size:
        """Errors of the logarithm, and relative ones of the norm."""
        norm = float(state[1])
        return lambda error: float(max(abs(error[0]), abs(error[1]) / norm))
