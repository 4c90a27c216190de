"""An independent program for softmax attention beside a perceptron that widens a normal law under noise on the line.

As `tails.py`: `u = log rho` on `x = m + s z`, by differences of order ten, with parabolas beyond. A normal law begins
as a parabola itself. mfpde is not involved.

    cd tests && python -m reference.widening      prints means and variances (some seconds)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from reference.tails import derivative

Array = NDArray[np.float64]
REACH, BEYOND, FITTED = 9.5, 45.0, 24  # of z, of the parabolas, and points that these are laid through


def moments(
    A: float, V: float, kappa: float, start: tuple[float, float], times: list[float], count: int
) -> list[Array]:
    """Mean and variance at the times, under the drift `0.8 tanh(1.2 x + 0.3)`, from a mean and a variance."""
    z, step = np.linspace(-REACH, REACH, count, retstep=True)
    first, second = derivative(1, count, step), derivative(2, count, step)
    more = step * np.arange(1, int(BEYOND / step))
    left, right = (np.vander(sign * more, 3) for sign in (-1, 1))
    lower, upper = (np.linalg.pinv(np.vander(z[ends] - z[edge], 3)) for ends, edge in ENDS)
    places = np.concatenate([-REACH - more[::-1], z, REACH + more])

    def whole(u: Array) -> Array:
        return np.concatenate([(left @ (lower @ u[:FITTED]))[::-1], u, right @ (upper @ u[-FITTED:])])

    def slope(_: float, state: Array) -> Array:
        u, m, s = state[:-2], state[-2], state[-1]
        x = m + s * z
        scores = A * np.multiply.outer(x, m + s * places) + whole(u)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        drift = V * (m + s * (weights @ places) / weights.sum(axis=1)) + 0.8 * np.tanh(1.2 * x + 0.3)
        p = np.exp(u - u.max())
        p /= p.sum()
        middle, average = p @ z, p @ drift
        variance = p @ (z - middle) ** 2
        wider = p @ ((drift - average) * (z - middle)) / variance / s + 1 / (kappa * s * s * variance)
        b = (drift - average) / s - wider * z
        spread = (second @ u + (first @ u) ** 2) / (kappa * s * s)
        return np.append(-b * (first @ u) - first @ b + spread, [average, wider * s])

    begun = np.append(-0.5 * z**2, [start[0], np.sqrt(start[1])])
    found = solve_ivp(slope, (0, times[-1]), begun, "DOP853", times, rtol=1e-10, atol=1e-10)
    shown = []
    for state in found.y.T:
        p = np.exp(whole(state[:-2]))
        p /= p.sum()
        middle = p @ places
        shown.append(np.array([state[-2] + state[-1] * middle, state[-1] ** 2 * (p @ (places - middle) ** 2)]))
    return shown


ENDS = ((slice(None, FITTED), 0), (slice(-FITTED, None), -1))

if __name__ == "__main__":
    for points in (141, 181):
        print(points, moments(0.8, 1.0, 4.0, (0.2, 0.4), [0.3, 0.6, 0.65], points))
