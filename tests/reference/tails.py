"""An independent program for softmax attention that widens an interval under noise on the line: plain numpy and scipy.

Drifts look far into tails there. So the unknown is `u = log rho`, as right in tails as in the middle, on `x = m + s z`:

    u_t = -b u_z - b_z + D / s^2 (u_zz + u_z^2),     b = (G - m' - s' z) / s,

by differences of order ten on equispaced z; sums over tokens go on beyond them along parabolas. m and s follow mean and
width. It begins with what `flat_waves` makes of the interval until `START`. mfpde is not involved.

    cd tests && python -m reference.tails      prints mean and variance (half a minute)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial.polynomial import polyfit, polyval
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from reference.flat_waves import solve_by_waves

Array = NDArray[np.float64]
START = 0.05
REACH, BEYOND = 9.0, 8.0  # of z, and of the parabolas
SEEN = 3e-13  # of the peak: smaller values of a Fourier series are rounding


def derivative(order: int, count: int, step: float, half: int = 5) -> Array:
    """Of values at equispaced points, through `2 half + 1` of them."""
    matrix = np.zeros((count, count))
    for row in range(count):
        near = np.arange(2 * half + 1) + min(max(row - half, 0), count - 2 * half - 1)
        wanted = np.eye(2 * half + 1)[order] * (1.0, 1.0, 2.0)[order]
        matrix[row, near] = np.linalg.solve(np.vander(near - row, increasing=True).T, wanted) / step**order
    return matrix


def smoothed(problem: dict[str, object], ends: tuple[float, float]) -> tuple[float, float, Callable[[Array], Array]]:
    """Mean, width and log density at `START`; far out, noise leaves a parabola minus the logarithm of the distance."""
    grid, (rho,) = solve_by_waves(problem, [START], 5.0, 512)
    weights = rho * grid.width
    mean = float(weights @ grid.x)
    width = float(np.sqrt(weights @ (grid.x - mean) ** 2))
    waves = np.fft.rfft(rho) * np.append(1.0, np.full(grid.count // 2, 2.0)) / grid.count

    def log_density(x: Array) -> Array:
        values = np.real(np.exp(1j * np.multiply.outer(x + grid.half, grid.k[0])) @ waves)
        seen = (values > SEEN * rho.max()) & (np.abs(x) < 0.8 * grid.half)
        found = np.log(np.where(seen, values, 1.0))
        for side, end in zip((-1.0, 1.0), ends, strict=True):
            out = side * (x - end) > 0
            fitted, far = out & seen & (values < 1e-6 * rho.max()), out & ~seen
            curve = polyfit(x[fitted] - end, found[fitted] + np.log(np.abs(x[fitted] - end)), 2)
            found[far] = polyval(x[far] - end, curve) - np.log(np.abs(x[far] - end))
        return found

    return mean, width, log_density


def moments(A: float, V: float, kappa: float, ends: tuple[float, float], times: list[float], count: int) -> list[Array]:
    """Mean and variance at the times."""
    problem = {
        "geometry": {"kind": "line"},
        "attention": {"kind": "softmax", "A": A, "V": V},
        "initial": {"kind": "uniform", "box": [list(ends)]},
        "noise": {"kappa": kappa},
    }
    mean, width, log_density = smoothed(problem, ends)
    z, step = np.linspace(-REACH, REACH, count, retstep=True)
    more = REACH + step * np.arange(1, int(BEYOND / step))
    first, second = derivative(1, count, step), derivative(2, count, step)

    def whole(u: Array) -> tuple[Array, Array]:
        left, right = polyfit(z[:30], u[:30], 2), polyfit(z[-30:], u[-30:], 2)
        places = np.concatenate([-more[::-1], z, more])
        return places, np.concatenate([polyval(-more[::-1], left), u, polyval(more, right)])

    def slope(_: float, state: Array) -> Array:
        u, m, s = state[:-2], state[-2], state[-1]
        places, logs = whole(u)
        scores = A * np.multiply.outer(m + s * z, s * places) + logs
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        drift = V * (m + s * (weights @ places) / weights.sum(axis=1))
        p = np.exp(u - u.max())
        p /= p.sum()
        middle, average = p @ z, p @ drift
        variance = p @ (z - middle) ** 2
        wider = p @ ((drift - average) * (z - middle)) / variance
        b = (drift - average - wider * (z - middle)) / s - z / (kappa * s * s * variance)
        moved = average - wider * middle
        spread = (second @ u + (first @ u) ** 2) / (kappa * s * s)
        return np.append(-b * (first @ u) - first @ b + spread, [moved, wider + 1.0 / (kappa * s * variance)])

    start = np.append(log_density(mean + width * z) + np.log(width), [mean, width])
    found = solve_ivp(slope, (START, times[-1]), start, "DOP853", times, rtol=1e-10, atol=1e-10)
    shown = []
    for state in found.y.T:
        places, logs = whole(state[:-2])
        p = np.exp(logs) / np.exp(logs).sum()
        middle = p @ places
        shown.append(np.array([state[-2] + state[-1] * middle, state[-1] ** 2 * (p @ (places - middle) ** 2)]))
    return shown


if __name__ == "__main__":
    for points in (301, 401):
        print(points, moments(0.8, 1.0, 4.5, (-0.7, 1.3), [0.6, 1.0, 1.05, 1.1], points))
