"""Observables of laws on spheres against closed forms."""

import numpy as np
import pytest

import mfpde
from mfpde.observe import Instant
from mfpde.observe.degrees import Degrees
from mfpde.observe.mean_direction import MeanDirection
from mfpde.observe.nematic_order import NematicOrder


def seen(observable, measure):
    dimension = measure.ambient_dimension
    equation = mfpde.Equation(geometry=mfpde.Sphere(dimension=dimension))
    return observable.evaluate(Instant(0.0, measure, equation, lambda: 0.0))


@pytest.mark.parametrize("dimension", [3, 5])
def test_the_direction_of_the_mean(dimension):
    direction = np.arange(1.0, dimension + 1) / np.linalg.norm(np.arange(1.0, dimension + 1))
    tilted = mfpde.VonMises(direction=direction.tolist(), concentration=3).on(mfpde.Sphere(dimension=dimension))
    assert seen(MeanDirection(), tilted)["mean-direction"] == pytest.approx(direction, abs=1e-12)
    opposite = mfpde.Particles([direction, -direction], geometry=mfpde.Sphere(dimension=dimension))
    assert np.isnan(seen(MeanDirection(), opposite)["mean-direction"]).all()


def test_second_moments_of_a_quadratic_density():
    """`1 + a x^2 + b y^2`, by `int x^4 = 1/5` and `int x^2 y^2 = 1/15`."""
    a, b = 0.6, 0.2
    measure = mfpde.Density(expression=f"1 + {a}*x**2 + {b}*y**2 + 0*z").on(mfpde.Sphere())
    norm = 1 + (a + b) / 3
    moments = np.sort([(1 / 3 + a / 5 + b / 15) / norm, (1 / 3 + b / 5 + a / 15) / norm, (1 / 3 + (a + b) / 15) / norm])
    values = seen(NematicOrder(), measure)
    assert values["nematic-order"] == pytest.approx(0.5 * (3 * moments[2] - 1), abs=1e-12)
    assert values["nematic-order-biaxiality"] == pytest.approx(1.5 * (moments[1] - moments[0]), abs=1e-12)


@pytest.mark.parametrize("dimension", [3, 8])
def test_degrees_of_a_point_and_of_a_law_about_an_axis(dimension):
    sphere, axis = mfpde.Sphere(dimension=dimension), np.eye(dimension)[1]
    assert seen(Degrees(count=5), mfpde.Particles([axis], geometry=sphere))["degrees"] == pytest.approx(np.ones(5))
    tilted = mfpde.VonMises(direction=axis.tolist(), concentration=3).on(sphere)
    assert seen(Degrees(count=1), tilted)["degrees"][0] == pytest.approx(np.linalg.norm(tilted.mean), abs=1e-12)
