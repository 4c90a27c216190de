"""Expressions: arithmetic and nothing else; limits on size; nothing is executed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfpde.errors import ProblemError
from mfpde.measure.expression import COORDINATES, FUNCTIONS, Expression

THETA = {"theta": np.array([0.0, 1.0, 2.5]), "x": np.array([1.0, 2.0, 3.0])}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 0.1*cos(theta)", 1 + 0.1 * np.cos(THETA["theta"])),
        ("2", np.full(3, 2.0)),
        ("-x**2 + +3", -(THETA["x"] ** 2) + 3),
        ("2**-x", 2.0 ** -THETA["x"]),
        ("maximum(x, 2) - minimum(x, 2)", np.abs(THETA["x"] - 2)),
        ("pi * tanh(sinh(cosh(tan(abs(sqrt(log(exp(x)))))))) / pi", None),
        (" 1 +\n x ", None),
        ("1/3", np.full(3, 1 / 3)),
        ("2**0.5", np.full(3, math.sqrt(2))),
        ("x**(1 + 1)", THETA["x"] ** 2),
        ("(x + 1)**(2*x - 3)", (THETA["x"] + 1) ** (2 * THETA["x"] - 3)),
        ("x**-(1 - 3)/2**(x/x)", THETA["x"] ** 2 / 2),
        ("2**x**(4 - 2)", 2.0 ** (THETA["x"] ** 2)),
    ],
)
def test_arithmetic(text, expected):
    value = Expression(text)(THETA)
    assert value.shape == (3,)
    if expected is not None:
        np.testing.assert_allclose(value, expected, rtol=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "theta.real",
        "x[0]",
        "(lambda: 1)()",
        "[x for x in (1,)]",
        "{1: 2}",
        "x if x else 1",
        "x and 1",
        "not x",
        "x < 1",
        "x := 1",
        "f'{x}'",
        "'a'",
        "b'a'",
        "1j",
        "True",
        "None",
        "...",
        "x @ x",
        "x // 2",
        "x % 2",
        "x << 2",
        "~x",
        "cos(theta, out=x)",
        "cos(*x)",
        "cos",
        "cos()",
        "cos(1, 2)",
        "minimum(1)",
        "eval('1')",
        "open('f')",
        "thta",
        "print(1)",
        "x; x",
        "x = 1",
        "import os",
        "",
        " ",
        "1 +",
        "(",
        "1or 2",
        "0x",
        "1_",
        "y\0",
        "await x",
        "yield",
        "1e999",
        "x.__class__",
        "cos(theta).real",
        "globals()",
        "10**400 + 1e400",
    ],
)
def test_everything_else_is_refused_with_a_sentence(text):
    with pytest.raises(ProblemError) as caught:
        Expression(text)
    assert len(str(caught.value)) > 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 + cos(thta)", "does not know 'thta' (did you mean 'theta'?)"),
        ("kos(theta)", "does not know the function 'kos' (did you mean 'cos'?)"),
        ("cos + 1", "cos is a function: write cos(...)"),
        ("cos(1, 2)", "cos takes 1 argument, not 2"),
        ("minimum(1)", "minimum takes 2 arguments, not 1"),
        ("theta.real", "'theta.real' is not arithmetic"),
        ("(1", "'(1' cannot be read as arithmetic"),
        ("1" * 2001, "has 2001 characters; at most 2000 are allowed"),
        ("+".join(["x"] * 300), "parts; at most 400 are allowed"),
        ("-" * 100 + "1", "is nested more than 60 deep"),
    ],
)
def test_messages(text, message):
    with pytest.raises(ProblemError) as caught:
        Expression(text)
    assert message in str(caught.value)


def test_exponents_may_depend_on_the_position():
    np.testing.assert_allclose(Expression("x**(1 + s)").at(s=2)(THETA), THETA["x"] ** 3, rtol=1e-15)
    np.testing.assert_allclose(Expression("(x - s)**s").at(s=3)(THETA), (THETA["x"] - 3) ** 3, rtol=1e-15)


def test_powers_that_may_break_are_looked_at_where_their_base_vanishes():
    kinks = Expression("x**2 + y**0.5 + (z - 1)**(1/3) + 2**theta").kinks
    assert {kink.text for kink in kinks} == {"y", "z - 1"}


def test_a_coordinate_that_the_space_does_not_have():
    with pytest.raises(ProblemError, match="uses s, z, but this space has the coordinates theta, x"):
        Expression("z + s + x")(THETA)


def test_division_by_zero_is_left_to_the_caller():
    assert np.isinf(Expression("1/theta")(THETA)[0])
    assert np.isnan(Expression("log(-x)")(THETA)).all()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9**9**9**9", np.inf),
        ("2**2**2**2**2**2**2", np.inf),
        ("10**10**10", np.inf),
        ("(" * 50 + "1" + ")" * 50, 1.0),
        ("9" * 1900, None),
    ],
)
def test_numbers_do_not_grow_without_bound(text, value):
    """Whole numbers would, and never come to an end."""
    if value is None:
        with pytest.raises(ProblemError, match="beyond 1e300"):
            Expression(text)
    else:
        assert (Expression(text)(THETA) == value).all()


WORDS = [
    *COORDINATES,
    *FUNCTIONS,
    "pi",
    "+",
    "-",
    "*",
    "**",
    "/",
    "(",
    ")",
    ",",
    ".",
    "1",
    "0.5",
    "1e3",
    " ",
    "_",
    "[",
    "]",
    "lambda",
    ":",
    "if",
    "else",
    "=",
    "'",
    "@",
    "%",
    "~",
    "and",
    "\n",
    "#",
]


@given(st.lists(st.sampled_from(WORDS), max_size=25).map("".join) | st.text(max_size=40))
def test_any_text_is_a_value_or_a_problem_error(text):
    try:
        expression = Expression(text)
    except ProblemError:
        return
    points = {name: np.array([0.5, 1.5]) for name in COORDINATES}
    assert expression(points).shape == (2,)
