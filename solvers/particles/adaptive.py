"""Any number of tokens without noise, by every law: adaptive steps of order eight with the fast sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mfpde.contracts import PROMISED, Accuracy, Progress, State
from mfpde.errors import ProblemError
from mfpde.measure import Measure, Particles
from mfpde.normalization import Normalization
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.kernels.token_steps import ROUNDING
from mfpde.solvers.particles.schemes import norm_rate, speed_factor
from mfpde.solvers.particles.shown import TokenIntegration, lengths, spread
from mfpde.solvers.particles.tokens import Tokens
from mfpde.solvers.steppers.base import OrdinarySystem, Size
from mfpde.solvers.stepping.adaptive_ode import Attempt, March
from mfpde.solvers.stepping.pole import LOOSER, blow_up, ended_early
from mfpde.transform.work import pairs_worth
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["AdaptiveIntegration"]

#: of the tolerance, for the error of one step
STEP_SHARE = 0.1
#: of a coordinate; tokens beyond it are lost
_MAX_COORDINATE = 1e60
#: numbers of a state up to which stiff stretches are solved by an implicit scheme with a matrix of that size
_MOST_IMPLICIT = 100


class AdaptiveIntegration(TokenIntegration):
    """`x_i' = G_{mu^n}(x_i)`; on spheres the drift is continued to all lengths, `|x| G(x / |x|)`."""

    def __init__(self, settings: ParticleSystem, task: InitialValueProblem, tokens: Tokens) -> None:
        super().__init__(settings, task, tokens)
        self._before: Measure | None = None
        start = tokens.points[0]
        if self._scheme is not None:
            directions, norms = self.first_directions()
            start = np.hstack([directions[0], norms[0]])
        self._shape = start.shape
        system = _TokenSystem(self, np.ascontiguousarray(start).ravel())
        if not np.isfinite(system.rate()):
            raise ProblemError.at("attention", "moves these tokens at a speed beyond all numbers")
        self._system = system
        self._march = self._marching()
        self._time, self._state = 0.0, system.start
        self._amplification = Amplification(task.equation.autonomous)

    def _marching(self, looser: float = 1.0) -> March:
        tolerance = looser * STEP_SHARE * self._settings.tolerance
        return March(self._system, tolerance, implicit=self._system.start.size <= _MOST_IMPLICIT, independent=True)

    @property
    def breaks(self) -> list[float]:
        """Times at which a coefficient, or the scheme of normalisation, changes."""
        switch = [] if self._scheme is None or self._scheme.switch is None else [self._scheme.switch]
        return sorted({*self._velocity.breaks(), *switch})

    def _native(self, state: Float) -> Float:
        rows = state.reshape(self._shape)
        if self._scheme is None:
            return self._geometry.retract(rows)
        return (self._directions or self._geometry).points(rows[:, :-1] / lengths(rows[:, :-1]))

    def slope(self, time: float, state: Float) -> Float:
        if not float(np.abs(state).max(initial=0.0)) < _MAX_COORDINATE:
            raise ProblemError.at("points", "are beyond all bounds")
        if self._scheme is not None:
            return self._normed_slope(self._scheme, time, state.reshape(self._shape)).ravel()
        points = self._native(state)
        measure = Particles(points, self._tokens.weights, self._geometry, self._tokens.positions)
        velocity = self._velocity.at(time)
        velocity.prepare(measure, self._before)
        self._before = measure
        drift = velocity.drift(measure, points, self._tokens.positions)
        return self._geometry.extend(state.reshape(self._shape), drift).ravel()

    def _normed_slope(self, scheme: Normalization, time: float, rows: Float) -> Float:
        """`theta' = P Att / s` continued to all lengths, and r' (physics section 7)."""
        size, norms = lengths(rows[:, :-1]), rows[:, -1:]
        directions = rows[:, :-1] / size
        gain = 1.0 if self._gain is None else self._gain.factors
        output = self.outputs(self._velocity, time, gain * directions)
        output = output / gain if scheme.kind == "post" else output
        along = np.einsum("nc,nc->n", output, directions)[:, None]
        turned = (output - along * directions) * size / speed_factor(scheme, time, norms, lengths(output))
        return np.hstack([turned, norm_rate(scheme, time, along, lengths(output))])

    def forget(self) -> None:
        """Forget what was found before (potentials of sinkhorn attention): steps must not depend on it."""
        self._before = None

    def sizes(self, state: Float) -> Size:
        """The largest error of a coordinate, relative to the spread of the tokens."""
        size = 1.0
        if self._directions is None:
            rounding = ROUNDING / (STEP_SHARE * self._settings.tolerance) * float(np.abs(state).max(initial=0.0))
            size = max(spread(state.reshape(self._shape), self._tokens), rounding)
        return lambda error: float(np.abs(error).max(initial=0.0)) / size

    def growth_rate(self, time: float, state: Float) -> float:
        """`d/dt log |x|^2` of the token that is farthest out, in R^d."""
        if self._directions is not None:
            return 0.0
        points, speed = state.reshape(self._shape), self.slope(time, state).reshape(self._shape)
        self.forget()
        squares = np.einsum("nc,nc->n", points, points)
        farthest = int(np.argmax(squares))
        return 2 * float(points[farthest] @ speed[farthest]) / float(squares[farthest]) if squares.any() else 0.0

    @property
    def time(self) -> float:
        return self._time

    def advance(self, target: float, budget: int) -> Progress:
        for tried in self._march.to(target, max(1, int(budget / self._cost()))):
            if tried is Attempt.VANISHED:
                self._stand(self._march.time)
                found = blow_up(self._march, self._marching(LOOSER))
                return ended_early("a token", found, self._march)
            self._stand(min(self._march.time, target))
        if self._march.time < target:
            return Progress(State.UNDER_WAY)
        self._stand(target)
        self._amplification.see(self.residual())
        return Progress(State.REACHED)

    def _stand(self, time: float) -> None:
        self._time = time
        self.forget()  # a look depends on the ends of its step alone
        self._state = self._march.look(time)

    def _cost(self) -> float:
        """Microseconds of one attempted step, from the number of operations."""
        count, width = self._shape
        return 13 * (200 + 1.5e-3 * pairs_worth(count, width))

    def points(self) -> Float:
        return self._native(self._state)[None]

    def shown(self) -> Float:
        if self._scheme is None:
            return self.points()
        rows = self._state.reshape(self._shape)
        return self.lengthened(rows[:, :-1] / lengths(rows[:, :-1]), rows[:, -1:])[None]

    def residual(self) -> float:
        self.forget()
        if self._scheme is None:
            return super().residual()
        speed = self.slope(self._time, self._state).reshape(self._shape)[:, :-1]
        return float(np.sqrt(np.einsum("n,nc->", self._tokens.weights, speed**2)))

    def state(self) -> dict[str, AnyArray]:
        view = {"view_time": np.array(self._time), "view": self._state.copy(), "start": self._march.start.copy()}
        return {**view, **self.tokens_state(), **self._march.arrays(), **self._amplification.arrays()}

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self._march.restore(state)
        self._march.start = state["start"].copy()
        self._time, self._state = float(state["view_time"]), state["view"].copy()
        self._amplification.restore(state)

    def accuracy(self) -> Accuracy:
        return self._amplification.judged(Accuracy(PROMISED * self._settings.tolerance, kept=True))

    def statistics(self) -> dict[str, float]:
        counts = {name: float(value) for name, value in self._march.counts.items()}
        return {"particles": float(self._tokens.count), **counts}


class _TokenSystem(OrdinarySystem):
    """Their equation, from a state that holds them one after the other."""

    def __init__(self, tokens: AdaptiveIntegration, start: Float) -> None:
        self._tokens, self.start, self.breaks = tokens, start, tokens.breaks

    def rhs(self, time: float, state: Float) -> Float:
        return self._tokens.slope(time, state)

    def sizes(self, state: Float) -> Size:
        return self._tokens.sizes(state)

    def growth_rate(self, time: float, state: Float) -> float:
        return self._tokens.growth_rate(time, state)

    def forget(self) -> None:
        self._tokens.forget()
