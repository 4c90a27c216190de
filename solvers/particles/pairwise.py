"""Few tokens, or many copies of few: adaptive steps of order eight in one compiled loop, clusters merged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mfpde.attention.head import Head
from mfpde.contracts import PROMISED, Accuracy, Progress, State
from mfpde.errors import ProblemError
from mfpde.geometry import multiple_of_identity
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.forms.particles import mergers_trail
from mfpde.solvers.kernels import token_slope as pair
from mfpde.solvers.kernels import token_steps as loop
from mfpde.solvers.kernels.exponential_step import LENGTH
from mfpde.solvers.kernels.token_slope import PairwiseLaw
from mfpde.solvers.particles.clusters import Gathered, merge_distance, merger_rows, put_back
from mfpde.solvers.particles.schemes import Gain
from mfpde.solvers.particles.shown import TokenIntegration, spread
from mfpde.solvers.particles.span import Span, law_in_span
from mfpde.solvers.particles.tokens import Tokens
from mfpde.solvers.steppers.dop853 import Dop853
from mfpde.transform.threads import run_pieces, thread_count
from mfpde.typing import AnyArray, Float, Truths

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["MOST_TOKENS", "PairwiseIntegration", "may_blow_up", "pairwise_law"]

#: tokens beyond which sums by panels are faster than all pairs
MOST_TOKENS = 1024
#: of the time in which anything changes, for the first step
_FIRST_STEP = 0.01
#: of the size of tokens; beyond that they are lost
_MAX_COORDINATE = 1e60
_KINDS = {
    "softmax": pair.SOFTMAX,
    "l2": pair.SOFTMAX,
    "unnormalized": pair.UNNORMALIZED,
    "linear": pair.LINEAR,
    "relu": pair.RELU,
    "sigmoid": pair.SIGMOID,
}
#: kernels whose tokens may run to infinity in finite time where space has no bound
_EXPLOSIVE = {pair.UNNORMALIZED, pair.LINEAR, pair.RELU}
_SCHEMES = {
    "post": pair.POST,
    "pre": pair.PRE,
    "peri": pair.PERI,
    "mix": pair.POST,  # until its switch
    "ngpt": pair.NGPT,
    "sqrt": pair.SQRT,
}


def pairwise_law(equation: Equation, clock: str = "physical") -> PairwiseLaw | None:
    """The attention as sums over pairs of tokens, where that is all that moves them; None elsewhere."""
    velocity, dimension, scheme = equation.velocity, equation.geometry.ambient_dimension, equation.normalization
    if velocity.law is None or velocity.pointwise is not None or not velocity.constant:
        return None
    terms = velocity.law.terms(dimension)
    heads = [term.head for term in terms]
    if not heads or any(head.pair_kernel is None for head in heads) or len({term.masked for term in terms}) > 1:
        return None
    query = np.array([head.query_matrix(dimension) for head in heads])
    form = np.array([_form(head, dimension) for head in heads])
    value = np.array([term.value for term in terms])
    gain = Gain.of(scheme, dimension)
    if gain is not None and scheme is not None:
        query, form = gain.query(query), gain.query(form)
        value = gain.value(value, scheme)
    sphere = not equation.geometry.flat or scheme is not None
    return PairwiseLaw(
        kinds=np.array([_KINDS[str(head.pair_kernel)] for head in heads]),
        query=query,
        value=value,
        form=form,
        damped=np.array([each.any() for each in form]),
        multiples=np.array(
            [[multiple_of_identity(each) is not None for each in both] for both in zip(query, value, strict=True)]
        ),
        sphere=sphere,
        masked=terms[0].masked,
        scheme=pair.POST if scheme is None else _SCHEMES[scheme.kind],
        rate=1.0 if scheme is None else scheme.rate or 1.0,
        gradient_clock=clock == "gradient",
    )


def _form(head: Head, dimension: int) -> Float:
    form = head.key_form(dimension)
    return np.zeros((dimension, dimension)) if form is None else form


def may_blow_up(law: PairwiseLaw) -> bool:
    """Whether steps may end at a pole, whose time the other integration tells."""
    return not law.sphere and bool(_EXPLOSIVE & set(law.kinds.tolist()))


class PairwiseIntegration(TokenIntegration):
    """Every copy takes steps of its own; a run of a single system is one copy, which may go on with what others have
    gathered."""

    def __init__(
        self,
        settings: ParticleSystem,
        task: InitialValueProblem,
        tokens: Tokens,
        law: PairwiseLaw,
        since: Gathered | None = None,
    ) -> None:
        super().__init__(settings, task, tokens)
        if since is not None and self._scheme is None:
            rows, norms = np.zeros((1, tokens.count, since.vectors.shape[1])), None
        else:
            rows, norms = self._first_rows(tokens)
        reduced = law_in_span(law, tokens.count) if since is None else None
        #: bases of the spans in which tokens move, where these are smaller than their space
        self._span = None if reduced is None else Span.of(rows)
        if self._span is not None:
            rows = self._span.inside(rows)
        self._law = reduced or law
        #: of the space in which they move
        self._dimension = rows.shape[2]
        active, moving = tokens.count if since is None else since.clusters.weights.size, norms is not None
        self._limits = loop.Limits(
            Dop853.step_share * settings.tolerance, merge_distance(settings, tokens, self._scheme)
        )
        self._rooms = [
            loop.room_for(self._dimension + moving, self._dimension, active)
            for _ in range(min(tokens.copies, thread_count()))
        ]
        self._copies = _copies_of(tokens, rows if norms is None else np.concatenate([rows, norms], axis=2))
        if self._limits.merge > 0:
            trail = mergers_trail(copies=settings.copies is not None)
            self._layout = replace(self._layout, trail=trail, trail_row="merger")
        self._amplification = Amplification(task.equation.autonomous)
        self._time = 0.0
        if since is not None:
            self._go_on(since)
        self._choose_first_steps()

    def _go_on(self, since: Gathered) -> None:
        """Take tokens of a single system over that have merged before."""
        copies, clusters, active = self._copies, since.clusters, since.clusters.weights.size
        copies.state[0, : since.vectors.shape[1], :active] = since.vectors.T
        copies.weights[0, :active], copies.leaders[0, :active] = clusters.weights, clusters.leaders
        copies.members[0], copies.times[0], self._time = clusters.members, since.time, since.time
        copies.merged_into[0, clusters.gone], copies.merged_at[0, clusters.gone] = clusters.into, clusters.at
        copies.counts[0, [loop.ACTIVE, loop.STEPS, loop.REJECTED, loop.EVALUATIONS]] = active, *since.counts
        self._amplification.restore(since.amplification)

    def _first_rows(self, tokens: Tokens) -> tuple[Float, Float | None]:
        """Tokens as vectors `(copies, n, d)`, on spheres unit vectors; their norms where these move, too."""
        if self._directions is None:
            return self._geometry.embed(tokens.points.reshape(-1, tokens.points.shape[2])).reshape(
                tokens.copies, tokens.count, -1
            ), None
        rows, self._norms = self.first_directions()
        return rows, None if self._scheme is None or self._scheme.keeps_norms else self._norms

    def _choose_first_steps(self) -> None:
        """A hundredth of the time in which the fastest token moves by the spread of all."""
        loop.refresh(self._copies, self._law, self._rooms[0])
        copies = self._copies
        for whole, change, controller, counts in zip(
            copies.state, copies.slope, copies.controllers, copies.counts, strict=True
        ):
            state, slope = (rows[:, : counts[loop.ACTIVE]] for rows in (whole, change))
            if not np.isfinite(slope).all():
                raise ProblemError.at("attention", "moves these tokens at a speed beyond all numbers")
            speed = float(np.sqrt(np.square(slope[: self._dimension]).sum(axis=0).max()))
            size = 1.0 if self._law.sphere else _size(state)
            controller[LENGTH] = _FIRST_STEP * size / speed if speed > 0 else self._task.until

    @property
    def time(self) -> float:
        return self._time

    def advance(self, target: float, budget: int) -> Progress:
        switch = None if self._scheme is None else self._scheme.switch
        if switch is not None and self._time < switch < target:
            progress = self._advanced(switch, budget)
            return Progress(State.UNDER_WAY) if progress.state is State.REACHED else progress
        progress = self._advanced(target, budget)
        if progress.state is State.REACHED:
            self._amplification.see(self.residual())
        return progress

    def _present_law(self) -> PairwiseLaw:
        """Post-LN turns into pre-LN at the switch."""
        switch = None if self._scheme is None else self._scheme.switch
        return self._law if switch is None or self._time < switch else self._law._replace(scheme=pair.PRE)

    def _advanced(self, target: float, budget: int) -> Progress:
        """All copies in turn, each with its share of the work."""
        copies, threads, law = self._tokens.copies, len(self._rooms), self._present_law()
        attempts = max(1, int(budget / self._cost()))
        if law.scheme != self._law.scheme:
            self._copies.counts[:, loop.FRESH] = 0  # slopes of before the switch
        status = np.zeros(copies, dtype=np.int64)

        def work(thread: int) -> None:
            share = thread, threads
            loop.advance_copies(self._copies, share, law, self._limits, self._rooms[thread], target, attempts, status)

        run_pieces(work, threads)
        if (status == loop.STEP_VANISHED).any():
            self._time = float(self._copies.times.min())
            return self._ended(int(np.argmax(status == loop.STEP_VANISHED)))
        if (status == loop.UNDER_WAY).any():
            self._time = float(self._copies.times.min())
            return Progress(State.UNDER_WAY)
        self._time = target
        return Progress(State.REACHED)

    def _ended(self, copy: int) -> Progress:
        size = float(np.abs(self._copies.state[copy]).max())
        if not self._geometry.flat or size < _MAX_COORDINATE:
            return Progress(
                State.NOT_FINITE, "the step size has shrunk to nothing", "check the size of the coefficients"
            )
        return Progress(State.NOT_FINITE, "tokens diverge", "end the run earlier")

    def _cost(self) -> float:
        """Microseconds of one attempted step of all copies, from the number of operations."""
        active = self._copies.counts[:, loop.ACTIVE].astype(float)
        dimension = self._dimension
        return float(1.0 + (0.3 * active + 1.5e-3 * active**2 * (8 + 2 * dimension)).sum() * 12 / 10)

    def _rows(self) -> Float:
        """The state of each token at first, wherever it is now, `(copies, n, rows)`."""
        state = self._copies.state
        columns = np.broadcast_to(self._copies.members[:, None, :], state.shape)
        return np.take_along_axis(state, columns, axis=2).transpose(0, 2, 1)

    def _vectors(self) -> Float:
        """Of each token, on spheres its direction, `(copies, n, d)`."""
        rows = self._rows()[:, :, : self._dimension]
        return rows if self._span is None else self._span.outside(rows)

    def points(self) -> Float:
        vectors, space = self._vectors(), self._directions or self._geometry
        native = space.points(vectors.reshape(-1, vectors.shape[2]))
        return native.reshape(self._tokens.copies, self._tokens.count, -1)

    def shown(self) -> Float:
        if self._scheme is None:
            return self.points()
        norms = self._rows()[:, :, self._dimension :]
        return self.lengthened(self._vectors(), norms if norms.size else self._norms)

    def _lasting(self) -> list[tuple[str, AnyArray]]:
        """What changes of the copies, by name; tokens with positions do not merge, and keep them."""
        return [(name, array) for name, array in self._copies._asdict().items() if name != "positions"]

    def _merged(self) -> Truths:
        """Tokens whose mergers all copies have passed: no earlier one can be found any more."""
        found: Truths = self._copies.merged_at < self._copies.times.min()
        return found

    def trail(self, since: int) -> dict[str, Float]:
        """Mergers in the order of their times."""
        rows = merger_rows(self._copies.merged_into, self._copies.merged_at, self._merged())
        return {name: rows[name][since:] for name in self._layout.trail}

    def own_state(self) -> dict[str, AnyArray]:
        """All but the mergers that the trail has."""
        kept = {f"copies_{name}": array.copy() for name, array in self._lasting()}
        there = self._merged()
        kept["copies_merged_into"][there], kept["copies_merged_at"][there] = -1, np.nan
        if self._span is not None:
            kept["span"] = self._span.bases
        return {**kept, **self.tokens_state(), "time": np.array(self._time), **self._amplification.arrays()}

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        for name, array in self._lasting():
            array[...] = state[f"copies_{name}"]
        if self._span is not None:
            self._span = Span(state["span"])
        if self._layout.trail:
            put_back(state, self._copies.merged_into, self._copies.merged_at)
        self._time = float(state["time"])
        self._amplification.restore(state)

    def residual(self) -> float:
        """As the base's, of the directions where tokens have norms."""
        speeds = np.empty(self._tokens.copies)
        loop.speeds_of_copies(self._copies, self._present_law(), self._rooms[0], speeds)
        if self._directions is None:
            speeds /= [spread(rows, self._tokens) for rows in self._rows()]
        return float(np.sqrt(np.mean(speeds**2)))

    def accuracy(self) -> Accuracy:
        return self._amplification.judged(Accuracy(PROMISED * self._settings.tolerance, kept=True))

    def statistics(self) -> dict[str, float]:
        counts = self._copies.counts
        return {
            "particles": float(counts[:, loop.ACTIVE].sum()),
            "steps": float(counts[:, loop.STEPS].sum()),
            "rejected": float(counts[:, loop.REJECTED].sum()),
            "evaluations": float(counts[:, loop.EVALUATIONS].sum()),
        }


