"""NumPy: spherical harmonics by dense tables for every order, and ETDRK4 [kassam2005] with fixed steps."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Harmonics", "Problem", "solve"]

Array = np.ndarray[Any, Any]
_CONTOUR = 32  # points on a circle, for the coefficients of the scheme


class Harmonics:
    """Degrees up to `degree` on Gauss rings for products of three functions; coefficients by order and degree."""

    def __init__(self, degree: int, rings: int, places: int) -> None:
        self.degree, self.places = degree, places
        x, weights = np.polynomial.legendre.leggauss(rings)
        self.side, self.weights = np.sqrt(1 - x**2), 0.5 * weights
        order, count = np.arange(degree + 2), degree + 2
        table = np.zeros((count, count, rings))
        top = np.ones(rings)
        for m in order:
            top = top * (self.side * np.sqrt((2 * m + 1) / (2 * m)) if m else 1.0)
            table[m, m] = top
            for k in range(m + 1, count):
                before = (
                    np.sqrt(((k - 1) ** 2 - m * m) / (4 * (k - 1) ** 2 - 1)) * table[m, k - 2] if k > m + 1 else 0.0
                )
                table[m, k] = np.sqrt((4 * k * k - 1) / (k * k - m * m)) * (x * table[m, k - 1] - before)
        self.values = np.ascontiguousarray(table[: degree + 1, : degree + 1])
        m, k = np.ogrid[: degree + 1, : degree + 1]
        root = np.sqrt(np.maximum(k * k - m * m, 0) / (4.0 * k * k - 1))[:, :, None]
        above = np.sqrt(np.maximum((k + 1) ** 2 - m * m, 0) / (4.0 * (k + 1) ** 2 - 1))[:, :, None]
        following, previous = table[: degree + 1, 1 : degree + 2], np.zeros_like(self.values)
        previous[:, 1:] = self.values[:, :-1]
        self.slopes = (k[:, :, None] * above * following - (k[:, :, None] + 1) * root * previous) / self.side
        self.order = m

    def synthesis(self, coefficients: Array, table: Array) -> Array:
        """Values `(rings, places)`."""
        waves = np.zeros((table.shape[2], self.places // 2 + 1), dtype=complex)
        waves[:, : self.degree + 1] = np.matmul(coefficients[:, None, :], table)[:, 0].T
        return np.fft.irfft(waves, self.places, axis=1) * self.places

    def analysis(self, values: Array, table: Array) -> Array:
        """`int f conj(Y)`, with the table in place of the functions of the colatitude."""
        waves = np.fft.rfft(values, axis=1)[:, : self.degree + 1] / self.places * self.weights[:, None]
        return np.matmul(table, waves.T[:, :, None])[:, :, 0]


class Problem:
    """`dc/dt = -D l (l + 1) c + N(c)` for unnormalized attention, from multipliers by degree."""

    def __init__(self, harmonics: Harmonics, potential: Array, diffusion: float) -> None:
        self.harmonics, degree = harmonics, np.arange(harmonics.degree + 1)
        self.potential = np.zeros(degree.size)
        shown = min(potential.size, degree.size)
        self.potential[:shown] = potential[:shown]
        self.linear = -diffusion * degree * (degree + 1.0)

    def nonlinear(self, coefficients: Array) -> Array:
        """`int grad conj(Y) . v dmu`."""
        basis, pull = self.harmonics, self.potential * coefficients
        density = basis.synthesis(coefficients, basis.values)
        south, east = basis.synthesis(pull, basis.slopes), basis.synthesis(1j * basis.order * pull, basis.values)
        side = basis.side[:, None]
        down = basis.analysis(density * south, basis.slopes)
        return down - 1j * basis.order * basis.analysis(density * east / side**2, basis.values)


def solve(problem: Problem, start: Array, until: float, steps: int) -> Array:
    """Coefficients at the end."""
    h, linear = until / steps, problem.linear
    full, half = np.exp(h * linear), np.exp(0.5 * h * linear)
    contour = np.exp(1j * np.pi * (np.arange(_CONTOUR) + 0.5) / _CONTOUR)
    z = h * linear[:, None] + contour
    q = h * (np.expm1(z / 2) / z).mean(axis=1).real
    f1 = h * ((-4 - z + np.exp(z) * (4 - 3 * z + z**2)) / z**3).mean(axis=1).real
    f2 = h * ((2 + z + np.exp(z) * (z - 2)) / z**3).mean(axis=1).real
    f3 = h * ((-4 - 3 * z - z**2 + np.exp(z) * (4 - z)) / z**3).mean(axis=1).real
    u = start
    for _ in range(steps):
        n = problem.nonlinear(u)
        a = half * u + q * n
        na = problem.nonlinear(a)
        b = half * u + q * na
        nb = problem.nonlinear(b)
        c = half * a + q * (2 * nb - n)
        nc = problem.nonlinear(c)
        u = full * u + f1 * n + 2 * f2 * (na + nb) + f3 * nc
    return u
