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
from scipy.special import ive

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


def about_axis(initial: Callable[[Array], Array], times: list[float], beta: float, kappa: float, normalised: bool):
    """Densities relative to the uniform one, of data about an axis on S^2: functions of the cosine, one for each time.

    Kernels are integrated around the axis, `int e^{a cos phi} = 2 pi I_0(a)`; polynomials are made orthonormal on Gauss
    nodes by Gram and Schmidt, with their derivatives beside them, and tested with: no recurrence of Legendre's.
    """
    degree, (y, w) = 80, np.polynomial.legendre.leggauss(140)
    w = w / 2
    values, slopes, lifts = [np.ones_like(y)], [np.zeros_like(y)], []
    for _ in range(degree):
        new, slope = y * values[-1], values[-1] + y * slopes[-1]
        for _ in range(2):
            for value, its_slope in zip(values, slopes, strict=True):
                part = (w * value) @ new
                new, slope = new - part * value, slope - part * its_slope
        size = np.sqrt((w * new) @ new)
        lifts.append((w * y * values[-1]) @ (new / size))
        values.append(new / size)
        slopes.append(slope / size)
    basis, gradient = np.array(values), np.array(slopes)
    turn = abs(beta) * np.sqrt(np.outer(1 - y**2, 1 - y**2))
    weight = np.exp(beta * np.outer(y, y) + turn - abs(beta) * normalised) * w
    levels = weight * ive(0, turn)
    pull = weight * (y * ive(0, turn) - beta * np.outer(y, 1 - y**2) * np.where(turn > 0, ive(1, turn) / turn, 0.5))

    def change(_time: float, moments: Array) -> Array:
        density, speed = moments @ basis, pull @ (moments @ basis)
        if normalised:
            speed = speed / (levels @ density)
        return gradient @ (w * (1 - y**2) * (speed * density - moments @ gradient / kappa))

    start = initial(y)
    start = basis @ (w * start) / (w @ start)
    found = solve_ivp(change, (0.0, times[-1]), start, "DOP853", t_eval=times, rtol=1e-12, atol=1e-13)

    def shown(moments: Array) -> Callable[[Array], Array]:
        def density(x: Array) -> Array:
            older, newer, total = np.zeros_like(x), np.ones_like(x), moments[0] * np.ones_like(x)
            for k in range(degree):
                older, newer = newer, (x * newer - (lifts[k - 1] * older if k else 0.0)) / lifts[k]
                total = total + moments[k + 1] * newer
            return total

        return density

    return [shown(column) for column in found.y.T]
