"""Which initial measures finite volumes say they cannot take."""

import pytest

import mfpde


@pytest.mark.parametrize(
    ("covariance", "fits"),
    [([[1.0, 2.0], [2.0, 4.0]], False), (0.0, False), ([[1.0, 0.5], [0.5, 1.0]], True), (1e-8, True)],
    ids=["on a line", "on a point", "oblique", "narrow"],
)
def test_gaussians_need_a_density(covariance, fits):
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "plane"},
            "attention": {"kind": "softmax", "A": 1, "V": -1},
            "initial": {"kind": "gaussian", "mean": [0, 0], "covariance": covariance},
            "solver": {"kind": "finite-volume"},
            "time": {"until": 1},
        }
    )
    why = problem.solver.unfit(problem.equation)
    assert why is None if fits else "has no density" in str(why)
