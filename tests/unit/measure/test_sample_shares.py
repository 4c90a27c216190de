"""Draws by their numbers: a share of them is that part of all."""

import numpy as np
import pytest

import mfpde
from mfpde.geometry import Circle, Line, Plane, Sphere

MEASURES = {
    "circle": mfpde.Density(expression="1 + 0.5*cos(theta)").on(Circle()),
    "sphere": mfpde.Density(expression="1 + 0.5*z").on(Sphere()),
    "von-mises": mfpde.VonMises(direction=[0, 0, 1], concentration=2).on(Sphere()),
    "normal": mfpde.Gaussian(mean=[0, 1], covariance=[[1, 0.2], [0.2, 1]]).on(Plane()),
    "box": mfpde.Uniform(box=[[-1, 1], [0, 2]]).on(Plane()),
    "density": mfpde.Density(expression="exp(-x**2)").on(Line()),
}


@pytest.mark.parametrize("name", MEASURES)
def test_a_share_of_the_draws_is_a_part_of_them(name):
    measure = MEASURES[name]
    whole = measure.sample(50_003, seed=5)
    for first, count in ((0, 7), (1, 6), (40_001, 10_002)):
        assert np.array_equal(measure.sample_share(first, count, seed=5), whole[first : first + count])
