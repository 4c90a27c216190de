"""Doubly stochastic scaling of a small kernel by Newton's method."""

from __future__ import annotations

import numpy as np

from mfpde.typing import Float

__all__ = ["balance_by_newton", "log_sum_exp"]

#: of a component: beyond it the quadratic model is not valid
_MAX_POTENTIAL_STEP = 3.0
#: steps from the given start, and halvings of the scores for a better start
_MAX_DIRECT_STEPS, _HALVINGS = 60, 6
#: eigenvalue of the scaled Hessian below which it is roundoff
_CURVATURE_FLOOR = 1e-15
#: of a step below the tolerance to the next, for which one more step is made
_MIN_ERROR_RATIO = 2.0
#: over the range of scores and log weights: larger potentials diverge along a null direction (keys without a common
#: query) and lose digits
_MAX_POTENTIAL_RANGE = 4.0


def balance_by_newton(scores: Float, weights: Float, g: Float, tolerance: float, most: int) -> tuple[Float, int]:
    """`g` and the number of steps, for `e^{s_ij + f_i + g_j}` with both marginals the weights, from g.

    Steps go on below the tolerance while they gain, since other orders of summation give other last digits. Where that
    takes long, or g diverges, by continuation over the kernels of s/64, s/32, ..: each is the start of the next, with
    smaller ratios where it is not good enough.
    """
    found, steps = _ascended(scores, weights, g, tolerance, min(most, _MAX_DIRECT_STEPS))
    farthest = _MAX_POTENTIAL_RANGE * float(np.abs(scores).max() - np.log(weights.min()))
    if steps >= most or (steps < _MAX_DIRECT_STEPS and np.ptp(found) <= farthest):
        return found, steps
    share, ratio = 0.5**_HALVINGS, 2.0
    found, more = _ascended(scores * share, weights, np.zeros_like(g), tolerance, most - steps)
    steps += more
    while share < 1 and steps < most:
        larger, limit = min(share * ratio, 1.0), min(most - steps, _MAX_DIRECT_STEPS)
        tried, more = _ascended(scores * larger, weights, found * (larger / share), tolerance, limit)
        steps += more
        if more < limit:
            share, found = larger, tried
        else:
            ratio **= 0.5
    return found / share, steps


def _ascended(scores: Float, weights: Float, g: Float, tolerance: float, most: int) -> tuple[Float, int]:
    """f follows from g, and g maximises the concave `sum_i w_i (f_i + g_i)`. Its Hessian is `P^T W P - diag(w c)` with
    `P_ij = w_j e^{s_ij + f_i + g_j}` and the marginal c: equations of n unknowns, n^3 a step.
    """
    logs = np.log(weights)
    f = -log_sum_exp(scores + (g + logs))
    best, least = g, np.inf
    for step in range(most):
        marginal = np.exp(log_sum_exp((scores + (f + logs)[:, None]).T) + g)
        error = float(weights @ np.abs(marginal - 1))
        if least <= tolerance and not error * _MIN_ERROR_RATIO < least:
            return best, step
        if error < least:
            best, least = g, error
        pairs = np.exp(scores + f[:, None] + (g + logs))
        lack = weights * (1 - marginal)
        hessian = np.diag(weights * marginal) - (pairs * weights[:, None]).T @ pairs
        direction = _solved(hessian, lack, 1 / np.sqrt(weights))
        direction -= weights @ direction
        if not direction.any():  # rounding
            return best, step
        g, f = _searched(scores, weights, logs, g, f, direction, float(lack @ direction))
    return (best if least <= tolerance else g), most


def _solved(hessian: Float, lack: Float, scale: Float) -> Float:
    """`H^-1 lack`, with a bounded step along each eigenvector of H. Along near-null directions (an almost decoupled
    query-key block) the step is long; bounded for itself, it does not shorten the step along the others."""
    values, vectors = np.linalg.eigh(hessian * scale[:, None] * scale)
    lengths = (vectors.T @ (scale * lack)) / (values.clip(0) + _CURVATURE_FLOOR)
    vectors *= scale[:, None]
    longest = _MAX_POTENTIAL_STEP / np.abs(vectors).max(axis=0)
    return vectors @ lengths.clip(-longest, longest)


def _searched(
    scores: Float, weights: Float, logs: Float, g: Float, f: Float, direction: Float, slope: float
) -> tuple[Float, Float]:
    """The first of ever shorter steps that raises what is maximised as a tangent promises; if that is the first, the
    last of ever longer ones that raise it: potentials may have far to go, and it is concave."""
    before = weights @ (f + g)
    slack = 1e-14 * abs(before)

    def after(length: float) -> tuple[Float, Float, float]:
        nearer = g + length * direction
        follows = -log_sum_exp(scores + (nearer + logs))
        return nearer, follows, float(weights @ (follows + nearer))

    longest = length = min(1.0, _MAX_POTENTIAL_STEP / float(np.abs(direction).max()))
    nearer, follows, height = after(length)
    while height < before + 1e-4 * length * slope - slack and length >= 1e-8:
        length *= 0.5
        nearer, follows, height = after(length)
    if length < longest:
        return nearer, follows
    farther = after(2 * length)
    while farther[2] > height + slack:
        length *= 2
        nearer, follows, height = farther
        farther = after(2 * length)
    return nearer, follows


def log_sum_exp(rows: Float) -> Float:
    """`log sum_j e^{r_ij}`, `(m,)`."""
    peak: Float = rows.max(axis=1)
    return peak + np.log(np.exp(rows - peak[:, None]).sum(axis=1))
