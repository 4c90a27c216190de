"""ReLU attention with noise on S^2 against a dense program that integrates over half spaces, by monomials."""

import numpy as np
import pytest
from reference.sphere import grid, polynomials
from scipy.integrate import solve_ivp

import mfpde

A = np.array([[1.0, 0.2, 0.0], [-0.3, 0.9, 0.1], [0.1, 0.0, 1.1]])
V = np.array([[1.0, 0.2, 0.0], [0.0, 0.8, 0.1], [0.3, 0.0, 1.1]])
DEGREE, KAPPA, UNTIL = 12, 2.0, 0.2


def monomials(points):
    """Those of degree DEGREE and one less: on the sphere all polynomials."""
    powers = points[..., None] ** np.arange(DEGREE + 1)
    found = [
        powers[..., 0, a] * powers[..., 1, b] * powers[..., 2, n - a - b]
        for n in (DEGREE, DEGREE - 1)
        for a in range(n + 1)
        for b in range(n + 1 - a)
    ]
    return np.stack(found, axis=-1)


def half_space_sums(w):
    """`int max(0, <w, y>) y p(y) dy` for each monomial p: Gauss nodes in the cosine to w, equispaced turns about it."""
    t, heights = np.polynomial.legendre.leggauss(DEGREE // 2 + 3)
    t, turns = 0.5 * (1 + t), 2 * np.pi * np.arange(DEGREE + 4) / (DEGREE + 4)
    size = np.linalg.norm(w)
    frame = np.linalg.qr(np.column_stack([w, np.eye(3)]))[0]
    frame[:, 0] = w / size
    side = np.sqrt(1 - t**2)
    local = np.stack([np.outer(t, np.ones_like(turns)), np.outer(side, np.cos(turns)), np.outer(side, np.sin(turns))])
    y = local.reshape(3, -1).T @ frame.T
    weights = np.repeat(0.5 * heights * t, turns.size) * size * 2 * np.pi / turns.size
    return (y * weights[:, None]).T @ monomials(y)


def dense(initial):
    points, weights = grid(DEGREE + 4)
    values, gradients, laplacians = polynomials(points, weights, DEGREE)
    change = np.linalg.lstsq(monomials(points), values.T, rcond=None)[0]
    pulls = np.stack([V @ half_space_sums(A @ x) @ change for x in points])

    def slope(_time, moments):
        masses = weights * (moments @ values)
        along = np.einsum("pnc,nc->pn", gradients, pulls @ moments)
        return (along + laplacians / KAPPA) @ masses

    density = initial(points)
    density /= weights @ density
    start = values @ (weights * density)
    ended = solve_ivp(slope, (0, UNTIL), start, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    return points, ended @ values


def solved(a, v, tolerance, kappa=KAPPA, until=UNTIL):
    return mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "sphere"},
                "attention": {"kind": "relu", "A": a, "V": v},
                "noise": {"kappa": kappa},
                "initial": {"kind": "density", "expression": "1 + 0.5*x + 0.3*y*z"},
                "solver": {"kind": "spectral", "tolerance": tolerance},
                "time": {"until": until, "save": False},
            }
        )
    )


def test_errors_stay_below_ten_tolerances():
    points, density = dense(lambda p: 1 + 0.5 * p[:, 0] + 0.3 * p[:, 1] * p[:, 2])
    for tolerance in (1e-5, 1e-8):
        error = np.abs(solved(A, V, tolerance).measure(-1).evaluate(points) - density).max() / density.max()
        assert error < 10 * tolerance


@pytest.mark.long
def test_a_stretching_matrix_at_any_tolerance():
    """Directions of Ax crowd together: the velocity has far more harmonics than the density at first."""
    stretching = [[1.0, 0.5, 0.0], [-0.3, 0.8, 0.2], [0.1, 0.4, 0.5]]
    best = solved(stretching, V, 1e-11)
    for tolerance in (1e-6, 1e-9):
        other = solved(stretching, V, tolerance)
        points, _ = grid(12)
        exact = best.measure(-1).evaluate(points)
        assert np.abs(other.measure(-1).evaluate(points) - exact).max() < 10 * tolerance * exact.max()


@pytest.mark.parametrize("scale", [1.5, -2.0])
def test_by_degree_and_by_half_spaces(scale):
    """A multiple of the identity is a convolution; off the identity by rounding, a general law."""
    general = scale * np.eye(3)
    general[0, 1] = 1e-14
    points, _ = grid(12)
    one, two = (solved(a, 1.0, 1e-11, 6.0, 1.0).measure(-1).evaluate(points) for a in (scale, general))
    assert np.abs(one - two).max() < 1e-11 * one.max()
