"""Problems from Python: the same keys, the same sentences, numpy welcome."""

import numpy as np
import pytest

import mfpde
from mfpde.errors import ProblemError
from mfpde.spec import read_dict


def test_numpy_values_and_finished_parts_are_welcome():
    problem = read_dict(
        {
            "geometry": mfpde.Circle(),
            "attention": {"kind": "softmax", "A": np.eye(2), "V": np.float32(2.0)},
            "noise": {"kappa": np.int64(4)},
            "time": {"until": np.float64(2), "save_at": np.array([0.5, 1]), "save": np.True_},
            "solver": {"kind": "spectral", "max_modes": np.int32(64)},
            "observe": ("mass",),
        }
    )
    assert problem.attention.A == ((1, 0), (0, 1))
    assert problem.time.save_at == (0.5, 1.0)
    assert problem.solver.max_modes == 64


def test_faults_have_paths_and_no_lines():
    with pytest.raises(ProblemError) as caught:
        read_dict(
            {"geometry": {"kind": "circle"}, "noise": {"kappa": -1}, "attention": {"kind": "softmax", "A": [[1, "q"]]}}
        )
    assert sorted(map(str, caught.value.faults)) == [
        "attention.A.0.1: must be a number, not 'q'",
        "noise.kappa: must be greater than 0, not -1",
    ]


def test_a_base_needs_a_file():
    with pytest.raises(ProblemError, match="base: works in problem files only"):
        read_dict({"base": "x.yaml", "geometry": {"kind": "circle"}})


@pytest.mark.parametrize("data", [None, [], "circle", 3])
def test_what_is_no_dict_is_told_so(data):
    with pytest.raises(ProblemError, match="a problem is a dict"):
        read_dict(data)


def test_a_dict_that_holds_itself_ends():
    data = {"geometry": {"kind": "circle"}}
    data["noise"] = data
    with pytest.raises(ProblemError, match="nested more than"):
        read_dict(data)


def test_keys_that_are_no_words():
    with pytest.raises(ProblemError, match="a key must be a word"):
        read_dict({"geometry": {"kind": "circle"}, 3: 4})
