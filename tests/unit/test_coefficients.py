"""Coefficients that depend on time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mfpde
from mfpde.coefficients import MatrixSchedule, NumberSchedule, at_time, breaks_of

HEAD = {"geometry": {"kind": "plane"}}


def test_layers_hold_from_their_time_on():
    layers = MatrixSchedule(times=[1, 2, 4], values=[1, [[0, 1], [1, 0]], 3])
    assert [layers.at(t) for t in (-np.inf, 0, 1, np.nextafter(2, 0))] == [1.0] * 4
    assert layers.at(2.0) == layers.at(3.9) == ((0.0, 1.0), (1.0, 0.0))
    assert layers.at(4) == layers.at(1e9) == 3.0
    assert layers.breaks() == (2.0, 4.0)


@given(st.floats(-5, 5))
def test_lines_go_through_their_values(time):
    values = np.array([[[1.0, 2.0]], [[3.0, -2.0]], [[0.0, 0.0]]])
    lines = MatrixSchedule(times=[-1, 0.5, 3], values=values, interpolation="linear")
    expected = [np.interp(time, [-1, 0.5, 3], values[:, 0, k]) for k in range(2)]
    np.testing.assert_allclose(lines.at(time)[0], expected, atol=1e-15)
    for at, value in zip((-1, 0.5, 3), values, strict=True):
        np.testing.assert_array_equal(lines.at(at), value)
    assert lines.breaks() == (-1.0, 0.5, 3.0)


def test_one_value_is_constant():
    assert NumberSchedule(times=[3], values=[2], interpolation="linear").breaks() == ()
    assert NumberSchedule(times=[3], values=[2]).at(0) == 2


def test_specifications_are_taken_apart_and_put_together():
    layers = {"times": [0, 1], "values": [1, 2]}
    law = mfpde.MultiHead(
        heads=[mfpde.Softmax(A=layers), mfpde.Masked(attention=mfpde.L2(Q=1, K={"times": [0, 3], "values": [1, 2]}))],
        weight={"times": [0, 0.5], "values": [1, 3]},
    )
    assert breaks_of(law) == (0.5, 1.0, 3.0)
    then = at_time(law, 2.0)
    assert then.heads[0] == mfpde.Softmax(A=2)
    assert then.heads[1].attention == mfpde.L2(Q=1, K=1)
    assert then.weight == 3
    assert at_time(then, 0.0) is then
    assert law.at(2.0) == then
    with pytest.raises(mfpde.ProblemError, match=r"attention: depends on time; ask law\.at"):
        law.drift(mfpde.Particles([[0.0]]), [[0.0]])
    with pytest.raises(mfpde.ProblemError, match="depends on time"):
        law.heads[0].query_matrix(1)


def test_files_read_back():
    problem = mfpde.Problem.from_dict(
        {
            **HEAD,
            "attention": {"kind": "softmax", "beta": {"times": [0, 1], "values": [0, 2], "interpolation": "linear"}},
            "noise": {"kappa": {"times": [0, 1], "values": [1, float("inf")]}},
        }
    )
    assert "interpolation: linear" in problem.to_yaml()
    assert problem.noise.diffusion_at(1) == 0


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"times": [0, 0], "values": [1, 2]}, "attention.A.times: must be finite and ascending, not [0, 0]"),
        ({"times": [0, 1], "values": [1]}, "attention.A.values: must be one for each time: 2 times, 1 values"),
        ({"times": [], "values": []}, "attention.A.times: must have at least 1 entry, not 0"),
        ({"times": [0], "values": [[[1, "q"]]]}, "attention.A.values.0.0.1: must be a number, not 'q'"),
        ({"times": [0]}, "attention.A.values: is missing"),
        (
            {"times": [0], "value": [1], "values": [1]},
            "attention.A.value: unknown key 'value' (did you mean 'values'?)",
        ),
        (
            {"times": [0, 1], "values": [1, 2], "interpolation": "liner"},
            "attention.A.interpolation: must be 'constant' or 'linear', not 'liner' (did you mean 'linear'?)",
        ),
        (
            {"times": [0, 1], "values": [1, [[1, 2], [3, 4]]], "interpolation": "linear"},
            "attention.A.values: must all have one shape to lie on straight lines, not (), (2, 2)",
        ),
        (
            {"times": [0, 1], "values": [1, [[1, 2, 3]]]},
            "attention.A: has shape (1, 3); tokens in R^2 need (2, 2)",
        ),
        ("linear", "attention.A: must be a number, not 'linear'"),
    ],
)
def test_what_is_wrong_is_told(block, message):
    from mfpde.prepare import faults

    try:
        problem = mfpde.Problem.from_dict({**HEAD, "attention": {"kind": "softmax", "A": block}})
        said = [str(fault) for fault in faults(problem)]
    except mfpde.ProblemError as error:
        said = [str(error)]
    assert any(line.startswith(message) for line in said)


@pytest.mark.parametrize(
    ("kappa", "message"),
    [
        ({"times": [0, 1], "values": [1, -2]}, "noise.kappa.values.1: must be greater than 0, not -2"),
        ({"times": [0, 1], "values": [1, [[2]]]}, "noise.kappa.values.1: must be a number, not [[2]]"),
        (
            {"times": [0, 1], "values": [1, float("inf")], "interpolation": "linear"},
            "noise.kappa.values: must be finite to lie on straight lines",
        ),
    ],
)
def test_kappa_in_time(kappa, message):
    with pytest.raises(mfpde.ProblemError) as caught:
        mfpde.Problem.from_dict({**HEAD, "noise": {"kappa": kappa}})
    assert str(caught.value) == message


def test_what_is_derived_from_coefficients_follows_them():
    """Whether they are constant, and the convolution, are found once for each law."""
    rising = mfpde.Softmax(A={"times": [0, 1], "values": [1.0, 2.0], "interpolation": "linear"}, V=1.0)
    assert not rising.constant
    then = rising.at(0.5)
    assert then.constant
    circle = mfpde.Circle()
    before, after = then.convolution(circle), then.altered({"A": 3.0}).convolution(circle)
    assert after.potential[1] != before.potential[1]
    assert after.potential[1] == mfpde.Softmax(A=3.0, V=1.0).convolution(circle).potential[1]
