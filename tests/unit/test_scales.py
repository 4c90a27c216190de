"""Numbers that overflow before the first step are told before it."""

import pytest

import mfpde
from mfpde.prepare import prepare
from mfpde.solvers.scales import RATE_MAX

NORMAL = {"kind": "gaussian", "mean": 0, "covariance": 1}
UNIFORM = {"kind": "uniform", "box": [-1, 1]}


def softmax(**changes):
    return {"attention": {"kind": "softmax", "A": 1, "V": -1, **changes}}


def prepared(blocks, initial=NORMAL, solver=None):
    data = {"geometry": {"kind": "line"}, "initial": initial, "time": {"until": 1}, **blocks}
    return prepare(mfpde.Problem.from_dict(data if solver is None else {**data, "solver": {"kind": solver}}))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("solver", ["finite-volume", "characteristics"])
@pytest.mark.parametrize(
    ("blocks", "initial", "message"),
    [
        (softmax(A=1e200), NORMAL, "attention: moves .* faster than at a rate of 1e100"),
        (softmax(V=1e300), UNIFORM, "attention: moves .* faster than at a rate of 1e100"),
        ({"attention": {"kind": "relu", "A": 1e200, "V": 1}}, UNIFORM, "attention: moves"),
        ({"attention": {"kind": "masked", "positions": 2, **softmax(V=1e200)}}, NORMAL, "attention: moves"),
        ({"interaction": {"expression": "-1e300*r**2"}}, NORMAL, "interaction: moves"),
        ({"interaction": {"expression": "-1e200*sqrt(r**2 + 1)"}}, NORMAL, "interaction: moves"),
        ({"drift": {"kind": "mlp", "W": 1e150, "U": 1e150, "activation": "relu"}}, UNIFORM, "drift: moves"),
        (softmax(), {"kind": "uniform", "box": [-1e150, 1e150]}, "initial: is wider than 1e60"),
        (softmax(), {"kind": "gaussian", "mean": 1e200, "covariance": 1}, "initial: has a mean beyond 1e100"),
        (softmax(), {"kind": "gaussian", "mean": 0, "covariance": 1e300}, "initial: is wider than 1e60"),
    ],
    ids=["A", "V", "relu", "masked", "springs", "kernel", "mlp", "box", "mean", "covariance"],
)
def test_what_overflows_is_refused(blocks, initial, message, solver):
    with pytest.raises(mfpde.ProblemError, match=message):
        prepared(blocks, initial, solver)


@pytest.mark.filterwarnings("error")
def test_noise_that_overflows_is_refused():
    with pytest.raises(mfpde.ProblemError, match=r"noise: widens .* faster than at a rate of 1e100"):
        prepared({**softmax(), "noise": {"kappa": 1e-300}}, NORMAL, "finite-volume")


@pytest.mark.parametrize(
    ("blocks", "initial"),
    [
        (softmax(A=1e10), NORMAL),
        (softmax(V=0.5 * RATE_MAX), NORMAL),
        ({"attention": {"kind": "masked", "positions": 2, **softmax()}}, NORMAL),
        ({"attention": {"kind": "relu", "A": 1, "V": 1}}, {**NORMAL, "mean": 3}),
        (softmax(), {**NORMAL, "covariance": 1e-200}),
        ({"interaction": {"expression": "-r**2"}}, {"kind": "points", "values": [[2.0], [2.0]]}),
        ({"drift": {"kind": "constant", "value": 1}}, NORMAL),
        ({**softmax(), "noise": {"kappa": 1e-10}}, NORMAL),
    ],
    ids=["A", "V", "masked", "relu", "narrow", "a point", "drift alone", "noise"],
)
def test_what_can_be_followed_is_not(blocks, initial):
    assert prepared(blocks, initial).solver.kind in ("finite-volume", "characteristics", "gaussian")


def test_a_box_that_is_far_too_wide_has_no_number_of_cells_that_is_enough():
    """A cluster within one cell may be of any width: what is told is no more than a bound."""
    blocks = {**softmax(), "solver": {"kind": "finite-volume", "box": [[-1e5, 1e5]]}}
    with pytest.raises(mfpde.ProblemError, match=r"too few .* 1 cells wide; take more than \["):
        prepared(blocks).start()


@pytest.mark.parametrize("cells", [100_000, [100_000, 100_000]])
def test_cells_of_both_axes_count(cells):
    data = {
        "geometry": {"kind": "plane"},
        **softmax(),
        "initial": {"kind": "gaussian", "mean": [0, 0], "covariance": 1},
        "time": {"until": 1},
    }
    with pytest.raises(mfpde.ProblemError, match="cells: may be 16,777,216 in all, not 10,000,000,000"):
        prepare(mfpde.Problem.from_dict({**data, "solver": {"kind": "finite-volume", "cells": cells}}))
