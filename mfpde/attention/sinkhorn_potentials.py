"""Doubly stochastic scaling of a kernel `e^{<Ax, y>}`, in the domain of logarithms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from mfpde.attention.sinkhorn_newton import balance_by_newton
from mfpde.errors import ProblemError
from mfpde.measure import Measure
from mfpde.typing import Float

__all__ = ["Potentials", "balance", "gaussian_factors", "gaussian_potential"]

#: earlier iterates in the extrapolation
_ANDERSON_DEPTH = 10
#: by an extrapolation, above which it is undone
_MAX_ERROR_GROWTH = 4.0
#: to which potentials are iterated, so that those of nearby measures differ smoothly
_TOLERANCE_SHARE = 1e-2
#: Newton's method takes over for so few nodes after so many iterations
_MAX_NEWTON_NODES, _MAX_PLAIN_ITERATIONS = 600, 50
#: of all nodes that Newton's method leaves out, in tolerances
_NEGLIGIBLE_WEIGHT = 1e-2
#: of the largest score and of the logarithm of the least weight, in the error of a marginal
_ROUNDINGS = 8


@dataclass(frozen=True, eq=False)
class Potentials:
    """`f` and `g` at the nodes such that `e^{<Ax,y> + f(x) + g(y)}` has both marginals mu; what it took to find them.

    `error` is the mean of `|1 - marginal|` over mu for y; the marginal for x is exact. `sufficient` is the error up
    to which they are taken: what was asked for, and what rounding leaves.
    """

    f: Float
    g: Float
    iterations: int
    error: float
    sufficient: float = 0.0
    secants: Secants | None = None  # how the iteration's last steps altered it: quicker for measures nearby


Secants: TypeAlias = tuple[list[Float], list[Float]]


def balance(
    measure: Measure, matrix: Float, start: Float, tolerance: float, most: int, secants: Secants | None = None
) -> Potentials:
    """Potentials of `e^{<Ax, y>}` to that error, or the best of `most` iterations, from g = start, and from the secants
    of a measure nearby. Scores beyond a thousand are rounded by more than 1e-12: what rounding leaves is then the goal,
    and two ways to sum up the same marginal differ by it.

    Sinkhorn's iteration, extrapolated; a few points far apart, where it can take exponentially long, by Newton's.
    """
    rounding = _rounding(measure, matrix)
    if not rounding < 1.0:
        raise ProblemError.at("attention", "has coefficients so large that rounding leaves nothing of its scores")
    goal = max(tolerance, rounding)
    few = start.size <= _MAX_NEWTON_NODES
    found = _alternate(measure, matrix, start, goal, min(most, _MAX_PLAIN_ITERATIONS) if few else most, secants)
    if few and not found.error <= goal:
        found = _by_newton(measure, matrix, found, goal, most)
    return replace(found, sufficient=goal + rounding)


def _by_newton(measure: Measure, matrix: Float, found: Potentials, tolerance: float, most: int) -> Potentials:
    """The same from the best that was found, and measured by the sums that it is used with. Nodes of hardly any weight
    follow from the others, whose marginals they do not alter: as unknowns they would be nothing but rounding."""
    keys, weights = measure.embedded_nodes()[0], _shares(measure)
    there = weights > _NEGLIGIBLE_WEIGHT * tolerance / weights.size
    scores = keys[there] @ matrix.T @ keys[there].T
    start = found.g[there] - weights[there] @ found.g[there]  # a common constant is arbitrary and would cost digits
    g, iterations = balance_by_newton(scores, weights[there], start, tolerance, most)
    inside = np.where(there, 0.0, -np.inf)
    inside[there] = g
    f = -_at_nodes(measure, inside, matrix)
    others = -_at_nodes(measure, np.where(there, f, -np.inf), matrix.T)
    g = np.where(there, inside, others)
    f, _, error = _swept(measure, matrix, weights, g)
    return Potentials(f, g, found.iterations + iterations, error)


def _rounding(measure: Measure, matrix: Float) -> float:
    """Error of a marginal by rounding of exponents: of scores, and of the logarithms of weights."""
    keys, weights = measure.embedded_nodes()[0], _shares(measure)
    reach = np.abs(keys).max(axis=0)
    largest = float(reach @ np.abs(matrix) @ reach)  # terms of a score that cancel are rounded before they do
    return _ROUNDINGS * float(np.finfo(float).eps) * (largest - float(np.log(weights[weights > 0].min())))


def _shares(measure: Measure) -> Float:
    """Of the nodes in the mass, which on a grid may be any."""
    weights = measure.nodes()[1]
    return np.asarray(weights / weights.sum())


def _alternate(
    measure: Measure, matrix: Float, start: Float, tolerance: float, most: int, secants: Secants | None
) -> Potentials:
    """`f = -log int e^{<Ax,y> + g(y)} dmu(y)`, `g = -log int e^{<Ax,y> + f(x)} dmu(x)`, extrapolated by Anderson's
    method: the error falls like that of conjugate gradients."""
    weights = _shares(measure)
    g, best = start, Potentials(start, start, 0, np.inf)
    after, last = start, None
    moves, steps = ([], []) if secants is None else (list(part) for part in secants)
    iteration = 0
    while iteration < most:
        iteration += 1
        f, swept, error = _swept(measure, matrix, weights, g)
        change = swept - g
        if error < best.error:
            best, after = Potentials(f, g, iteration, error), swept
        if not error <= _MAX_ERROR_GROWTH * best.error:
            moves, steps, last, g = [], [], None, after
            continue
        if last is not None:
            moves, steps = [*moves, g - last[0]][-_ANDERSON_DEPTH:], [*steps, change - last[1]][-_ANDERSON_DEPTH:]
        if error <= tolerance:
            if error > _TOLERANCE_SHARE * tolerance:  # one more iteration usually gains a digit or two
                g = _extrapolated(g, change, moves, steps, weights)
                f, _, error = _swept(measure, matrix, weights, g)
                best = Potentials(f, g, iteration, error) if error < best.error else best
            break
        last = (g, change)
        g = _extrapolated(g, change, moves, steps, weights)
    return replace(best, iterations=iteration, secants=(moves, steps))


def _swept(measure: Measure, matrix: Float, weights: Float, g: Float) -> tuple[Float, Float, float]:
    """f for that g, g for that f, and the error of the first two."""
    f = -_at_nodes(measure, g, matrix)
    swept = -_at_nodes(measure, f, matrix.T)
    return f, swept, float(weights @ np.abs(np.expm1(np.minimum(g - swept, 700.0))))


def _at_nodes(measure: Measure, log_factors: Float, matrix: Float) -> Float:
    """`log M(Ay)` of `e^g mu` at the nodes y of mu, `(n,)`."""
    logs = [measure.tilt(queries, matrix, log_factors)[0].ravel() for queries in measure.node_queries()]
    return np.concatenate(logs)


def _extrapolated(g: Float, change: Float, moves: list[Float], steps: list[Float], weights: Float) -> Float:
    """Anderson's next point: the mixture of earlier ones whose change is smallest, and that change. What is known of
    earlier points are the moves between them and by what these altered the change."""
    root, after = np.sqrt(weights), g + change
    if moves:
        shares = np.linalg.lstsq((np.stack(steps) * root).T, change * root, rcond=1e-10)[0]
        after -= shares @ (np.stack(moves) + np.stack(steps))
    # a common constant is arbitrary, and would grow until it costs digits
    return np.asarray(after - weights @ after)


def gaussian_factors(covariance: Float, matrix: Float) -> tuple[Float, Float, Float, Float]:
    """`F U`, its pseudo-inverse, s and `r = 2 s / (1 + sqrt(1 + 4 s^2))`: `S = F F^T`, `F^T A F = U s W^T`.

    In the coordinates of U the coupling of N(0, S) with itself has the correlations r.
    """
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-14 * max(float(values[-1]), 0.0)
    scale = np.sqrt(values[kept])
    factor = vectors[:, kept] * scale
    left, s, _ = np.linalg.svd(factor.T @ matrix @ factor)
    return factor @ left, left.T @ (vectors[:, kept] / scale).T, s, 2 * s / (1 + np.sqrt(1 + 4 * s * s))


def gaussian_potential(measure: Measure, matrix: Float) -> Float:
    """g at the nodes, exact if the measure were Gaussian with its mean m and covariance S:
    `g(y) = -|sqrt(r s) U^T F^+ (y - m)|^2 / 2 - <Am, y>`."""
    keys = measure.embedded_nodes()[0]
    mean = measure.mean
    _, inverse, s, correlation = gaussian_factors(measure.covariance, matrix)
    across = (keys - mean) @ inverse.T * np.sqrt(correlation * s)
    return -0.5 * np.sum(across**2, axis=1) - keys @ (matrix @ mean)
