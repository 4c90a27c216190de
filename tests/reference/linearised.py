"""Stationary states on S^1 and S^2 and the full linearised equation there, by plain Galerkin sums.

The weak form `<Y, L eta> = -<grad Y, grad eta>/kappa + <grad Y, eta grad psi> + <grad Y, mu grad dpsi>` is tested with
`cos, sin (k theta)` on the circle and with spherical harmonics of every azimuthal order on the sphere; psi is `W * mu`
of unnormalised attention, `log Z / beta` of softmax, dpsi its derivative by eta. No symmetry and no sqrt(mu) is used.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import eval_legendre, ive, sph_legendre_p_all, spherical_in

NODES = 240


@dataclass(frozen=True)
class Law:
    """`K * eta` multiplies degree l by `levels[l]`; psi is `K * mu` times `1 / beta`, or `log(K * mu) / beta`."""

    dimension: int
    beta: float
    softmax: bool
    degrees: int = 48

    @property
    def levels(self):
        """`g_l`; of beta = 0 their limits divided by beta are told by `pulls`."""
        degree = np.arange(self.degrees + 1)
        if self.dimension == 2:
            return np.exp(self.beta) * ive(degree, self.beta)
        return np.array([spherical_in(k, self.beta) for k in degree])


def nodes(dimension):
    """Angles to the axis with weights of mass 1."""
    if dimension == 2:
        theta = 2 * np.pi * np.arange(NODES) / NODES
        return theta, np.full(NODES, 1 / NODES)
    x, w = np.polynomial.legendre.leggauss(NODES)
    return np.arccos(x), 0.5 * w


def zonal(dimension, theta, degrees):
    """`C_l` and its derivative by theta, and N_l."""
    degree = np.arange(degrees + 1)
    if dimension == 2:
        return (
            np.cos(np.outer(theta, degree)),
            -degree * np.sin(np.outer(theta, degree)),
            np.where(degree == 0, 1.0, 2.0),
        )
    x = np.cos(theta)
    values = np.array([eval_legendre(k, x) for k in degree]).T
    slopes = np.zeros_like(values)
    slopes[:, 1:] = -degree[1:] * (values[:, :-1] - x[:, None] * values[:, 1:]) / np.sin(theta)[:, None]
    if not np.all(np.sin(theta)):
        raise ValueError("a node is a pole")
    return values, slopes, 2.0 * degree + 1


def stationary(law, kappa, moments):
    """The moments of a state near given ones, by Newton's method with differences; the residual."""
    theta, weights = nodes(law.dimension)
    values, _, counts = zonal(law.dimension, theta, law.degrees)
    levels = law.levels

    def again(m):
        field = values @ (counts * levels * m)
        exponent = kappa / law.beta * (np.log(field) if law.softmax else field)
        share = weights * np.exp(exponent - exponent.max())
        return values.T @ share / share.sum()

    m = np.zeros(law.degrees + 1)
    m[: min(m.size, moments.size)] = moments[: m.size]
    m[0] = 1.0
    for _ in range(6):
        residual = m - again(m)
        step = 1e-6
        jacobian = np.eye(m.size)[1:, 1:].copy()
        for k in range(1, m.size):
            there, back = m.copy(), m.copy()
            there[k] += step
            back[k] -= step
            jacobian[:, k - 1] -= (again(there) - again(back))[1:] / (2 * step)
        m[1:] -= np.linalg.lstsq(jacobian, residual[1:], rcond=None)[0]
    return m, float(np.abs(m - again(m)).max())


def rates(law, kappa, moments, top=64, orders=6):
    """All eigenvalues, descending: on the circle of one matrix, on the sphere twice those of each order m > 0."""
    found = []
    for _, matrix, copies in operators(law, kappa, moments, top, orders):
        found += [np.linalg.eigvals(matrix)] * copies
    every = np.concatenate(found)
    return every[np.argsort(-every.real)]


def operators(law, kappa, moments, top=64, orders=6):
    """Functions of each order at angles, the matrix of L in them, and how often it counts."""
    theta, weights = nodes(law.dimension)
    values, slopes, counts = zonal(law.dimension, theta, law.degrees)
    levels = law.levels
    field, climb = values @ (counts * levels * moments), slopes @ (counts * levels * moments)
    exponent = kappa / law.beta * (np.log(field) if law.softmax else field)
    density = np.exp(exponent - exponent.max())
    density /= weights @ density
    pull = climb / (law.beta * field) if law.softmax else climb / law.beta
    for waves, turns, across, degree, copies in _bases(law.dimension, theta, top, orders):
        seen = np.zeros(degree.size)
        inside = degree <= law.degrees
        seen[inside] = levels[degree[inside]]
        change, change_slope = waves * seen, turns * seen
        if law.softmax:
            risen = change / field[:, None]
            response = (change_slope / field[:, None] - risen * (climb / field)[:, None]) / law.beta
            aside = across * seen / field[:, None] / law.beta
        else:
            response, aside = change_slope / law.beta, across * seen / law.beta
        heavy = weights[:, None]
        matrix = -(turns.T @ (heavy * turns) + across.T @ (heavy * across)) / kappa
        matrix += turns.T @ (heavy * waves * pull[:, None])
        matrix += turns.T @ (heavy * response * density[:, None]) + across.T @ (heavy * aside * density[:, None])
        mass = waves.T @ (heavy * waves)
        yield waves, np.linalg.solve(mass, matrix), copies


def _bases(dimension, theta, top, orders):
    """Functions, their derivatives by theta and along circles of latitude, degrees, and how often each order counts."""
    if dimension == 2:
        k = np.arange(1, top + 1)
        waves = np.hstack([np.cos(np.outer(theta, k)), np.sin(np.outer(theta, k))])
        turns = np.hstack([-k * np.sin(np.outer(theta, k)), k * np.cos(np.outer(theta, k))])
        yield waves, turns, 0 * waves, np.concatenate([k, k]), 1
        return
    table = sph_legendre_p_all(top, orders, theta, diff_n=1)
    for m in range(orders + 1):
        degree = np.arange(max(m, 1), top + 1)
        waves, turns = (np.sqrt(4 * np.pi) * table[n, degree, m].T for n in (0, 1))
        yield waves, turns, m * waves / np.sin(theta)[:, None], degree, 1 if m == 0 else 2
