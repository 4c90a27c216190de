"""What does not fit is told in one sentence, before anything is computed."""

import numpy as np
import pytest

import mfpde
from mfpde.attention import Velocity

PLANE = mfpde.Particles([[0.0, 1.0], [2.0, 3.0]])
SQUARE = [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (mfpde.Softmax(A=np.eye(3)), r"attention\.A: has shape \(3, 3\); tokens in R\^2 need \(2, 2\)"),
        (mfpde.Relu(A=1, V=[[1, 2]]), r"attention\.V: has shape \(1, 2\); tokens in R\^2 need \(2, 2\)"),
        (mfpde.L2(Q=[[1, 2, 3]], K=1), r"attention\.Q: has shape \(1, 3\); tokens in R\^2 need \(any, 2\)"),
        (mfpde.L2(Q=[[1, 2]], K=SQUARE), r"attention\.K: has shape \(2, 2\) and Q \(1, 2\): .* same number of rows"),
        (mfpde.Sigmoid(Q=SQUARE, K=[[1, 2]]), r"attention\.K: has shape \(1, 2\) and Q \(2, 2\)"),
        (
            mfpde.MultiHead(heads=[mfpde.Softmax(A=1), mfpde.Linear(A=[[1.0]])]),
            r"attention\.heads\.1\.A: has shape \(1, 1\)",
        ),
        (mfpde.Masked(attention=mfpde.L2(Q=[[1.0]], K=1)), r"attention\.attention\.Q: has shape \(1, 1\)"),
        (mfpde.Softmax(A=1, weight=[[1.0]]), r"attention\.weight: has shape \(1, 1\)"),
    ],
    ids=str,
)
def test_shapes(law, message):
    with pytest.raises(mfpde.ProblemError, match=message):
        law.drift(PLANE, [[0.0, 0.0]])
    with pytest.raises(mfpde.ProblemError, match=message):
        law.check(mfpde.Plane())


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((2, 3)), r"points: in R\^2 have shape \(m, 2\), not \(2, 3\)"),
        (np.zeros(4), r"points: in R\^2 have shape \(m, 2\), not \(4,\)"),
        ([[0.0, np.nan]], "points: must be finite"),
    ],
)
def test_points(points, message):
    with pytest.raises(mfpde.ProblemError, match=message):
        mfpde.Softmax(A=1).drift(PLANE, points)
    with pytest.raises(mfpde.ProblemError, match=message):
        mfpde.Linear(A=1).drift_by_quadrature(PLANE, points)


def test_points_off_the_sphere_and_lattices_on_it():
    sphere = mfpde.Particles([[0.0, 0.0, 1.0]], geometry=mfpde.Sphere())
    with pytest.raises(mfpde.ProblemError, match=r"point 1 has length 1\.1"):
        mfpde.Softmax(beta=1).drift(sphere, [[0.0, 0.0, 1.0], [0.0, 1.1, 0.0]])
    with pytest.raises(mfpde.ProblemError, match="a lattice lies in"):
        mfpde.Softmax(beta=1).drift(sphere, mfpde.Lattice.of([[0.0, 1.0]] * 3))


def test_scores_beyond_their_rounding():
    for measure, points in (
        (mfpde.Particles([[1e3, 0.0], [0.0, 1.0]]), [[1e4, 0.0]]),
        (mfpde.GridDensity.of([np.linspace(0, 1e3, 5)] * 2, np.ones((5, 5))), np.full((1, 2), 1e4)),
    ):
        assert np.isfinite(mfpde.Softmax(A=0.04).drift(measure, points)).all()
        with pytest.raises(mfpde.ProblemError, match=r"A is too large for these tokens: scores <Ax, y> reach .e\+0"):
            mfpde.Softmax(A=1).drift(measure, points)
        # a solution that grows goes on, with fewer digits
        assert np.isfinite(Velocity(mfpde.Softmax(A=1)).drift(measure, points)).all()
    skew = [[0.0, 0.0], [1.0, 0.0]]  # <Ax, y> = x_1 y_2
    mfpde.Softmax(A=skew).drift(mfpde.Particles([[1e4, 1.0]]), [[1e4, 1.0]])
    with pytest.raises(mfpde.ProblemError, match="too large"):
        mfpde.Softmax(A=skew).drift(mfpde.Particles([[1.0, 1e4]]), [[1e4, 1.0]])
    sphere = mfpde.Particles([[0.0, 0.0, 1.0]], geometry=mfpde.Sphere())
    assert mfpde.Softmax(A=1e6).drift(sphere, [[0.0, 1.0, 0.0]]).shape == (1, 3)
    with pytest.raises(mfpde.ProblemError, match=r"reach 2e\+06"):
        mfpde.Softmax(A=2e6).drift(sphere, [[0.0, 1.0, 0.0]])
    many = mfpde.Particles(np.eye(3, 200) * 1e3)  # |A| |x| |y| is 9e5, the largest |x_i| |A_ij| |y_j| sum up to 3e6
    assert np.isfinite(mfpde.Softmax(A=0.9).drift(many, np.eye(3, 200) * 1e3)).all()


@pytest.mark.parametrize("count", [2, 3000])
def test_unnormalized_overflow(count):
    measure = mfpde.Particles(np.linspace(1, 30, count))
    points = np.linspace(1, 30, 20)
    with pytest.raises(mfpde.ProblemError, match=r"overflows: unnormalized attention reaches e\^(89|900)"):
        mfpde.Unnormalized(A=1).drift(measure, points)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ({"kind": "l2", "K": 1}, "attention.Q: is missing"),
        ({"kind": "sinkhorn", "A": 1, "tolerance": 1}, "attention.tolerance: must be at most 0.01, not 1"),
        ({"kind": "relu", "A": 1, "K": 1}, "needs exactly one of beta, A, or Q and K; given: A, Q and K"),
        ({"kind": "linear", "Q": 1}, "attention: needs Q and K together"),
        ({"kind": "sigmoid", "A": float("inf")}, "attention: A must be finite"),
        ({"kind": "softmax", "A": 1, "weight": float("-inf")}, "attention: weight must be finite"),
        ({"kind": "softmax", "beta": 1, "V": 2}, "beta stands for A = beta I, V = I; write A and V"),
        ({"kind": "multi-head", "heads": []}, "attention.heads: must have at least 1 entry, not 0"),
        (
            {"kind": "multi-head", "heads": [{"kind": "sofmax"}]},
            "attention.heads.0.kind: no attention is called 'sofmax'",
        ),
        ({"kind": "masked"}, "attention.attention: is missing"),
    ],
)
def test_blocks_of_a_file(law, message):
    with pytest.raises(mfpde.ProblemError) as caught:
        mfpde.Problem.from_dict({"geometry": {"kind": "plane"}, "attention": law})
    assert message in str(caught.value)


@pytest.mark.parametrize("covariance", [[[1, 0.3], [0.3, 0.5]], [[1, 0], [0, 1e4]]])
def test_coefficients_near_the_largest_double_are_bad_input_of_a_run(covariance):
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "plane"},
            "attention": {"kind": "softmax", "A": [[1e308, 0], [0, 1e308]], "V": -1},
            "initial": {"kind": "gaussian", "mean": [0.5, 0], "covariance": covariance},
            "solver": {"kind": "finite-volume", "cells": 24},
            "time": {"until": 0.02, "save": False},
        }
    )
    with (
        np.errstate(all="ignore"),
        pytest.raises(mfpde.ProblemError, match=r"^attention: moves the initial data faster than at a rate of 1e100"),
    ):
        mfpde.solve(problem)
