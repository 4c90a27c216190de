"""Tokens with noise: strong order one where noise is additive, weak order two on every space."""

import itertools

import numpy as np
import pytest
import scipy.linalg

import mfpde
from mfpde.geometry import Sphere
from mfpde.solvers.particles.steps_on_space import jolted, moved

CASES = {
    "line": {
        "geometry": {"kind": "line"},
        "attention": {"kind": "softmax", "A": 1, "V": -1},
        "drift": {"kind": "mlp", "W": -1.0, "U": 1.0, "b": [0.3], "activation": "tanh"},
        "initial": {"kind": "gaussian", "mean": 0.5, "covariance": 1},
    },
    "plane": {
        "geometry": {"kind": "plane"},
        "attention": {"kind": "l2", "Q": [[1, 0.5], [0, 1]], "K": 1, "V": [[-1, 1], [-1, -1]]},
        "initial": {"kind": "gaussian", "mean": [0.5, 0], "covariance": 1},
    },
    "circle": {
        "geometry": {"kind": "circle"},
        "attention": {"kind": "unnormalized", "beta": 2},
        "initial": {"kind": "von-mises", "direction": 0, "concentration": 1},
    },
}


def ends(name, steps, count, finest, until=0.8, **noise):
    """Tokens at the end of a run of so many steps, all driven by the noise of the finest."""
    settings = {"kind": "particles", "count": count, "step": until / steps, "increments": finest // steps, "seed": 3}
    task = {**CASES[name], "noise": noise or {"kappa": 4.0}, "solver": settings}
    task["time"] = {"until": until, "save": False}
    positions = mfpde.solve(mfpde.Problem.from_dict(task)).positions[-1]
    return np.hstack([np.cos(positions), np.sin(positions)]) if name == "circle" else positions


def order(errors):
    """Of errors that each halving of the step has left."""
    return float(-np.polyfit(np.arange(len(errors)), np.log2(errors), 1)[0])


@pytest.mark.parametrize(
    ("name", "noise"),
    [
        *((name, {"kappa": 4.0}) for name in CASES),
        ("plane", {"matrix": [[0.4, 0.1], [0.1, 0.2]]}),
    ],
)
def test_strong_order_is_one_where_noise_is_additive(name, noise):
    runs = [ends(name, steps, 400, 256, **noise) for steps in (32, 64, 128, 256)]
    errors = [np.sqrt(np.mean((one - two) ** 2)) for one, two in itertools.pairwise(runs)]
    assert order(errors) == pytest.approx(1.0, abs=0.15), errors


@pytest.mark.parametrize("geometry", ["line", "plane", "circle"])
def test_common_noise_of_long_steps_is_that_of_short_ones(geometry):
    """The translation, or rotation, is the sum of the same increments."""
    found = []
    for finer in (1, 8):
        task = {
            "geometry": {"kind": geometry},
            "noise": {"common": 0.3},
            "initial": {"kind": "points", "values": np.zeros((1, 2 if geometry == "plane" else 1))},
            "solver": {"kind": "particles", "step": finer / 64, "increments": finer, "seed": 5},
            "time": {"until": 1, "save": False},
        }
        found.append(mfpde.solve(mfpde.Problem.from_dict(task)).positions[-1])
    assert np.abs(found[0]).min() > 1e-3
    np.testing.assert_allclose(found[1], found[0], atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_weak_order_is_two(name):
    """Of what many tokens have in the mean: differences between step sizes, with the same noise in all."""
    means = [np.exp(0.5 * ends(name, steps, 100_000, 16)).mean(axis=0) for steps in (4, 8, 16)]
    errors = [np.linalg.norm(one - two) for one, two in itertools.pairwise(means)]
    assert order(errors) == pytest.approx(2.0, abs=0.3), errors


def exact_moments(dimension, pull, diffusion, until, count=60):
    """`E C_l(z)`, C_l the Gegenbauer polynomials with C_l(1) = 1, from z = 0, for the drift `pull P_x e_z` with noise:
    their equations, `C_l' = -l (l + d - 2) D C_l + pull (1 - z^2) dC_l/dz`, are a matrix."""
    d, order_of = dimension, np.arange(count)
    matrix = np.diag(-diffusion * order_of * (order_of + d - 2.0))
    for k in range(1, count):
        share = pull * k * (k + d - 2.0) / (2 * k + d - 2.0)
        matrix[k, k - 1] += share
        if k + 1 < count:
            matrix[k, k + 1] -= share
    start = np.zeros(count)
    start[0] = 1.0
    for k in range(1, count - 1):  # (k + d - 2) C_{k+1} = (2k + d - 2) z C_k - k C_{k-1}, at z = 0
        start[k + 1] = -k * start[k - 1] / (k + d - 2.0)
    return scipy.linalg.expm(until * matrix) @ start


@pytest.mark.parametrize("dimension", [3, pytest.param(6, marks=pytest.mark.long)])
def test_weak_order_is_two_on_spheres(dimension, tmp_path):
    """A drift and noise whose moments are known: what is left are the errors of steps, and of a million draws."""
    pull, kappa, until = 1.5, 3.0, 0.9
    strength = [0.0] * (dimension - 1) + [float(np.arctanh(0.5))]
    task = {
        "geometry": {"kind": "sphere", "dimension": dimension},
        "drift": {"kind": "mlp", "W": 2 * pull, "U": 0.0, "b": strength, "activation": "tanh"},
        "noise": {"kappa": kappa},
        "time": {"until": until, "save": False},
    }
    np.save(tmp_path / "same.npy", np.tile(np.eye(dimension)[0], (500_000, 1)))
    initial = {"kind": "points", "file": str(tmp_path / "same.npy")}
    expected = exact_moments(dimension, pull, 1 / kappa, until)[1]
    errors = []
    for steps in (2, 4):
        ends = []
        for seed in range(2):
            settings = {"kind": "particles", "step": until / steps, "seed": seed}
            run = mfpde.solve(mfpde.Problem.from_dict({**task, "initial": initial, "solver": settings}))
            ends.append(run.positions[-1][:, -1].mean())
        errors.append(abs(np.mean(ends) - expected))
    assert order(errors) == pytest.approx(2.0, abs=0.4), errors


@pytest.mark.parametrize("dimension", [3, 4, 9])
def test_a_geodesic_of_noise_has_the_right_mean_to_third_order(dimension):
    """`E <x, x_0> = e^{-(d-1) v / 2}` for Brownian motion of variance v: one step, by quadrature of the chi law."""
    radius = np.arange(0.5, 2000) * 0.006
    law = radius ** (dimension - 2) * np.exp(-0.5 * radius**2)
    pole, side = np.eye(dimension)[0], np.eye(dimension)[1]

    def error(variance):
        there = jolted(Sphere(dimension=dimension), np.tile(pole, (radius.size, 1)), radius[:, None] * side, variance)
        return abs(law @ there[:, 0] / law.sum() - np.exp(-0.5 * (dimension - 1) * variance))

    assert np.log2(error(0.04) / error(0.02)) > 2.85


def test_geodesics_stay_on_the_sphere_and_have_their_length(random):
    sphere = Sphere(dimension=6)
    points = random.standard_normal((50, 6))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    tangents = random.standard_normal((50, 6))
    tangents -= np.sum(points * tangents, axis=1, keepdims=True) * points
    tangents *= (np.linspace(0.01, 3, 50) / np.linalg.norm(tangents, axis=1))[:, None]
    there = moved(sphere, points, tangents)
    assert np.abs(np.linalg.norm(there, axis=1) - 1).max() < 1e-15
    np.testing.assert_allclose(sphere.distance(points, there), np.linspace(0.01, 3, 50), rtol=1e-12)
