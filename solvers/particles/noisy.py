"""Tokens with noise: `dx_i = G(x_i) dt + sqrt(2/kappa) dW_i` in steps of one evaluation each.

Noise `N` and drift `D` are split as `D(h/2) N(h) D(h/2)`, of weak order two on every space. Of what is between two
noises, `D(h/2) D(h/2)`, the middle x is what is shown, and its drift serves both halves: from y, where the noise has
left a token, along the drift g of the step before, `x = y + (h/2) g`; then along the drift at x from y once more,
`y -> y + h G(x)`. In R^d that is the scheme of Adams and Bashforth with additive noise,
`x_{n+1} = x_n + h (3/2 G_n - 1/2 G_{n-1}) + sqrt(2h/kappa) xi_n`, of strong order one. On spheres sums are geodesics,
and tangents move along them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from mfpde.contracts import Progress, State
from mfpde.errors import ProblemError
from mfpde.solvers.particles.shown import TokenIntegration, spread
from mfpde.solvers.particles.steps_on_space import carried, jolted, moved
from mfpde.solvers.particles.tokens import Tokens
from mfpde.streams import Stream
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["NoisyIntegration"]

#: of the time in which drifts, or on bounded spaces noise, change anything: the length of a step that is not given
_STEP_SHARE = 0.05
#: of the spread of tokens, by which they are moved to see how fast drifts change
_NUDGE = 1e-4
#: of a coordinate; tokens beyond it are lost
_FARTHEST = 1e60
#: of a step: a time so near to the end of one is that end
_SAME_TIME = 1e-9
#: what random numbers are drawn for: steps, and looks inside one
_STEP_NOISE, _LOOK_NOISE = 1, 2
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)


class NoisyIntegration(TokenIntegration):
    """Steps of equal length from t = 0 on; a time between two is reached by a part of a step that is not kept."""

    def __init__(self, settings: ParticleSystem, task: InitialValueProblem, tokens: Tokens) -> None:
        super().__init__(settings, task, tokens)
        self._noise = task.equation.noise
        self._streams = [Stream(settings.seed, copy, _STEP_NOISE) for copy in range(tokens.copies)]
        self._steps, self._evaluations = 0, 0
        self._x = tokens.points.copy()
        self._drift: Float | None = self._drifts(0.0, self._x)
        if not np.isfinite(self._drift).all():
            raise ProblemError.at("attention", "moves these tokens at a speed beyond all numbers")
        self._length = self._chosen_step()
        self._y = self._each(moved, self._x, -0.5 * self._length * self._drift)
        self._time, self._view = 0.0, self._x

    # -- lengths of steps
    # ---------------------------------------------------------------------------------------------------------

    def _chosen_step(self) -> float:
        """The step that was given, or 1, 2 or 5 times a power of ten: output times then are ends of steps, mostly."""
        given = self._settings.step
        if given is not None:
            self._check_step(given)
            return given
        rate = self._rate()
        longest = min(_STEP_SHARE / rate if rate > 0 else np.inf, 0.1 * self._task.until)
        power = 10.0 ** np.floor(np.log10(longest))
        return float(max(share for share in (1, 2, 5) if share * power <= longest * (1 + 1e-12)) * power)

    def _check_step(self, step: float) -> None:
        bend = self._geometry.ambient_dimension - 2
        least = min(self._diffusions())
        if not self._geometry.flat and bend * 2 * least * step / 6 >= 0.5:
            wanted = f"must be below {1.5 / (bend * least):.3g} (1.5 kappa / (d - 2)): noise turns tokens around"
            raise ProblemError.at("solver.step", wanted)

    def _diffusions(self) -> list[float]:
        return [self._noise.diffusion_at(time) for time in (0.0, *self._noise.breaks())]

    def _rate(self) -> float:
        """How fast tokens move relative to their spread, how fast drifts change with places, and noise on bounded
        spaces."""
        rate = 0.0
        assert self._drift is not None  # noqa: S101 - at the start
        for copy, (points, drift) in enumerate(zip(self._x, self._drift, strict=True)):
            size = spread(points, self._tokens)
            rate = max(rate, _root_mean_square(drift) / size)
            push = self._streams[copy].normals(0, *points.shape)
            push *= _NUDGE * size / max(_root_mean_square(push), 1e-300)
            nudged = moved(self._geometry, points, push)
            changed = carried(self._geometry, self._drift_of(0.0, nudged), nudged, points) - drift
            rate = max(rate, _root_mean_square(changed) / (_NUDGE * size))
        noise = 0.0 if self._geometry.flat else max(self._diffusions()) * (self._geometry.ambient_dimension - 1)
        return rate + noise

    # -- what moves tokens
    # ---------------------------------------------------------------------------------------------------------

    def _drift_of(self, time: float, points: Float) -> Float:
        self._evaluations += 1
        return self.drift(time, points)

    def _drifts(self, time: float, points: Float) -> Float:
        return np.stack([self._drift_of(time, each) for each in points])

    def _each(self, change: Callable[..., Float], points: Float, *arrays: Float) -> Float:
        """A change of the points of all copies at once."""
        flat = (array.reshape(-1, points.shape[2]) for array in (points, *arrays))
        return change(self._geometry, *flat).reshape(points.shape)

    def _normals(self, step: int, purpose: int = _STEP_NOISE) -> Float:
        """Standard normal numbers of that step; with `increments` the sum of those of so many finer steps."""
        finer = self._settings.increments
        total = np.zeros(self._x.shape)
        for copy, stream in enumerate(self._streams):
            drawn = stream if purpose == _STEP_NOISE else Stream(stream.seed, stream.copy, purpose)
            for part in range(finer):
                total[copy] += drawn.normals(step * finer + part, *self._x.shape[1:])
        return total / np.sqrt(finer)

    def _variance(self, start: float, end: float) -> float:
        """`int 2 / kappa dt`."""
        inside = [time for time in self._noise.breaks() if start < time < end]
        total = 0.0
        for low, high in itertools.pairwise([start, *inside, end]):
            middle, half = 0.5 * (low + high), 0.5 * (high - low)
            total += half * sum(
                weight * 2 * self._noise.diffusion_at(middle + half * node)
                for node, weight in zip(_NODES, _WEIGHTS, strict=True)
            )
        return total

    # -- steps
    # ---------------------------------------------------------------------------------------------------------

    def _moved_on(self, length: float, start: Float, noise: Float) -> tuple[Float, Float]:
        """x and y at the end of a step of that length, from y = `start` at its beginning."""
        time, drift = self._steps * self._length, self._present_drift()
        there = self._each(carried, drift, self._x, start)
        pushed = self._each(moved, start, length * there)
        variance = self._variance(time, time + length)
        y = self._each(lambda space, points, normal: jolted(space, points, normal, variance), pushed, noise)
        turned = self._each(carried, self._each(carried, there, start, pushed), pushed, y)
        return self._each(moved, y, 0.5 * length * turned), y

    def _present_drift(self) -> Float:
        if self._drift is None:
            self._drift = self._drifts(self._steps * self._length, self._x)
        return self._drift

    def _step(self) -> None:
        self._x, self._y = self._moved_on(self._length, self._y, self._normals(self._steps))
        self._drift = None
        self._steps += 1

    def _look(self, time: float) -> Float:
        """The tokens at a time inside the next step, with the increments that this step will have had until then."""
        part = time - self._steps * self._length
        share = part / self._length
        whole, bridge = self._normals(self._steps), self._normals(self._steps, _LOOK_NOISE)
        noise = np.sqrt(share) * whole + np.sqrt(1 - share) * bridge
        start = self._each(moved, self._x, -0.5 * part * self._present_drift())
        return self._moved_on(part, start, noise)[0]

    @property
    def time(self) -> float:
        return self._time

    def advance(self, target: float, budget: int) -> Progress:
        left = max(1, int(budget / self._cost()))
        while (self._steps + 1 - _SAME_TIME) * self._length <= target:
            if left == 0:
                self._stand(self._steps * self._length, self._x)
                return Progress(State.UNDER_WAY)
            left -= 1
            self._step()
            if not float(np.abs(self._x).max()) < _FARTHEST:
                self._stand((self._steps - 1) * self._length, self._view)
                return Progress(State.NOT_FINITE, "tokens diverge", "end the run earlier, or take shorter steps")
        near = abs(target - self._steps * self._length) <= _SAME_TIME * self._length
        self._stand(target, self._x if near else self._look(target))
        return Progress(State.REACHED)

    def _stand(self, time: float, points: Float) -> None:
        self._time, self._view = time, points

    def _cost(self) -> float:
        """Microseconds of one step, from the number of operations."""
        copies, count, width = self._x.shape
        pairs = min(float(count) ** 2, {1: 200.0, 2: 4000.0}.get(width, count) * count)
        return copies * (300 + 1.5e-3 * pairs + 0.05 * count * width)

    def points(self) -> Float:
        if not self._geometry.angular:
            return self._view
        return np.mod(self._view, 2 * np.pi)

    def state(self) -> dict[str, AnyArray]:
        moving = {"x": self._x.copy(), "y": self._y.copy(), "view": self._view.copy()}
        numbers = {"steps": np.array([self._steps, self._evaluations]), "times": np.array([self._time, self._length])}
        return {**moving, **numbers, **self.tokens_state()}

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self._x, self._y, self._view = (state[name].copy() for name in ("x", "y", "view"))
        self._steps, self._evaluations = (int(number) for number in state["steps"])
        self._time, self._length = (float(number) for number in state["times"])
        self._drift = None

    def statistics(self) -> dict[str, float]:
        counts = {"steps": float(self._steps), "evaluations": float(self._evaluations), "step": self._length}
        return {"particles": float(self._tokens.copies * self._tokens.count), **counts}


def _root_mean_square(vectors: Float) -> float:
    return float(np.sqrt(np.einsum("nc,nc->", vectors, vectors) / len(vectors)))
