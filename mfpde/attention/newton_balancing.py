"""Doubly stochastic scaling of a small kernel by Newton's method."""

from __future__ import annotations

import numpy as np

from mfpde.typing import Float

__all__ = ["balance_by_newton", "log_sum_exp"]

#: longest step of a potential: beyond it the quadratic model says nothing
_LONGEST = 3.0


def balance_by_newton(scores: Float, weights: Float, g: Float, tolerance: float, most: int) -> tuple[Float, int]:
    """`g` and the number of steps, for `e^{s_ij + f_i + g_j}` with both marginals the weights, from g.

    f follows from g, and g maximises the concave `sum_i w_i (f_i + g_i)`, whose Hessian is `P^T W P - diag(w c)` with
    `P_ij = w_j e^{s_ij + f_i + g_j}` and the marginal c: equations of n unknowns, n^3 a step.
    """
    logs = np.log(weights)
    f = -log_sum_exp(scores + (g + logs))
    for step in range(most):
        pairs = np.exp(scores + f[:, None] + (g + logs))
        marginal = np.exp(log_sum_exp((scores + (f + logs)[:, None]).T) + g)
        if weights @ np.abs(marginal - 1) <= tolerance:
            return g, step
        lack = weights * (1 - marginal)
        direction = _solved(np.diag(weights * marginal) - (pairs * weights[:, None]).T @ pairs, lack)
        g, f = _searched(scores, weights, logs, g, f, direction, float(lack @ direction))
    return g, most


def _solved(hessian: Float, lack: Float) -> Float:
    """`H^-1 lack`, H of deficiency one, scaled by its diagonal; directions in which H is roundoff are left out."""
    scale = 1 / np.sqrt(np.diag(hessian).clip(1e-300))
    values, vectors = np.linalg.eigh(hessian * scale[:, None] * scale)
    kept = values > 1e-15 * values[-1]
    return scale * (vectors[:, kept] @ ((vectors[:, kept].T @ (scale * lack)) / values[kept]))


def _searched(
    scores: Float, weights: Float, logs: Float, g: Float, f: Float, direction: Float, slope: float
) -> tuple[Float, Float]:
    """The first of ever shorter steps that raises what is maximised as a tangent promises."""
    direction = direction - weights @ direction
    length = min(1.0, _LONGEST / float(np.abs(direction).max()))
    before = weights @ (f + g)
    while True:
        nearer = g + length * direction
        follows = -log_sum_exp(scores + (nearer + logs))
        if weights @ (follows + nearer) >= before + 1e-4 * length * slope - 1e-14 * abs(before) or length < 1e-8:
            return nearer, follows
        length *= 0.5


def log_sum_exp(rows: Float) -> Float:
    """`log sum_j e^{r_ij}`, `(m,)`."""
    peak: Float = rows.max(axis=1)
    return peak + np.log(np.exp(rows - peak[:, None]).sum(axis=1))
