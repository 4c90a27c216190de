"""Tokens moved by a plain program: all pairs of them, and scipy's steps."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from mfpde.contracts import Solver
from mfpde.equation import Equation
from mfpde.measure import Particles
from mfpde.problem import Problem
from mfpde.run import Run
from mfpde.typing import Float

__all__ = ["PlainTokens", "may_be_plain", "plain_tokens"]

_MOST_TOKENS = 200  # a step of all pairs in NumPy then takes milliseconds
_TOLERANCE = 1e-10  # of scipy's steps
_MOST_CALLS = 20_000  # evaluations: a longer way is compared as far as they reach
#: whose tokens follow the equation
_SOLVERS = ("particles", "characteristics")
_SNAPSHOTS = 4  # besides the first


@dataclass(frozen=True, eq=False)
class PlainTokens:
    """Tokens in the ambient space at snapshots of a run, and the error that they promise."""

    indices: tuple[int, ...]
    tokens: tuple[Float, ...]
    promise: float


def may_be_plain(problem: Problem, solver: Solver) -> bool:
    """Whether the tokens of that solver can be moved by a plain program; not those with noise, layers, copies, and too
    many, as far as their number is known before the run."""
    equation, initial = problem.equation, problem.equation.initial_measure()
    alone = all(getattr(solver, name, None) is None for name in ("layers", "copies"))
    if not alone or problem.time is None or equation.noise.peculiar or equation.noise.diffuses:
        return False
    if solver.kind not in _SOLVERS or equation.normalization is not None:
        return False
    if not equation.geometry.counts_as("line", "plane", "space", "circle", "sphere"):
        return False  # of others the way back from vectors is not known
    count = len(initial.nodes()[1]) if initial.pointlike else getattr(solver, "count", None) or 0
    return count <= _MOST_TOKENS


def plain_tokens(run: Run, solver: Solver) -> PlainTokens | None:
    """From the tokens that a run begins with; None where these cannot be moved by a plain program."""
    problem = run.problem
    if "position" not in run.stored or not may_be_plain(problem, solver) or run.positions.shape[1] > _MOST_TOKENS:
        return None
    gradient = problem.time is not None and problem.time.clock == "gradient"
    return _Motion(problem.equation, run, gradient=gradient).followed()


class _Enough(Exception):  # noqa: N818 - no error: the way is long
    """More evaluations than a check may take."""


class _Motion:
    """`x' = P_x G(x)` in the ambient space, by the plain sum."""

    def __init__(self, equation: Equation, run: Run, *, gradient: bool) -> None:
        self._equation, self._run, self._gradient = equation, run, gradient
        self._weights, self._positions = run.measure(0).nodes()[1], run.measure(0).positions
        self._calls = 0

    def followed(self) -> PlainTokens:
        """To a few snapshots, as far as the evaluations reach."""
        from scipy.integrate import solve_ivp

        run, space = self._run, self._run.problem.geometry
        wanted = np.unique(np.linspace(0, run.times.size - 1, _SNAPSHOTS + 1).astype(int)).tolist()
        tokens, indices = [space.embed(run.positions[0])], [0]
        for index in wanted[1:]:
            span = float(run.times[indices[-1]]), float(run.times[index])
            edges = [span[0], *(at for at in self._equation.velocity.breaks() if span[0] < at < span[1]), span[1]]
            state = tokens[-1].ravel()
            try:
                for start, end in itertools.pairwise(edges):
                    found = solve_ivp(self, (start, end), state, "DOP853", rtol=_TOLERANCE, atol=_TOLERANCE)
                    state = found.y[:, -1]
            except _Enough:
                break
            tokens.append(state.reshape(tokens[-1].shape))
            indices.append(index)
        return PlainTokens(tuple(indices), tuple(tokens), 100 * _TOLERANCE)

    def __call__(self, time: float, state: Float) -> Float:
        self._calls += 1
        if self._calls > _MOST_CALLS:
            raise _Enough
        space, velocity = self._equation.geometry, self._equation.velocity.at(time)
        vectors = state.reshape(-1, space.ambient_dimension)
        if not space.flat:
            vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        points = space.points(vectors)
        measure = Particles(points, self._weights, space, self._positions)
        drift = np.zeros_like(vectors)
        if velocity.law is not None:
            plain = velocity.law.drift_by_quadrature(measure, points, self._positions)
            drift += space.pushed(points, np.asarray(plain).reshape(len(points), -1))
        if velocity.pointwise is not None:
            drift += space.pushed(points, space.tangent(points, velocity.pointwise.outputs(vectors)))
        if self._gradient:
            drift /= math.sqrt(float(self._weights @ (drift**2).sum(axis=1))) or 1.0
        return drift.ravel()
