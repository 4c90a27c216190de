"""Any number of tokens without noise, by every law: adaptive steps of order eight with the fast sums, clusters
merged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mfpde.contracts import PROMISED, Accuracy, Progress, State
from mfpde.errors import ProblemError
from mfpde.measure import Measure
from mfpde.normalization import Normalization
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.forms.particles import mergers_trail
from mfpde.solvers.kernels.token_steps import ROUNDING
from mfpde.solvers.particles.clusters import Clusters, Gathered, centres, crowded, meetings, merge_distance
from mfpde.solvers.particles.schemes import norm_rate, speed_factor
from mfpde.solvers.particles.shown import TokenIntegration, lengths, spread
from mfpde.solvers.particles.tokens import Tokens, first_tokens
from mfpde.solvers.steppers.base import OrdinarySystem, Size
from mfpde.solvers.stepping.adaptive_ode import March, Verdict
from mfpde.solvers.stepping.pole import LOOSER, blow_up, ended_early
from mfpde.transform.work import pairs_worth
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["AdaptiveIntegration"]

#: of the tolerance, for steps under a velocity with kinks: estimates of steps that cross them understate the error
_KINKED_SHARE = 0.01
#: of a coordinate; tokens beyond it are lost
_MAX_COORDINATE = 1e60
#: errors of a step are told apart by this factor: they are known to some seven digits, and steps of other lengths make
#: other errors, so that runs on different numbers of ranks would part by more than rounding where kernels have kinks
_ERROR_RATIO = 2.0 ** (1 / 32)
#: numbers of a state up to which stiff stretches are solved by an implicit scheme with a matrix of that size
_MOST_IMPLICIT = 100
#: numbers of a state up to which steps may take seventeen arrays of its size (70 MB), which makes them twice as fast;
#: of more, steps end at output times, so that no look needs another one
_MOST_IN_MANY_ARRAYS = 500_000


class AdaptiveIntegration(TokenIntegration):
    """`x_i' = G_{mu^n}(x_i)`; on spheres the drift is continued to all lengths, `|x| G(x / |x|)`."""

    def __init__(
        self, settings: ParticleSystem, task: InitialValueProblem, tokens: Tokens, gathered_at: int = 0
    ) -> None:
        super().__init__(settings, task, tokens)
        #: what it has come to when so many tokens are left
        self._gathered_at = gathered_at
        self.gathered: Gathered | None = None
        self._before: Measure | None = None
        self._clusters, self._merge = Clusters.of(tokens.weights), merge_distance(settings, tokens, self._scheme)
        start = tokens.points[0]
        if self._scheme is not None:
            directions, norms = self.first_directions()
            self._norms = norms[0]
            start = np.hstack([directions[0], norms[0]])
        else:
            self._tokens = tokens.without_places()
        if self._merge > 0:
            self._layout = replace(self._layout, trail=mergers_trail(copies=False), trail_row="merger")
        self._width = start.shape[1]
        self._march_is_compact = tokens.total * self._width > _MOST_IN_MANY_ARRAYS
        #: where the points are that merge
        self._space = self._directions or self._geometry
        system = _TokenSystem(self, np.ascontiguousarray(start).ravel())
        if not np.isfinite(system.rate()):
            raise ProblemError.at("attention", "moves these tokens at a speed beyond all numbers")
        self._system = system
        self._march = self._marching()
        self._time, self._state = 0.0, system.start
        system.begun()
        self._amplification = Amplification(task.equation.autonomous)

    def _marching(self) -> March:
        implicit = self._tokens.total * self._width <= _MOST_IMPLICIT
        tolerance = self._settings.tolerance * (_KINKED_SHARE if self._velocity.kinked_by_points else 1.0)
        return March(self._system, tolerance, implicit=implicit, independent=True, compact=self._march_is_compact)

    @property
    def breaks(self) -> list[float]:
        """Times at which a coefficient, or the scheme of normalisation, changes."""
        switch = [] if self._scheme is None or self._scheme.switch is None else [self._scheme.switch]
        return sorted({*self._velocity.breaks(), *switch})

    def _rows(self, state: Float) -> Float:
        """One for each token that moves."""
        return state.reshape(-1, self._width)

    @property
    def _moving(self) -> Tokens:
        """The tokens with the masses of their clusters."""
        return replace(self._tokens, weights=self._clusters.weights)

    def _native(self, state: Float) -> Float:
        rows = self._rows(state)
        if self._scheme is None:
            return self._geometry.retract(rows)
        return self._space.points(rows[:, :-1] / lengths(rows[:, :-1]))

    def slope(self, time: float, state: Float) -> Float:
        if not self._largest(state) < _MAX_COORDINATE:
            raise ProblemError.at("points", "are beyond all bounds")
        if self._scheme is not None:
            return self._normed_slope(self._scheme, time, self._rows(state)).ravel()
        points = self._native(state)
        measure = self._moving.law(points)
        velocity = self._velocity.at(time)
        velocity.prepare(measure, self._before)
        self._before = None if self._march_is_compact else measure
        drift = velocity.drift(measure, points, self._tokens.positions)
        return self._geometry.extend(self._rows(state), drift).ravel()

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

    def _largest(self, state: Float) -> float:
        return self._ranks.most(float(np.abs(state).max(initial=0.0)))

    def forget(self) -> None:
        """Forget what was found before (potentials of sinkhorn attention): steps must not depend on it."""
        self._before = None

    def sizes(self, state: Float) -> Size:
        """The largest error of a coordinate, relative to the spread of the tokens."""
        size = 1.0
        if self._directions is None:
            rounding = ROUNDING / self._settings.tolerance * self._largest(state)
            size = max(spread(self._rows(state), self._moving), rounding)
        return lambda error: _told_apart(self._largest(error) / size)

    def growth_rate(self, time: float, state: Float) -> float:
        """`d/dt log |x|^2` of the token that is farthest out, in R^d."""
        if self._directions is not None:
            return 0.0
        points, speed = self._rows(state), self._rows(self.slope(time, state))
        self.forget()
        squares = np.einsum("nc,nc->n", points, points)
        farthest = int(np.argmax(squares))
        own = np.array([[squares[farthest], points[farthest] @ speed[farthest]]])
        square, growth = max(self._ranks.gathered(own).tolist())
        return 2 * growth / square if square else 0.0

    @property
    def time(self) -> float:
        return self._time

    def advance(self, target: float, budget: int) -> Progress:
        left = max(1, int(budget / self._cost()))
        while self._march.time < target and left > 0:
            left -= 1
            self._march.leave()
            self._join()
            self._state = self._march.state
            if self._clusters.weights.size <= self._gathered_at:
                self._stand(self._march.time)
                self.gathered = self._gathering()
                return Progress(State.UNDER_WAY)
            tried = self._march.attempt(target if self._march_is_compact else np.inf)
            if tried is Verdict.ACCEPTED:
                self._march.replace(self._on_space(self._march.state))
            if tried is Verdict.VANISHED:
                self._stand(self._march.time)
                return ended_early("a token", blow_up(self._march, self._looser()), self._march)
            self._stand(min(self._march.time, target))
        if self._march.time < target:
            return Progress(State.UNDER_WAY)
        self._stand(target)
        self._amplification.see(self.residual())
        return Progress(State.REACHED)

    def _looser(self) -> March:
        """From the start, with a looser tolerance."""
        settings = self._settings.model_copy(update={"tolerance": LOOSER * self._settings.tolerance})
        return type(self)(settings, self._task, first_tokens(settings, self._task))._march

    def _stand(self, time: float) -> None:
        self._time = time
        there = self._march.look(time)
        self._state = there if time == self._march.time else self._on_space(there)

    def _on_space(self, state: Float) -> Float:
        """That state with native points; with norms it is continued to all lengths."""
        return self._native(state).ravel() if self._scheme is None else state

    def _join(self) -> None:
        """Make those one that have come together, before a step: looks into the last one are over."""
        rows, slope = self._rows(self._march.state), None
        while self._merge > 0:
            points = self._native(rows.ravel())
            near = crowded(self._space.embed(points), self._merge)
            if near.size < 2:
                break
            if slope is None:
                slope = self._rows(self.slope(self._march.time, self._march.state))
                self.forget()
            vectors = self._space.embed(points[near])
            speeds = slope[near, :-1] if self._scheme is not None else self._space.pushed(points[near], slope[near])
            owners = meetings(vectors, speeds, self._merge)
            joined, means = centres(vectors, self._clusters.weights[near], owners)
            if joined.size == 0:
                break
            rows, every = rows.copy(), np.arange(len(rows))
            rows[near[joined]], every[near] = self._placed(means, rows[near[joined]]), near[owners]
            kept = self._clusters.join(every, self._march.time)
            rows, slope = rows[kept], slope[kept]
        if rows.size < self._march.state.size:
            self._march.replace(rows.ravel())
            self._march.leave()

    def _gathering(self) -> Gathered:
        counts, vectors = self._march.counts, self._space.embed(self._native(self._state))
        steps = counts["steps"], counts["rejected"], counts["evaluations"]
        return Gathered(self._clusters, vectors, self._time, steps, self._amplification.arrays())

    def _placed(self, vectors: Float, rows: Float) -> Float:
        """Those rows at other places."""
        units = vectors if self._space.flat else vectors / lengths(vectors)
        return self._space.points(units) if self._scheme is None else np.hstack([units, rows[:, -1:]])

    def _cost(self) -> float:
        """Microseconds of one attempted step, from the number of operations."""
        return 13 * (200 + 1.5e-3 * pairs_worth(self._left, self._width))

    @property
    def _left(self) -> int:
        """How many tokens still move, on all ranks."""
        return self._tokens.total - self._clusters.gone.size

    def points(self) -> Float:
        rows = self._rows(self._state) if self._scheme is None else self._native(self._state)
        return self._of_all(rows)[None]

    def shown(self) -> Float:
        if self._scheme is None:
            return self.points()
        rows = self._of_all(self._rows(self._state))
        norms = self._norms if self._scheme.keeps_norms else rows[:, -1:]
        return self.lengthened(rows[:, :-1] / lengths(rows[:, :-1]), norms)[None]

    def _of_all(self, rows: Float) -> Float:
        """Of each token at first, what that one has which it is now."""
        return rows[self._clusters.members] if self._clusters.gone.size else rows

    def residual(self) -> float:
        self.forget()
        if self._scheme is None:
            return super().residual()
        speed = self._rows(self.slope(self._time, self._state))[:, :-1]
        return float(np.sqrt(self._ranks.sum(float(np.einsum("n,nc->", self._clusters.weights, speed**2)))))

    def trail(self, since: int) -> dict[str, Float]:
        """Mergers in the order of their times."""
        rows = self._clusters.rows()
        return {name: rows[name][since:] for name in self._layout.trail}

    def own_state(self) -> dict[str, AnyArray]:
        """What a snapshot has already is referred to by its file; a step into which was looked is made again from its
        beginning."""
        inside = self._time < self._march.time
        view = {"view_time": np.array(self._time), "view": self._state}
        march = {**self._march.arrays(), "march_state": self._march.start if inside else self._state}
        tokens = self.tokens_state() if self._scheme is not None else {**self.tokens_state(), "tokens": self.points()}
        return {**view, **tokens, **march, **self._clusters.arrays(), **self._amplification.arrays()}

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self._clusters = Clusters.restored(state, self._tokens.weights)
        self._march.restore(state)
        self._time, self._state = float(state["view_time"]), state["view"].copy()
        if self._time < self._march.time:
            self._march.repeat(self._march.state)
            self._march.replace(self._on_space(self._march.state))
        self._amplification.restore(state)

    def accuracy(self) -> Accuracy:
        return self._amplification.judged(Accuracy(PROMISED * self._settings.tolerance, kept=True))

    def statistics(self) -> dict[str, float]:
        counts = {name: float(value) for name, value in self._march.counts.items()}
        return {"particles": float(self._left), **counts}


def _told_apart(error: float) -> float:
    """The next larger power of the ratio."""
    if not 0 < error < math.inf:
        return error
    return _ERROR_RATIO ** math.ceil(math.log(error) / math.log(_ERROR_RATIO))


class _TokenSystem(OrdinarySystem):
    """Their equation, from a state that holds them one after the other."""

    def __init__(self, tokens: AdaptiveIntegration, start: Float) -> None:
        self._tokens, self.start, self.breaks = tokens, start, tokens.breaks

    def begun(self) -> None:
        """The march has its start: of many tokens that is memory."""
        self.start = np.zeros(0)

    def rhs(self, time: float, state: Float) -> Float:
        return self._tokens.slope(time, state)

    def sizes(self, state: Float) -> Size:
        return self._tokens.sizes(state)

    def growth_rate(self, time: float, state: Float) -> float:
        return self._tokens.growth_rate(time, state)

    def forget(self) -> None:
        self._tokens.forget()
