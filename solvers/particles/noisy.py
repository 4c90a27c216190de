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
from mfpde.solvers.kernels.token_rows import pairs_for
from mfpde.solvers.kernels.token_slope import PairwiseLaw, slopes_of_copies
from mfpde.solvers.particles.pairwise import MOST_TOKENS, pairwise_law
from mfpde.solvers.particles.shown import TokenIntegration, spread
from mfpde.solvers.particles.steps_on_space import carried, dragged, jolted, moved
from mfpde.solvers.particles.tokens import Tokens
from mfpde.streams import Stream
from mfpde.transform.threads import pieces, run_pieces
from mfpde.transform.work import pairs_worth
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["NoisyIntegration"]

#: of the time in which drifts, or on bounded spaces noise, change anything: the length of a step that is not given
_STEP_SHARE = 0.05
#: of the spread of tokens, by which they are moved to see how fast drifts change
_DIFFERENCE_STEP = 1e-4
#: of a coordinate; tokens beyond it are lost
_MAX_COORDINATE = 1e60
#: of a step: a time so near to the end of one is that end
_SAME_TIME = 1e-9
#: what random numbers are drawn for: steps, looks inside one, and the same of the noise that all tokens share
_STEP_NOISE, _LOOK_NOISE, _COMMON_NOISE, _COMMON_LOOK_NOISE = 1, 2, 3, 4
#: copies whose drifts one thread finds at a time
_COPIES_TOGETHER = 256
#: of one system alone: up to so many, sums over all pairs in one kernel take half the time of the calls that make the
#: fast sums; those are twice as fast with 900
_SINGLE_SYSTEM_TOKENS = 400
#: of the quadrature of 1/kappa over a step
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)


