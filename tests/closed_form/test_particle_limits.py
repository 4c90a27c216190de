"""Tokens against what is known exactly of them: poles, rates, means, laws of Gaussians."""

import numpy as np
import pytest
from scipy.special import exp1

import mfpde


def solved(**blocks):
    return mfpde.solve(mfpde.Problem.from_dict(blocks))


def on_line(kind, points, **attention):
    return solved(
        geometry={"kind": "line"},
        attention={"kind": kind, "A": 1, "V": 1, **attention},
        initial={"kind": "points", "values": points},
        solver={"kind": "particles"},
        time={"until": 5},
    )


def test_linear_relu_and_unnormalized_tokens_blow_up_when_they_have_to(random):
    """Physics section 13: `1/(2 M_2)`, `1/(2 M_+)`, `E_1(x_0^2)/2`."""
    points = random.standard_normal(50)
    linear, relu = (on_line(kind, points) for kind in ("linear", "relu"))
    sides = np.mean(np.maximum(points, 0) ** 2), np.mean(np.minimum(points, 0) ** 2)
    one = on_line("unnormalized", [0.8])
    for run, time in ((linear, 1 / (2 * np.mean(points**2))), (relu, 1 / (2 * max(sides))), (one, exp1(0.64) / 2)):
        assert run.outcome == "blow-up"
        assert run.outcome.time == pytest.approx(time, rel=1e-7)
        assert abs(run.outcome.time - time) <= run.outcome.uncertainty


@pytest.mark.parametrize("beta", [-3.0, -1.0])
def test_three_clusters_under_negative_beta(beta):
    """Physics section 13: the rate `(1/2 + 3 beta/4) e^{-beta/2}` of three equispaced clusters."""
    apart, push = 2 * np.pi * np.arange(3) / 3, 1e-5 * np.array([1.0, -1.0, 0.0])
    run = solved(
        geometry={"kind": "circle"},
        attention={"kind": "unnormalized", "beta": beta},
        initial={"kind": "points", "values": apart + push},
        solver={"kind": "particles", "tolerance": 1e-12, "merge": 0},
        time={"until": 1, "save": False},
    )
    left = run.positions[-1, :, 0] - apart
    rate = np.log((left[0] - left[1]) / 2e-5)
    assert rate == pytest.approx((0.5 + 0.75 * beta) * np.exp(-beta / 2), abs=1e-4)


def test_anisotropic_noise_alone_adds_its_matrix():
    """Physics section 13: `S' = 2 D`."""
    matrix = [[1.0, 0.4], [0.4, 0.3]]
    run = solved(
        geometry={"kind": "plane"},
        noise={"matrix": matrix},
        initial={"kind": "gaussian", "mean": [0, 0], "covariance": 1},
        solver={"kind": "particles", "count": 100_000},
        time={"until": 1.5, "save": False},
    )
    np.testing.assert_allclose(np.cov(run.positions[-1].T), np.eye(2) + 3 * np.array(matrix), atol=0.05)


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_common_noise_on_spheres_forgets_the_direction(dimension):
    """The generator of `P_x o dB` is the Laplacian: `E x = e^{-(d-1) c t} x_0`."""
    geometry = {"kind": "circle"} if dimension == 2 else {"kind": "sphere", "dimension": dimension}
    direction = 0.0 if dimension == 2 else np.eye(dimension)[0]
    run = solved(
        geometry=geometry,
        noise={"common": 0.3},
        initial={"kind": "von-mises", "direction": direction, "concentration": 300},
        solver={"kind": "particles", "count": 2, "copies": 4000, "step": 0.1},
        time={"until": 1, "save": False},
    )
    space = mfpde.Problem.from_dict({"geometry": geometry}).geometry
    mean = [space.embed(each.reshape(-1, each.shape[2])).mean(axis=0)[0] for each in run.positions]
    assert mean[1] / mean[0] == pytest.approx(np.exp(-0.3 * (dimension - 1)), abs=0.027)


def test_the_mean_of_many_noisy_tokens_follows_the_density():
    task = {
        "geometry": {"kind": "circle"},
        "attention": {"kind": "softmax", "beta": 3},
        "noise": {"kappa": 4},
        "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta) + 0.2*sin(2*theta)"},
        "time": {"until": 4, "save_every": 1},
        "observe": ["order-parameter"],
    }
    tokens = solved(**task, solver={"kind": "particles", "count": 200_000, "seed": 2, "sampling": "stratified"})
    density = solved(**task, solver={"kind": "spectral"})
    np.testing.assert_allclose(tokens["order-parameter"], density["order-parameter"], atol=6e-3)


def test_stratified_draws_have_the_moments_of_their_law():
    task = {
        "geometry": {"kind": "line"},
        "initial": {"kind": "gaussian", "mean": 0.3, "covariance": 2},
        "time": {"until": 0.1, "save": False},
    }
    run = solved(**task, solver={"kind": "particles", "count": 4000, "sampling": "stratified"})
    points = run.positions[0, :, 0]
    assert points.mean() == pytest.approx(0.3, abs=2e-3)
    assert points.var() == pytest.approx(2, abs=1e-2)
    assert (np.diff(points) > 0).all()


def test_a_span_of_few_tokens_is_never_left(random):
    """Tokens of a low-dimensional subspace under `beta` move as in that subspace, whatever the ambient dimension."""
    points = random.standard_normal((6, 6))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    basis = np.linalg.qr(random.standard_normal((64, 6)))[0]

    def run(values, dimension):
        return solved(
            geometry={"kind": "sphere", "dimension": dimension},
            attention={"kind": "softmax", "beta": 2},
            initial={"kind": "points", "values": values},
            solver={"kind": "particles", "tolerance": 1e-11},
            time={"until": 2, "save_every": 1},
        ).positions

    np.testing.assert_allclose(run(points @ basis.T, 64), run(points, 6) @ basis.T, atol=1e-10)
