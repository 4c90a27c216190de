"""The equation on S^2 without harmonics: a grid of points, dense kernels, and a Laplacian by quadrature.

Points are Gauss colatitudes times equispaced longitudes. The drift is a sum over all points, kernel by kernel. The
equation is solved for the flow of tokens and of the noise by its weak form: with test functions `e_p`, polynomials in
x, y, z that are made orthonormal on the grid, the moments `int e_p dmu` obey `d/dt int e = int <grad e, v> + (1/kappa)
Lap e dmu`. Problems with and without an axis stand beside the methods.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ive

Array = np.ndarray

#: clusters at the ends of an axis, law, beta, kappa, until: 0.1 to 10 times the critical kappa
CLUSTERS = [
    ("unnormalized", 10.0, 5e-3, 1.5e-3),
    ("softmax", 10.0, 33.0, 4.0),
    ("unnormalized", 18.0, 5.2e-6, 8e-6),
    ("softmax", 18.0, 190.0, 4.0),
    ("unnormalized", -6.0, 0.43, 0.13),
    ("softmax", 2.0, 0.37, 0.5),
    ("softmax", 100.0, 121.0, 2.0),
]
BUMPS = [(0.7, 3.0, 1), (0.3, 2.0, -1)]  # their weights, concentrations, and ends of the axis
#: data without an axis: beta, kappa, until, degree that shows them
STRENGTHS = [(1.0, 2.0, 0.3, 12), (-3.0, 1.0, 0.15, 15), (4.0, 2.0, 0.05, 18)]
WITHOUT_AXIS = "1 + 0.5*x + 0.3*y*z + 0.2*z + 0.2*(x**2 - y**2)*z"  # of degrees up to 3


def bumps(cosine: Array) -> Array:
    """The density of the clusters relative to the uniform one, against the cosine of the colatitude."""
    return sum(w * c / np.sinh(c) * np.exp(c * sign * cosine) for w, c, sign in BUMPS)


def without_axis(points: Array) -> Array:
    """The density of that expression."""
    x, y, z = points.T
    return 1 + 0.5 * x + 0.3 * y * z + 0.2 * z + 0.2 * (x * x - y * y) * z


def clusters(axis: Array) -> dict:
    """The block `initial` of the clusters."""
    parts = [
        {"kind": "von-mises", "direction": (sign * axis).tolist(), "concentration": c, "weight": w}
        for w, c, sign in BUMPS
    ]
    return {"kind": "mixture", "components": parts}


def grid(count: int) -> tuple[Array, Array]:
    """Points `(n, 3)` and weights of sum 4 pi."""
    x, w = np.polynomial.legendre.leggauss(count)
    phi = 2 * np.pi * (np.arange(2 * count) + 0.5) / (2 * count)
    side = np.sqrt(1 - x**2)
    points = np.stack([np.outer(side, np.cos(phi)), np.outer(side, np.sin(phi)), np.outer(x, np.ones(2 * count))], -1)
    return points.reshape(-1, 3), np.repeat(w, 2 * count) * np.pi / count


def marched(change: Callable[[float, Array], Array], state: Array, times: list[float]) -> list[Array]:
    """States at the times, at each of which a step ends: between steps SciPy interpolates to fewer digits."""
    found, now = [], 0.0
    for time in times:
        if time > now:
            state = solve_ivp(change, (now, time), state, "DOP853", t_eval=[time], rtol=1e-12, atol=1e-13).y[:, -1]
            now = time
        found.append(state)
    return found


def drift(points: Array, targets: Array, masses: Array, beta: float, normalised: bool) -> Array:
    """`P_x int k(x, y) y dmu(y)`, one target after the other."""
    found = np.empty_like(targets)
    for index, x in enumerate(targets):
        kernel = np.exp(beta * (points @ x)) * masses
        pull = kernel @ points / (kernel.sum() if normalised else 1.0)
        found[index] = pull - (pull @ x) * x
    return found


def polynomials(points: Array, weights: Array, degree: int) -> tuple[Array, Array, Array]:
    """Orthonormal polynomials in x, y, z up to a degree, as many as there are harmonics, with tangential gradients and
    surface Laplacians: those of one degree more are x, y and z times the last ones, without all that came before.

    `grad (x_i e) = e P e_i + x_i grad e` and `Lap (x_i e) = -2 x_i e + 2 <e_i, grad e> + x_i Lap e`.
    """
    size = np.sqrt(weights.sum())
    values, gradients = np.ones((1, len(points))) / size, np.zeros((1, len(points), 3))
    laplacians, last = np.zeros((1, len(points))), slice(0, 1)
    for k in range(1, degree + 1):
        e, de, le = values[last], gradients[last], laplacians[last]
        new = np.concatenate([points[:, i] * e for i in range(3)])
        slope = np.concatenate(
            [e[:, :, None] * (np.eye(3)[i] - points[:, i : i + 1] * points) + points[:, i, None] * de for i in range(3)]
        )
        bend = np.concatenate([-2 * points[:, i] * e + 2 * de[:, :, i] + points[:, i] * le for i in range(3)])
        for _ in range(2):
            part = (new * weights) @ values.T
            new = new - part @ values
            slope = slope - np.tensordot(part, gradients, axes=1)
            bend = bend - part @ laplacians
        turned, sizes, _ = np.linalg.svd(new * np.sqrt(weights), full_matrices=False)
        mixed = (turned / sizes).T[: 2 * k + 1]
        last = slice(len(values), len(values) + 2 * k + 1)
        values = np.concatenate([values, mixed @ new])
        gradients = np.concatenate([gradients, np.tensordot(mixed, slope, axes=1)])
        laplacians = np.concatenate([laplacians, mixed @ bend])
    return values, gradients, laplacians


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
    values, gradients, laplacians = polynomials(points, weights, degree)
    flat = gradients.reshape(len(values), -1)
    scores = beta * points @ points.T if matrix is None else points @ matrix.T @ points.T
    kernel = np.exp(scores) * weights
    moved_by = np.eye(3) if value is None else value

    def change(_time: float, coefficients: Array) -> Array:
        density = coefficients @ values
        pull = kernel @ (density[:, None] * points)
        if normalised:
            pull /= (kernel @ density)[:, None]
        flux = density[:, None] * (pull @ moved_by.T)  # gradients are tangential: what is not does not matter
        moved = flat @ (flux * weights[:, None]).ravel()
        return moved + (laplacians @ (weights * density)) / kappa

    start = initial(points)
    start = start / (weights @ start)
    return points, [each @ values for each in marched(change, values @ (weights * start), times)]


def carried(
    initial: Callable[[Array], Array],
    places: Array,
    times: list[float],
    beta: float,
    normalised: bool,
    count: int,
) -> list[tuple[Array, Array]]:
    """Without noise: where tokens that begin at `places` are at the times, and the densities there.

    Nodes of a grid and these tokens move by sums over the nodes; `d/dt log rho = -div v`, with the Laplacian of
    `f(t) = e^{beta t} / beta`, t = <x, y>, written as `(1 - t^2) f'' - 2 t f'`.
    """
    nodes, weights = grid(count)
    masses = initial(nodes) * weights
    masses = masses / masses.sum()
    total = weights @ initial(nodes)
    first = np.vstack([nodes, places])

    def change(_time: float, state: Array) -> Array:
        x = state[: first.size].reshape(first.shape)
        cosine = x @ x[: len(nodes)].T
        kernel = np.exp(beta * cosine) * masses
        pull = kernel @ x[: len(nodes)]
        speed = pull - np.einsum("ni,ni->n", pull, x)[:, None] * x
        here = slice(len(nodes), None)
        spread = (kernel[here] * ((1 - cosine[here] ** 2) * beta - 2 * cosine[here])).sum(axis=1)
        if normalised:
            level = kernel.sum(axis=1)
            speed = speed / level[:, None]
            spread = spread / level[here] - beta * (speed[here] ** 2).sum(axis=1)
        return np.concatenate([speed.ravel(), -spread])

    start = np.concatenate([first.ravel(), np.log(initial(places) / total)])
    found = marched(change, start, times)
    ends = [(each[: first.size].reshape(first.shape)[len(nodes) :], each[first.size :]) for each in found]
    return [(x / np.linalg.norm(x, axis=1)[:, None], np.exp(log)) for x, log in ends]


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

    def shown(moments: Array) -> Callable[[Array], Array]:
        def density(x: Array) -> Array:
            older, newer, total = np.zeros_like(x), np.ones_like(x), moments[0] * np.ones_like(x)
            for k in range(degree):
                older, newer = newer, (x * newer - (lifts[k - 1] * older if k else 0.0)) / lifts[k]
                total = total + moments[k + 1] * newer
            return total

        return density

    return [shown(each) for each in marched(change, start, times)]
