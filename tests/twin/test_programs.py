"""Gradients of expressions in compiled code against those by jets, and sums on the line against NumPy's."""

import numpy as np
import pytest

from mfpde.measure.expression import Expression
from mfpde.measure.expression_program import program_of
from mfpde.measure.jet import JET_FUNCTIONS, Jet
from mfpde.transform.lattice_kernels import slide
from mfpde.transform.programs import program_room, program_slopes

COUNT = 23
TEXTS = [
    "x",
    "-x**4/4 + x*y/2 - 1",
    "2 - y/(1 + x**2) - (3 - x)",
    "sin(x)*cos(2*y) + tan(x/4)",
    "exp(-x**2)*log(2 + y**2)/sqrt(x**2 + 0.1)",
    "abs(x)**1.5*tanh(y) + cosh(x)*sinh(y)",
    "minimum(x, y)**3 + maximum(x, 0.5)*2**x + (x**2 + 1)**y",
    "1/(2 + y) + x**-2 + +y + x**0 + abs(y)**7 + abs(y)**8",
]


@pytest.mark.parametrize("text", TEXTS)
def test_gradients(text):
    points = np.random.default_rng(3).normal(size=(2, COUNT))
    expression, found = Expression(text), np.full((2, COUNT), 5.0)
    program = program_of(expression, "xy")
    program_slopes(program, points, COUNT, program_room(program, 2), found)
    for axis in range(2):
        variables = {name: Jet(points[k], float(k == axis), 0.0) for k, name in enumerate("xy")}
        wanted = Jet.of(expression.walked(variables, JET_FUNCTIONS)).spread((COUNT,))[1]
        np.testing.assert_allclose(found[axis] - 5.0, wanted, rtol=1e-13, atol=1e-14 * (5.0 + np.abs(wanted).max()))


def test_gradients_at_kinks():
    """Half of each side where both are equal; nothing of what does not move, however steep, nor of no power."""
    found, points = np.zeros((1, 3)), np.array([[0.0, 1.0, -1.0]])
    program = program_of(Expression("abs(x) + maximum(x, 1) + sqrt(x*0) + 0*sqrt(x + 1) + x**0"), "x")
    program_slopes(program, points, 3, program_room(program, 1), found)
    assert found.tolist() == [[0.0, 1.5, -1.0]]


def test_nothing_moves_nothing():
    found = np.ones((1, 3))
    program = program_of(None, "x")
    program_slopes(program, np.zeros((1, 3)), 3, program_room(program, 1), found)
    assert found.tolist() == [[1.0, 1.0, 1.0]]


@pytest.mark.parametrize(("masses", "window"), [(16, 16), (13, 40), (3, 1), (18, 5)])
def test_convolution(masses, window):
    rng = np.random.default_rng(masses)
    weights, acting, found = rng.normal(size=masses), rng.normal(size=masses + window - 1), np.ones(window)
    slide(weights, acting, found)
    np.testing.assert_allclose(found, 1.0 + np.convolve(weights, acting, "valid")[:window], rtol=1e-12, atol=1e-13)
