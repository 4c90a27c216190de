"""What Python builds by itself is told the sentences that a problem file is told."""

import subprocess
import sys

import numpy as np
import pytest
from pydantic import ValidationError

import mfpde
from mfpde.registry import members

BLOCKS = {
    "attention": [
        {"kind": "softmax", "A": "x"},
        {"kind": "softmax", "bta": 3},
        {"kind": "softmax", "A": [[1, 2], [3]]},
        {"kind": "softmax", "A": [[1, 2], [3, "q"]]},
        {"kind": "softmax"},
        {"kind": "softmax", "A": {"times": [0, 1], "values": [1]}},
        {"kind": "softmax", "A": {"tims": [0, 1], "values": [1]}},
        {"kind": "multi-head", "heads": [{"kind": "softmax", "bta": 3}]},
        {"kind": "multi-head", "heads": 3},
        {"kind": "masked", "attention": {"kind": "sofmax"}},
    ],
    "initial": [
        {"kind": "gaussian", "mean": 0},
        {"kind": "density", "expression": "1 + cos(thta)"},
        {"kind": "von-mises"},
        {"kind": "mixture", "components": []},
        {"kind": "uniform", "box": [1, 2, 3]},
        {"kind": "uniform", "box": [2, 1]},
    ],
    "drift": [{"kind": "mlp", "activation": "rel"}],
    "geometry": [{"kind": "space", "dimension": "x"}, {"kind": "sphere", "dimension": 1}],
    "solver": [{"kind": "finite-volume", "cells": 3}, {"kind": "spectral", "tolerance": 1}],
}


@pytest.mark.parametrize(
    ("block", "data"), [(block, data) for block, all_of_it in BLOCKS.items() for data in all_of_it]
)
def test_a_constructor_says_what_a_file_says(block, data):
    made = members(block)[data["kind"]]
    with pytest.raises(mfpde.ProblemError) as from_file:
        mfpde.Problem.from_dict({"geometry": {"kind": "line"}, block: data})
    with pytest.raises(mfpde.ProblemError) as from_python:
        made(**{key: value for key, value in data.items() if key != "kind"})
    in_file, in_python = (
        {".".join(map(str, fault.path)): fault.message for fault in caught.value.faults}
        for caught in (from_file, from_python)
    )
    assert in_file == {f"{block}.{path}".rstrip("."): message for path, message in in_python.items()}
    assert str(from_python.value).startswith(f"{made.__name__}: ")


def test_a_problem_built_directly():
    with pytest.raises(mfpde.ProblemError) as caught:
        mfpde.Problem(geometry={"kind": "circel"}, noise={"kapa": np.array([3.0])}, observe=("mas",))
    assert [fault.message.partition(";")[0] for fault in caught.value.faults] == [
        "no geometry is called 'circel' (did you mean 'circle'?)",
        "unknown key 'kapa' (did you mean 'kappa'?)",
        "no observable is called 'mas' (did you mean 'mass'?)",
    ]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: mfpde.Softmax(3), "Softmax: takes its values by name, not 3; known: weight, beta, A, Q, K, V"),
        (lambda: mfpde.Softmax(A=np.array([[1.0, np.nan]])), "Softmax: A.0.1: must be a number, not nan"),
        (lambda: mfpde.MultiHead(heads=mfpde.Softmax(beta=1)), "MultiHead: heads: must be a list, not Softmax; write"),
        (lambda: mfpde.Equation(geometry=mfpde.Circle), "geometry: must be made first, Circle(...), and not the class"),
        (lambda: mfpde.Equation(geometry=mfpde.Softmax(beta=1)), "geometry: no geometry is called 'softmax'; known: "),
        (lambda: setattr(mfpde.Softmax(beta=1), "beta", 2), "Softmax: beta: cannot be changed: make another one"),
        (lambda: delattr(mfpde.Softmax(beta=1), "beta"), "Softmax: beta: cannot be taken away: make another one"),
    ],
)
def test_mistakes_that_only_python_can_make(build, message):
    with pytest.raises(mfpde.ProblemError) as caught:
        build()
    assert message in str(caught.value)


def test_they_are_value_errors_as_before_and_pydantic_is_not_shown():
    with pytest.raises(ValueError, match="must be a number") as caught:
        mfpde.Softmax(beta="x")
    assert not isinstance(caught.value, ValidationError)
    assert caught.value.__suppress_context__


def test_blocks_inside_others_are_validated_with_them():
    """All faults at once, and at the path from the outside: inner constructors are not called."""
    assert not mfpde.Softmax.__pydantic_custom_init__
    with pytest.raises(mfpde.ProblemError) as caught:
        mfpde.MultiHead(heads=[{"kind": "softmax", "A": "x"}, {"kind": "linear", "V": "y", "A": 1}])
    assert [fault.path for fault in caught.value.faults] == [("heads", 0, "A"), ("heads", 1, "V")]


def test_a_specification_loads_no_reader_of_files_until_it_is_wrong():
    script = "import mfpde, sys; mfpde.Softmax(beta=1); assert 'ruamel.yaml' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("kind", "family"), [("uniform", "initial"), ("points", "initial"), ("finite-volume", "solver")]
)
@pytest.mark.parametrize("pair", [[-1, 1], (-1.0, 1), np.array([-1.0, 1.0])])
def test_a_pair_of_numbers_is_a_box_of_one_axis(kind, family, pair):
    more = {"random": "box", "count": 3} if kind == "points" else {}
    made = members(family)[kind]
    assert made(box=pair, **more) == made(box=[[-1, 1]], **more)