class NoisyIntegration(TokenIntegration):
    """Steps of equal length from t = 0 on; a time between two is reached by a part of a step that is not kept."""

    def __init__(self, settings: ParticleSystem, task: InitialValueProblem, tokens: Tokens) -> None:
        super().__init__(settings, task, tokens)
        self._noise = task.equation.noise
        most = MOST_TOKENS if tokens.copies > 1 else _SINGLE_SYSTEM_TOKENS
        few = tokens.count == tokens.total and tokens.count <= most
        self._pairwise = pairwise_law(task.equation) if few else None
        #: components of the noise that all share: an angle on the circle, a vector elsewhere
        self._shared = 1 if self._geometry.angular else self._geometry.ambient_dimension
        self._steps = 0
        self._x, self._tokens = tokens.points.copy(), tokens.without_places()
        self._drift: Float | None = self._drifts(0.0, self._x)
        if not np.isfinite(self._ranks.most(float(np.abs(self._drift).max()))):
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
        assert self._drift is not None  # noqa: S101 - at the start
        size = min(spread(points, self._tokens) for points in self._x)
        push = self._normals(0)
        push *= _DIFFERENCE_STEP * size / max(self._root_mean_square(push), 1e-300)
        nudged = self._each(moved, self._x, push)
        changed = self._each(carried, self._drifts(0.0, nudged), nudged, self._x) - self._drift
        rate = max(self._root_mean_square(self._drift), self._root_mean_square(changed) / _DIFFERENCE_STEP) / size
        noise = 0.0 if self._geometry.flat else max(self._diffusions()) * (self._geometry.ambient_dimension - 1)
        return rate + noise

    def _root_mean_square(self, vectors: Float) -> float:
        return float(np.sqrt(self._ranks.mean(np.square(vectors).sum(axis=-1))))

    # -- what moves tokens
    # ---------------------------------------------------------------------------------------------------------

    def _drifts(self, time: float, points: Float) -> Float:
        if self._pairwise is None:
            return self.drifts(time, points)
        return self._drifts_by_pairs(self._pairwise, points)

    def _drifts_by_pairs(self, law: PairwiseLaw, points: Float) -> Float:
        """Of many small systems at once."""
        tokens, space, shape = self._tokens, self._geometry, points.shape
        rows = space.embed(points.reshape(-1, shape[2]))
        states = np.ascontiguousarray(rows.reshape(*shape[:2], -1).transpose(0, 2, 1))
        positions = np.zeros(tokens.count) if tokens.positions is None else tokens.positions
        slopes, parts = np.empty_like(states), pieces(tokens.copies, _COPIES_TOGETHER)

        def work(piece: int) -> None:
            here, room = slice(*parts[piece]), pairs_for(states.shape[1], tokens.count)
            slopes_of_copies(states[here], tokens.weights, positions, law, room, slopes[here])

        run_pieces(work, len(parts))
        vectors = slopes.transpose(0, 2, 1).reshape(rows.shape)
        return space.tangent(points.reshape(-1, shape[2]), vectors).reshape(shape)

    def _each(self, change: Callable[..., Float], points: Float, *arrays: Float) -> Float:
        """A change of the points of all copies at once."""
        flat = (array.reshape(-1, points.shape[2]) for array in (points, *arrays))
        return change(self._geometry, *flat).reshape(points.shape)

    def _normals(self, step: int, purpose: int = _STEP_NOISE) -> Float:
        """Standard normal numbers of that step for each token."""
        copies, count, components = self._x.shape
        return self._summed(step, purpose, copies * count, components, self._tokens.first).reshape(self._x.shape)

    def _shared_normals(self, step: int, purpose: int = _COMMON_NOISE) -> Float:
        """Those that the tokens of a copy share, `(copies, c)`."""
        return self._summed(step, purpose, len(self._x), self._shared)

    def _summed(self, step: int, purpose: int, rows: int, components: int, first: int = 0) -> Float:
        """With `increments` the sum of the numbers of so many finer steps."""
        finer = self._settings.increments
        stream, total = Stream(self._settings.seed, 0, purpose), np.zeros((rows, components))
        for part in range(finer):
            total += stream.normals(step * finer + part, rows, components, first)
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

    def _shaken(self, points: Float, noise: Float, shared: Float | None, time: float, length: float) -> Float:
        """Points after the noise of a step: each token's own, then what all share."""
        root = self._noise.root(self._geometry.ambient_dimension)
        if root is not None:
            points = points + np.sqrt(length) * np.einsum("de,mne->mnd", root, noise)
        variance = self._variance(time, time + length)
        points = self._each(lambda space, places, normal: jolted(space, places, normal, variance), points, noise)
        if self._noise.common is None or shared is None:
            return points
        return dragged(self._geometry, points, np.sqrt(2 * self._noise.common * length) * shared, self._steps)

    def _moved_on(self, length: float, start: Float, noise: Float, shared: Float | None) -> tuple[Float, Float]:
        """x and y at the end of a step of that length, from y = `start` at its beginning."""
        time, drift = self._steps * self._length, self._present_drift()
        there = self._each(carried, drift, self._x, start)
        pushed = self._each(moved, start, length * there)
        y = self._shaken(pushed, noise, shared, time, length)
        turned = self._each(carried, self._each(carried, there, start, pushed), pushed, y)
        return self._each(moved, y, 0.5 * length * turned), y

    def _present_drift(self) -> Float:
        if self._drift is None:
            self._drift = self._drifts(self._steps * self._length, self._x)
        return self._drift

    def _step(self) -> None:
        shared = None if self._noise.common is None else self._shared_normals(self._steps)
        self._x, self._y = self._moved_on(self._length, self._y, self._normals(self._steps), shared)
        self._drift = None
        self._steps += 1

    def _look(self, time: float) -> Float:
        """The tokens at a time inside the next step, with the increments that this step will have had until then."""
        part = time - self._steps * self._length
        shares = np.sqrt([part / self._length, 1 - part / self._length])  # of a Brownian bridge
        noise = shares[0] * self._normals(self._steps) + shares[1] * self._normals(self._steps, _LOOK_NOISE)
        shared = None
        if self._noise.common is not None:
            bridge = self._shared_normals(self._steps, _COMMON_LOOK_NOISE)
            shared = shares[0] * self._shared_normals(self._steps) + shares[1] * bridge
        start = self._each(moved, self._x, -0.5 * part * self._present_drift())
        return self._moved_on(part, start, noise, shared)[0]

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
            if not self._ranks.most(float(np.abs(self._x).max())) < _MAX_COORDINATE:
                self._stand((self._steps - 1) * self._length, self._view)
                return Progress(State.NOT_FINITE, "tokens diverge", "end the run earlier, or take shorter steps")
        near = abs(target - self._steps * self._length) <= _SAME_TIME * self._length
        self._stand(target, self._x if near else self._look(target))
        return Progress(State.REACHED)

    def _stand(self, time: float, points: Float) -> None:
        self._time, self._view = time, points

    def _cost(self) -> float:
        """Microseconds of one step, from the number of operations."""
        (copies, _, width), count = self._x.shape, self._tokens.total
        return copies * (300 + 1.5e-3 * pairs_worth(count, width) + 0.05 * count * width)

    def points(self) -> Float:
        if not self._geometry.angular:
            return self._view
        return np.mod(self._view, 2 * np.pi)

    def own_state(self) -> dict[str, AnyArray]:
        moving = {"x": self._x.copy(), "y": self._y.copy(), "view": self._view.copy()}
        numbers = {"steps": np.array(self._steps), "time": np.array(self._time), "length": np.array(self._length)}
        return {**moving, **numbers, **self.tokens_state(), "tokens": self.points()}

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self._x, self._y, self._view = (state[name].copy() for name in ("x", "y", "view"))
        self._steps = int(state["steps"])
        self._time, self._length = float(state["time"]), float(state["length"])
        self._drift = None

    def statistics(self) -> dict[str, float]:
        counts = {"steps": float(self._steps), "step": self._length}
        return {"particles": float(self._tokens.copies * self._tokens.total), **counts}
