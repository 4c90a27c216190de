"""What is no measure on a space is refused in one sentence that names what is wanted."""

import numpy as np
import pytest

from mfpde import (
    Circle,
    Gaussian,
    Lattice,
    Line,
    Mixture,
    Normal,
    Particles,
    Plane,
    Points,
    ProblemError,
    Space,
    Sphere,
    Uniform,
    VonMises,
)
from mfpde.measure import Superposition

R3 = Space(dimension=3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Normal([0, 1], [[1, 2], [2, 1]]), "covariance: must be positive semi-definite.*eigenvalue -1"),
        (lambda: Normal([0, 1], [[1, 2], [0, 1]]), r"must be symmetric, but entry \(0, 1\) is 2 and \(1, 0\) 0"),
        (lambda: Normal([0, 1], -1.0), "positive semi-definite.*eigenvalue -1"),
        (lambda: Normal([0, 1], [[0, 1], [1, 1]]), "positive semi-definite.*eigenvalue -0.618034"),
        (lambda: Normal([0, np.nan], 1.0), "mean: must be finite"),
        (lambda: Normal([0, 1], [[1, 0], [0, np.inf]]), "covariance: must be finite"),
        (lambda: Normal([0, 1, 2], np.eye(2)), r"covariance: has shape \(2, 2\); tokens in R\^3 need \(3, 3\)"),
        (lambda: Gaussian(mean=[0, 1], covariance=1).on(Line()), r"initial.mean: has shape \(2,\).*R\^1 need \(1,\)"),
        (lambda: Gaussian(mean=0, covariance=1).on(Plane()), r"initial.mean: has shape \(1,\).*R\^2 need \(2,\)"),
        (lambda: Gaussian(mean=0, covariance=1).on(Circle()), "gaussian is not a measure on circle; use von-mises"),
        (
            lambda: VonMises(direction=1, concentration=1).on(Plane()),
            "von-mises is not a measure on plane; use gaussian",
        ),
        (lambda: VonMises(direction=[0, 0, 2], concentration=1).on(Sphere()), "initial.direction.*length 2"),
        (lambda: VonMises(direction=1, concentration=1).on(Sphere()), r"initial.direction.*\(m, 3\), not \(1, 1\)"),
        (lambda: Uniform().on(Line()), "uniform needs a box or a ball on a space without bounds"),
        (lambda: Uniform(box=[[0, 1]]).on(Plane()), r"initial.box: has shape \(1, 2\).*need \(2, 2\)"),
        (lambda: Uniform(ball={"center": 0, "radius": 1}).on(R3), r"ball.center: has shape \(1,\).*need \(3,\)"),
        (lambda: Uniform(box=[[0, 1], [0, 1]]).on(Circle()), r"one arc \[\[from, to\]\]"),
        (lambda: Uniform(box=[[0, 7]]).on(Circle()), r"at most 2 pi, not \[0, 7\]"),
        (lambda: Uniform(box=[[0, 1]]).on(Sphere()), "use ball: {center, radius}, a cap"),
        (lambda: Uniform(ball={"center": [0, 0, 2], "radius": 1}).on(Sphere()), "unit vector .* length 2 and 1"),
        (lambda: Uniform(ball={"center": [0, 0, 1], "radius": 4}).on(Sphere()), "angle up to pi"),
        (lambda: Uniform(box=[[1, 0]]), r"from < to, not \[1.0, 0.0\]"),
        (lambda: Uniform(box=[[1, 1 + 1e-15]]), "is narrower than doubles tell its points apart"),
        (lambda: Uniform(box=[[-1e308, 1e308]]), "box: is wider than doubles go"),
        (lambda: Uniform(box=[[0, 1]], ball={"center": 0, "radius": 1}), "box and ball cannot both be given"),
        (lambda: Uniform(box=[]), "not none"),
        (lambda: Points(values=[[0, 0, 2]]).on(Sphere()), "initial.values: .*point 0 has length 2"),
        (lambda: Points(values=[[0, 1], [1, 1]]).on(Circle()), "initial.values: .*one has length 1.41421"),
        (lambda: Points(values=[[0, 1], [1, 1]]).on(Line()), r"initial.values: .*\(m,\) or \(m, 1\), not \(2, 2\)"),
        (lambda: Points(values=[0, 1], weights=[1]).on(Line()), r"initial.weights: must have shape \(2,\)"),
        (lambda: Points(values=[0, 1], weights=[0, 0]).on(Line()), "not all zero"),
        (lambda: Particles(np.zeros((2, 2, 2))), r"have shape \(n, d\) with n and d at least 1, not \(2, 2, 2\)"),
        (lambda: Particles([1.0, np.nan]), "must be finite"),
        (
            lambda: Mixture(components=[Gaussian(mean=0, covariance=1), Uniform()]).on(Line()),
            "initial.components.1: uniform needs a box",
        ),
        (
            lambda: Mixture(components=[Gaussian(mean=[0, 1], covariance=1)]).on(Line()),
            r"initial.components.0.mean: has shape \(2,\)",
        ),
        (lambda: Superposition([0.5, 0.5], [Normal(0.0, 1.0)] * 2).log_laplace([[1.0, 2.0]]), r"shape \(m, 1\)"),
        (lambda: Gaussian(mean=0, covariance=1).log_laplace([[np.inf]]), "w: must be finite"),
        (lambda: Particles([0.0, 1.0]).cell_averages(Lattice.of([[0.0, 1.0]])), "point masses have no density"),
    ],
)
def test_a_sentence(make, message):
    with pytest.raises(ValueError, match=message) as error:
        make()
    assert "\n" not in str(error.value) or not isinstance(error.value, ProblemError)
