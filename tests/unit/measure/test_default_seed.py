"""Without a seed every measure draws what it draws with seed 0."""

import numpy as np
import pytest

import mfpde

BALL = {"center": [0.0, 0.0, 1.0], "radius": 0.5}
MEASURES = {
    "gaussian": (mfpde.Gaussian(mean=[0, 1], covariance=2), mfpde.Plane()),
    "box": (mfpde.Uniform(box=[[0, 1]]), mfpde.Line()),
    "ball": (mfpde.Uniform(ball=BALL), mfpde.Space(dimension=3)),
    "cap": (mfpde.Uniform(ball=BALL), mfpde.Sphere()),
    "arc": (mfpde.Uniform(box=[[0, 1]]), mfpde.Circle()),
    "von-mises": (mfpde.VonMises(direction=[0, 0, 1], concentration=2), mfpde.Sphere()),
    "density on the line": (mfpde.Density(expression="exp(-x**2)"), mfpde.Line()),
    "density on the sphere": (mfpde.Density(expression="2 + z"), mfpde.Sphere()),
    "mixture": (
        mfpde.Mixture(components=[mfpde.Gaussian(mean=[0], covariance=1), mfpde.Uniform(box=[[0, 1]])]),
        mfpde.Line(),
    ),
}


@pytest.mark.parametrize("name", MEASURES)
def test_the_seed_is_0_unless_given(name):
    initial, geometry = MEASURES[name]
    measure = initial.on(geometry)
    np.testing.assert_array_equal(measure.sample(7), measure.sample(7, seed=0))
    assert not np.array_equal(measure.sample(7), measure.sample(7, seed=1))