def _copies_of(tokens: Tokens, rows: Float) -> loop.Copies:
    """At the start, from rows `(copies, n, d)`, or `(copies, n, d + 1)` with norms."""
    shape, state = (tokens.copies, tokens.count), np.ascontiguousarray(rows.transpose(0, 2, 1))
    counts = np.zeros((shape[0], 5), dtype=np.int64)
    counts[:, loop.ACTIVE] = tokens.count
    everyone = np.tile(np.arange(tokens.count), (tokens.copies, 1))
    positions = np.zeros(tokens.count) if tokens.positions is None else tokens.positions
    return loop.Copies(
        state=state,
        slope=np.zeros_like(state),
        weights=np.tile(tokens.weights, (tokens.copies, 1)),
        positions=np.tile(positions, (tokens.copies, 1)),
        members=everyone,
        leaders=everyone.copy(),
        merged_into=np.full(shape, -1),
        merged_at=np.full(shape, np.nan),
        times=np.zeros(shape[0]),
        controllers=np.zeros((shape[0], 4)),
        counts=counts,
    )


def _size(state: Float) -> float:
    """What a step is small against: the spread of tokens."""
    deviation = float(np.sqrt(np.square(state - state.mean(axis=1, keepdims=True)).sum(axis=0).mean()))
    return deviation if deviation > 0 else float(np.abs(state).max()) + 1e-200
