"""Densities about an axis in many dimensions, at the poles and where the mass is."""

import numpy as np
import pytest
from reference.sphere_profile import carried_profile

import mfpde

ANGLES = np.array([0.0, 0.05, 0.2, 0.5, 1.0, 1.3, 1.5, 2.0, 2.8, np.pi])


HEADS = {"kind": "multi-head", "heads": [{"kind": "softmax", "beta": 2.0}]}  # by tables, as any law


@pytest.mark.parametrize(
    "law", [{"kind": "unnormalized", "beta": 2.0}, {"kind": "softmax", "beta": 2.0}, HEADS], ids=lambda law: law["kind"]
)
@pytest.mark.parametrize(("dimension", "concentration"), [(8, 4.0), (16, 4.0), (64, 10.0)])
def test_densities_at_the_poles(dimension, concentration, law):
    """In R^64 the poles are beyond the rounding of a snapshot: that is said, and the bulk is as promised."""
    beta, until, tolerance, axis = 2.0, 0.2, 1e-8, np.eye(dimension)[0]
    angles, expected = carried_profile(concentration, ANGLES, until, beta, dimension, law["kind"] != "unnormalized")
    run = mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "sphere", "dimension": dimension},
                "attention": law,
                "initial": {"kind": "von-mises", "direction": axis.tolist(), "concentration": concentration},
                "solver": {"kind": "spectral", "tolerance": tolerance},
                "time": {"until": until, "save": False},
            }
        )
    )
    points = np.outer(np.cos(angles), axis) + np.outer(np.sin(angles), np.eye(dimension)[1])
    area = np.exp(mfpde.Sphere(dimension=dimension).harmonics.log_area)
    error = np.abs(area * run.measure(-1).evaluate(points) - expected)
    bulk = np.sin(angles) ** (dimension - 2) * expected
    assert (bulk * error / expected).max() < 10 * tolerance * bulk.max()
    accuracy = run.outcome.accuracy
    if dimension < 64:
        assert accuracy.kept
        assert error.max() / expected.max() < 10 * tolerance
    else:
        assert (accuracy.kept, accuracy.cause) == (None, "poles")
        assert error.max() / expected.max() < accuracy.estimate
        assert "densities at the poles" in str(accuracy)
