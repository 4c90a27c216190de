"""General matrices on the circle by vectorised NumPy: kernels as dense matrices between equispaced points, ETDRK4."""

from collections.abc import Callable

import numpy as np
from scipy.fft import irfft, rfft

from baselines.numpy_etdrk4 import Array, Coefficients, density, etdrk4, relative_error, smallest_steps, transform


def nonlinear_term(points: int, query: Array, value: Array, normalised: bool) -> Callable[[Coefficients], Coefficients]:
    """The map from coefficients of mu to those of -d_theta(mu G); one product with both kernels stacked."""
    theta = 2 * np.pi / points * np.arange(points)
    x, along = np.stack([np.cos(theta), np.sin(theta)], axis=-1), np.stack([-np.sin(theta), np.cos(theta)], axis=-1)
    scores = x @ query.T @ x.T
    kernel = np.exp(scores - scores.max(axis=1, keepdims=True) if normalised else scores) / points
    push = kernel * (along @ value @ x.T)
    both = np.concatenate([push, kernel]) if normalised else push
    minus_derivative = -1j * np.arange(points // 2 + 1)
    minus_derivative[-1] = 0.0  # the Nyquist mode has no derivative

    def term(c: Coefficients) -> Coefficients:
        values = irfft(c, points) * points
        sums = both @ values
        drift = sums[:points] / sums[points:] if normalised else sums
        return np.asarray(minus_derivative * rfft(values * drift) / points)

    return term


def solve(
    points: int,
    query: Array,
    value: Array,
    normalised: bool,
    kappa: float,
    start: Coefficients,
    until: float,
    steps: int,
) -> Coefficients:
    """Coefficients at time `until`."""
    return etdrk4(nonlinear_term(points, query, value, normalised), kappa, start, until, steps)


def tune(
    points: int,
    error: float,
    query: Array,
    value: Array,
    normalised: bool,
    kappa: float,
    initial: Callable[[Array], Array],
    until: float,
    reference: Array,
) -> int:
    """Steps needed for max|error|/max density <= `error` at time `until`; `reference` is on equispaced angles."""
    start = transform(initial(2 * np.pi * np.arange(points) / points))

    def error_of(steps: int) -> float:
        with np.errstate(all="ignore"):
            end = solve(points, query, value, normalised, kappa, start, until, steps)
            return relative_error(density(end, reference.size), reference)

    return smallest_steps(error_of, error)
