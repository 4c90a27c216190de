"""The residual of a Gaussian against how fast its density moves, where nothing moves it but noise."""

import numpy as np
import pytest

import mfpde


@pytest.mark.parametrize(("dimension", "kappa"), [(1, 0.8), (2, 5.0)])
def test_noise_alone(dimension, kappa):
    """`int |Lap rho| / kappa`, for N(0, s I): in one dimension `4 phi(1) / s`."""
    variance = 0.7
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": {1: "line", 2: "plane"}[dimension]},
            "attention": {"kind": "softmax", "A": 1, "V": 0},
            "noise": {"kappa": kappa},
            "initial": {"kind": "gaussian", "mean": [0.3] * dimension, "covariance": variance},
            "solver": {"kind": "gaussian"},
            "time": {"until": 1},
        }
    )
    x = np.linspace(-7, 7, 281)
    grid = np.stack(np.meshgrid(*[x] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    square = np.sum(grid**2, axis=1) / variance
    density = np.exp(-0.5 * square) / (2 * np.pi * variance) ** (dimension / 2)
    moved = np.abs(density * (square - dimension)).sum() * (x[1] - x[0]) ** dimension / variance / kappa
    if dimension == 1:
        assert moved == pytest.approx(4 * np.exp(-0.5) / np.sqrt(2 * np.pi) / variance / kappa, rel=1e-3)
    assert moved * (1 - 1e-3) <= problem.solver.start(problem.posed()).residual() < 1.6 * moved
