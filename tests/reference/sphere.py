"""The equation on S^2 without harmonics: a grid of points, dense kernels, and a Laplacian by quadrature.

Points are Gauss colatitudes times equispaced longitudes. The drift is a sum over all points, kernel by kernel. The
equation is solved for the flow of tokens and of the noise by its weak form: with test functions `e_p`, polynomials in
x, y, z, the moments `int e_p dmu` obey `d/dt int e = int <grad e, v> + (1/kappa) Lap e dmu`, and monomials of degree up
to n are a basis of the functions on the sphere up to that degree, whose gradients and Laplacians are written down.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

Array = np.ndarray


def grid(count: int) -> tuple[Array, Array]:
    """Points `(n, 3)` and weights of sum 4 pi."""
    x, w = np.polynomial.legendre.leggauss(count)
    phi = 2 * np.pi * (np.arange(2 * count) + 0.5) / (2 * count)
    side = np.sqrt(1 - x**2)
    points = np.stack([np.outer(side, np.cos(phi)), np.outer(side, np.sin(phi)), np.outer(x, np.ones(2 * count))], -1)
    return points.reshape(-1, 3), np.repeat(w, 2 * count) * np.pi / count


def drift(points: Array, targets: Array, masses: Array, beta: float, normalised: bool) -> Array:
    """`P_x int k(x, y) y dmu(y)`, one target after the other."""
    found = np.empty_like(targets)
    for index, x in enumerate(targets):
        kernel = np.exp(beta * (points @ x)) * masses
        pull = kernel @ points / (kernel.sum() if normalised else 1.0)
        found[index] = pull - (pull @ x) * x
    return found


def monomials(points: Array, degree: int) -> tuple[Array, Array, Array]:
    """Values, tangential gradients and surface Laplacians of `x^a y^b z^c`, c < 2: as many as there are harmonics.

    `grad f = D f - (x . D f) x`, and for a homogeneous f of degree n `Lap f = (sum d^2 f) - n (n + 1) f`.
    """
    values, gradients, laplacians = [], [], []
    x, y, z = points.T

    def power(base: Array, exponent: int) -> Array:
        return base**exponent if exponent >= 0 else np.zeros_like(base)

    for c in (0, 1):
        for a in range(degree + 1 - c):
            for b in range(degree + 1 - c - a):
                n = a + b + c
                value = power(x, a) * power(y, b) * power(z, c)
                ambient = np.stack(
                    [
                        a * power(x, a - 1) * power(y, b) * power(z, c),
                        b * power(x, a) * power(y, b - 1) * power(z, c),
                        c * power(x, a) * power(y, b) * power(z, c - 1),
                    ],
                    -1,
                )
                second = (a * (a - 1) * power(x, a - 2) * power(y, b) + b * (b - 1) * power(x, a) * power(y, b - 2)) * (
                    power(z, c)
                )
                values.append(value)
                gradients.append(ambient - n * value[:, None] * points)
                laplacians.append(second - n * (n + 1) * value)
    return np.array(values), np.array(gradients), np.array(laplacians)


def solve(
    initial: Callable[[Array], Array],
    times: list[float],
    beta: float,
    kappa: float,
    normalised: bool,
    degree: int,
    count: int,
    matrix: Array | None = None,
    value: Array | None = None,
) -> tuple[Array, list[Array]]:
    """The grid's points and the densities there at the times; kernels `e^{<Ax, y>}` for a `matrix` A in place of
    beta, and a `value` matrix V."""
    points, weights = grid(count)
    values, gradients, laplacians = monomials(points, degree)
    gram = (values * weights) @ values.T
    basis = np.linalg.cholesky(gram)
    values = np.linalg.solve(basis, values)
    gradients = np.linalg.solve(basis, gradients.reshape(len(basis), -1)).reshape(gradients.shape)
    laplacians = np.linalg.solve(basis, laplacians)
    scores = beta * points @ points.T if matrix is None else points @ matrix.T @ points.T
    kernel = np.exp(scores) * weights
    moved_by = np.eye(3) if value is None else value

    def change(_time: float, coefficients: Array) -> Array:
        density = coefficients @ values
        pull = kernel @ (density[:, None] * points)
        if normalised:
            pull /= (kernel @ density)[:, None]
        flux = density[:, None] * (pull @ moved_by.T)  # gradients are tangential: what is not does not matter
        moved = np.einsum("pni,ni->p", gradients, flux * weights[:, None])
        return moved + (laplacians @ (weights * density)) / kappa

    start = initial(points)
    start = start / (weights @ start)
    found = solve_ivp(
        change, (0.0, times[-1]), values @ (weights * start), "DOP853", t_eval=times, rtol=1e-12, atol=1e-13
    )
    return points, [column @ values for column in found.y.T]
