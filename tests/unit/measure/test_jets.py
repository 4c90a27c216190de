"""Derivatives of expressions, and numbers with twice the digits."""

from fractions import Fraction

import numpy as np
import pytest

from mfpde.measure.expression import Expression
from mfpde.measure.jet import JET_FUNCTIONS, Jet
from mfpde.measure.wide import WIDE_FUNCTIONS, Wide, rounded

ANALYTIC = (
    "sin(theta)*cos(2*theta) - tan(theta/3)",
    "exp(-theta**2)/(2 + theta) + theta**0.5",
    "log(1 + theta)*sqrt(2 + theta) - 3/theta",
    "tanh(theta) + cosh(theta)/sinh(theta)",
    "2**theta + theta**theta - (-theta)**3 + pi",
    "abs(theta + 1)*minimum(theta, 5) + maximum(theta**2, -1)",
)


def derivatives(text, point, count=64, radius=0.2):
    """Cauchy's formula on a circle about the point: no rules of calculus."""
    circle = np.exp(2j * np.pi * np.arange(count) / count)
    names = {name: getattr(np, name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "cosh", "sinh")}
    branches = {"abs": lambda z: z, "minimum": lambda *pair: pair[0], "maximum": lambda *pair: pair[0], "pi": np.pi}
    values = eval(text, {**names, **branches, "theta": point + radius * circle})  # noqa: S307 - text of this file
    modes = np.fft.fft(values) / count
    return modes[0].real, modes[1].real / radius, 2 * modes[2].real / radius**2


@pytest.mark.parametrize("text", ANALYTIC)
@pytest.mark.parametrize("point", [0.7, 1.3])
def test_derivatives_are_those_of_cauchys_formula(text, point):
    walked = Expression(text).walked({"theta": Jet(np.array([point]), 1.0, 0.0)}, JET_FUNCTIONS)
    for got, expected in zip(walked.spread((1,)), derivatives(text, point), strict=True):
        assert got[0] == pytest.approx(expected, rel=2e-12)


def test_kinks_have_the_mean_of_both_slopes():
    for text, slope in (("abs(theta)", 0), ("maximum(0, theta)", 0.5), ("minimum(3*theta, theta)", 2)):
        assert Expression(text).walked({"theta": Jet(np.zeros(1), 1.0, 0.0)}, JET_FUNCTIONS).slope == slope


@pytest.mark.parametrize("text", ["1 - theta", "2 - 2*theta", "1 - theta**2", "(1 - theta)/(3 + theta)", "1 - 1/theta"])
def test_differences_keep_their_digits(text):
    """Against rational numbers."""
    high, low = 1.0, -3.7e-25
    exact = eval(text, {"theta": Fraction(high) + Fraction(low)})  # noqa: S307 - text of this file
    found = rounded(Expression(text).walked({"theta": Wide(np.array([high]), np.array([low]))}, WIDE_FUNCTIONS))
    assert found[0] == pytest.approx(float(exact), rel=1e-6)
