"""An independent program for softmax attention that widens a mixture of normal laws under noise on the line, beside a
perceptron or alone.

As `tails.py`: `u = log rho` on `x = m + s z`, by differences of order ten, with parabolas beyond, as far out as tokens
look. A normal law begins as a parabola itself. mfpde is not involved.

    cd tests && python -m reference.widening      prints means and variances (half a minute)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from reference.tails import derivative

Array = NDArray[np.float64]
BEYOND, FITTED = 45.0, 24  # of z, of the parabolas, and points that these are laid through


def moments(
    A: float,
    V: float,
    kappa: float,
    parts: list[tuple[float, float, float]],
    times: list[float],
    grid: tuple[float, int],
    perceptron: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> list[Array]:
    """Mean and variance at the times, from a mixture of (weight, mean, variance), under the drift `W tanh(U x + b)` of
    a perceptron, on a grid of z that reaches so far with so many points."""
    reach, count = grid
    z, step = np.linspace(-reach, reach, count, retstep=True)
    first, second = derivative(1, count, step), derivative(2, count, step)
    more = step * np.arange(1, int(BEYOND / step))
    left, right = (np.vander(sign * more, 3) for sign in (-1, 1))
    lower, upper = (np.linalg.pinv(np.vander(z[ends] - z[edge], 3)) for ends, edge in ENDS)
    places = np.concatenate([-reach - more[::-1], z, reach + more])
    W, U, b0 = perceptron

    def whole(u: Array) -> Array:
        return np.concatenate([(left @ (lower @ u[:FITTED]))[::-1], u, right @ (upper @ u[-FITTED:])])

    def slope(_: float, state: Array) -> Array:
        u, m, s = state[:-2], state[-2], state[-1]
        x = m + s * z
        scores = A * np.multiply.outer(x, m + s * places) + whole(u)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        drift = V * (m + s * (weights @ places) / weights.sum(axis=1)) + W * np.tanh(U * x + b0)
        p = np.exp(u - u.max())
        p /= p.sum()
        middle, average = p @ z, p @ drift
        variance = p @ (z - middle) ** 2
        wider = p @ ((drift - average) * (z - middle)) / variance / s + 1 / (kappa * s * s * variance)
        b = (drift - average) / s - wider * z
        spread = (second @ u + (first @ u) ** 2) / (kappa * s * s)
        return np.append(-b * (first @ u) - first @ b + spread, [average, wider * s])

    shares, means, variances = np.array(parts).T
    mean = shares @ means
    width = np.sqrt(shares @ (variances + (means - mean) ** 2))
    apart = mean + width * z[:, None] - means
    log_density = np.logaddexp.reduce(np.log(shares / np.sqrt(variances)) - 0.5 * apart**2 / variances, axis=1)
    found = solve_ivp(
        slope, (0, times[-1]), np.append(log_density, [mean, width]), "DOP853", times, rtol=1e-10, atol=1e-10
    )
    shown = []
    for state in found.y.T:
        p = np.exp(whole(state[:-2]))
        p /= p.sum()
        middle = p @ places
        shown.append(np.array([state[-2] + state[-1] * middle, state[-1] ** 2 * (p @ (places - middle) ** 2)]))
    return shown


ENDS = ((slice(None, FITTED), 0), (slice(-FITTED, None), -1))

if __name__ == "__main__":
    for grid in ((9.5, 141), (9.5, 181)):
        print(grid, moments(0.8, 1.0, 4.0, [(1.0, 0.2, 0.4)], [0.3, 0.6, 0.65], grid, (0.8, 1.2, 0.3)))
    for grid in ((15.0, 301), (18.0, 361)):
        print(grid, moments(1.0, 0.5, 2.0, [(0.7, 0.0, 0.3), (0.3, 0.8, 0.2)], [0.45, 0.63, 0.72], grid))
