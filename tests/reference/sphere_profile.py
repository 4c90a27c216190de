"""Tokens about an axis in R^d without noise: colatitudes and densities along them, by sums over colatitudes.

Integrated around the axis a kernel is `int e^{a cos phi} = e^0 F(a)`, `F = 0F1(; (d - 1) / 2; a^2 / 4)`, and densities
follow `d/dt log rho = -(Phi'' + (d - 2) cot(angle) Phi')`: no harmonics, and nothing cancels at the poles.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import hyp0f1

Array = np.ndarray

_AT_POLE = 1e-9  # radian, up to which `cot Phi'` is `Phi''`


def carried_profile(
    concentration: float, places: Array, until: float, beta: float, dimension: int, normalised: bool, count: int = 90
) -> tuple[Array, Array]:
    """Where tokens of a von Mises-Fisher law that begin at the angles `places` are at the end, and the densities there
    relative to the uniform one."""
    x, w = np.polynomial.legendre.leggauss(count)
    nodes, order = 0.5 * np.pi * (x + 1), 0.5 * (dimension - 1)
    area = w * np.sin(nodes) ** (dimension - 2)
    masses = area * np.exp(concentration * (np.cos(nodes) - 1))
    level, masses = masses.sum() / area.sum(), masses / masses.sum()
    first = np.concatenate([nodes, places])

    def change(_time: float, state: Array) -> Array:
        angle = state[: first.size]
        c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
        cj, sj = c[:count, 0], s[:count, 0]
        z, dz = beta * s * sj, beta * c * sj
        f, g, h = (
            hyp0f1(order + k, z * z / 4) / np.prod([2.0 * (order + j) for j in range(k)], initial=1) for k in range(3)
        )
        kernel = np.exp(beta * c * cj) * masses
        along, around = -s * cj * f + c * sj * z * g, c * sj * (g + z * z * h) * dz - s * sj * z * g
        speed = (kernel * along).sum(axis=1)
        bend = (kernel * (-beta * s * cj * along - c * cj * f - s * cj * z * g * dz + around)).sum(axis=1)
        inside = s[:, 0] > _AT_POLE
        cot = np.divide(c[:, 0], s[:, 0], out=np.zeros(first.size), where=inside)
        spread = bend + (dimension - 2) * np.where(inside, cot * speed, bend)
        if normalised:
            total = (kernel * f).sum(axis=1)
            speed, spread = speed / total, spread / total - beta * (speed / total) ** 2
        return np.concatenate([speed, -spread[count:]])

    start = np.concatenate([first, concentration * (np.cos(places) - 1) - np.log(level)])
    end = solve_ivp(change, (0.0, until), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return end[count : first.size], np.exp(end[first.size :])
