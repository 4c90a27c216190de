"""Compiled drifts of few tokens against the law itself, and compiled steps against those of the fast sums."""

import numpy as np
import pytest

import mfpde
from mfpde.solvers.kernels import token_rows, token_slope
from mfpde.solvers.particles import beginning
from mfpde.solvers.particles.pairwise import pairwise_law

MATRIX = [[0.8, 0.5, 0.0], [-0.2, 0.6, 0.3], [0.1, 0.0, -0.4]]
VALUE = [[0.5, -0.3, 0.2], [0.4, 0.9, 0.0], [0.0, 0.1, -0.7]]
LAWS = {
    "softmax": {"kind": "softmax", "A": MATRIX, "V": VALUE},
    "unnormalized": {"kind": "unnormalized", "A": MATRIX, "V": VALUE},
    "l2": {"kind": "l2", "Q": MATRIX, "K": VALUE, "V": VALUE},
    "linear": {"kind": "linear", "A": MATRIX, "V": VALUE},
    "relu": {"kind": "relu", "A": MATRIX, "V": VALUE},
    "sigmoid": {"kind": "sigmoid", "A": MATRIX, "V": VALUE},
    "beta": {"kind": "softmax", "beta": 5.0},
    "negative beta": {"kind": "unnormalized", "beta": -2.0},
    "heads": {
        "kind": "multi-head",
        "heads": [
            {"kind": "softmax", "A": MATRIX, "V": VALUE},
            {"kind": "unnormalized", "A": VALUE, "weight": MATRIX},
        ],
    },
    "masked": {
        "kind": "masked",
        "attention": {"kind": "softmax", "A": MATRIX, "V": VALUE},
        "positions": [0.25, 0.5, 0.75, 1],
    },
}
SPACES = {"space": {"kind": "space", "dimension": 3}, "sphere": {"kind": "sphere"}}


def equation(law, space):
    return mfpde.Problem.from_dict({"geometry": SPACES[space], "attention": LAWS[law]}).equation


def tokens(random, count, space):
    points = random.standard_normal((count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True) if space == "sphere" else points


def slopes(states, weights, law, positions=None):
    """Of copies `(copies, d, n)`."""
    count, out = states.shape[2], np.empty(states.shape)
    seen, pairs = np.zeros(count) if positions is None else positions, token_rows.pairs_for(states.shape[1], count)
    token_slope.slopes_of_copies(np.ascontiguousarray(states), weights, seen, law, pairs, out)
    return out


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("law", LAWS)
def test_slopes_are_the_drift_of_the_law(law, space, random):
    count, weights = 9, random.random(9)
    weights /= weights.sum()
    points = tokens(random, count, space)
    positions = random.choice([0.25, 0.5, 0.75, 1.0], count) if law == "masked" else None
    if positions is not None:
        positions[0] = 0.25
    task = equation(law, space)
    measure = mfpde.Particles(points, weights, task.geometry, positions)
    seen = np.zeros(count) if positions is None else positions
    slope = slopes(points.T[None], weights, pairwise_law(task), seen)[0]
    expected = task.attention.drift_by_quadrature(measure, points, positions)
    np.testing.assert_allclose(slope.T, expected, atol=1e-13 * np.abs(expected).max())


def test_the_drift_of_nearly_still_clusters_keeps_its_digits():
    """Two tokens almost opposite to each other, at an angle whose sine is the whole drift, e^-200 small."""
    beta, angle = 100.0, np.pi - 0.5
    task = mfpde.Problem.from_dict({"geometry": {"kind": "circle"}, "attention": {"kind": "softmax", "beta": beta}})
    state = np.array([[1.0, np.cos(angle)], [0.0, np.sin(angle)]])
    slope = slopes(state[None], np.array([0.5, 0.5]), pairwise_law(task.equation))[0]
    expected = np.exp(beta * (np.cos(angle) - 1)) * np.sin(angle) / (1 + np.exp(beta * (np.cos(angle) - 1)))
    assert slope[1, 0] == pytest.approx(expected, rel=1e-13)


def test_gradient_time_has_unit_speed_and_the_direction_of_the_drift(random):
    points = tokens(random, 6, "sphere")
    task = mfpde.Problem.from_dict({"geometry": SPACES["sphere"], "attention": {"kind": "unnormalized", "beta": 3.0}})
    weights = np.full(6, 1 / 6)
    state, slope, pairs = np.empty(24), np.empty(24), token_rows.pairs_for(3, 6)
    law = pairwise_law(task.equation, "gradient")
    token_rows.pack(np.ascontiguousarray(points.T), 6, state)
    logarithm = token_slope.token_slope(state, 0.0, weights, np.zeros(6), 6, law, pairs, slope)
    slope = slope.reshape(3, 8)[:, :6]
    drift = task.attention.drift_by_quadrature(mfpde.Particles(points, weights, task.geometry), points)
    speed = np.sqrt(weights @ np.sum(drift**2, axis=1))
    np.testing.assert_allclose(slope.T, drift / speed, atol=1e-13)
    assert logarithm == pytest.approx(np.log(speed), abs=1e-12)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("law", ["softmax", "l2", "heads", "masked"])
def test_compiled_steps_and_fast_sums_agree(law, space, random, monkeypatch):
    attention = LAWS[law]
    initial = {"kind": "points", "values": tokens(random, 8, space), "weights": [1, 2, 1, 1, 3, 1, 1, 1]}
    if law == "masked":
        initial["positions"] = [0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1, 1]
    task = mfpde.Problem.from_dict(
        {
            "geometry": SPACES[space],
            "attention": attention,
            "initial": initial,
            "solver": {"kind": "particles", "tolerance": 1e-11, "merge": 0},
            "time": {"until": 1.5, "save_every": 0.5},
        }
    )
    compiled = mfpde.solve(task)
    monkeypatch.setattr(beginning, "MOST_TOKENS", 0)
    other = mfpde.solve(task)
    np.testing.assert_allclose(other.positions, compiled.positions, atol=1e-9 * np.abs(compiled.positions).max())


@pytest.mark.parametrize(("wanted", "count", "width"), [(1, 12, 8), (8, 5, 16), (27, 11, 32)])
def test_weighted_sums_of_rows_are_products_of_matrices(wanted, count, width, random):
    weights, rows = random.standard_normal((wanted, count + 3)), random.standard_normal((count, width))
    onto = random.standard_normal((wanted, width))
    out = onto.ravel().copy()
    token_rows.add_rows(weights.ravel(), count + 3, rows.ravel(), count, width, out)
    np.testing.assert_allclose(out.reshape(wanted, width), onto + weights[:, :count] @ rows, atol=1e-13)


def test_copies_in_one_call_are_each_alone(random):
    task = equation("softmax", "sphere")
    law, weights = pairwise_law(task), np.full(5, 0.2)
    states = np.stack([tokens(random, 5, "sphere").T for _ in range(7)])
    together = slopes(states, weights, law)
    for state, slope in zip(states, together, strict=True):
        assert np.array_equal(slope, slopes(state[None], weights, law)[0])
