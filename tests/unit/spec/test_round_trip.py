"""A problem written is the problem read."""

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import mfpde
from mfpde.spec import read_yaml, write_yaml

sys.path.insert(0, str(Path(__file__).parent))
from problems import problems

EXAMPLES = sorted((Path(mfpde.__file__).parent / "examples").glob("*.yaml"))


@given(problem=problems)
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_problem_reads_back_equal(problem, tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(write_yaml(problem), encoding="utf-8")
    again = read_yaml(path)
    assert again == problem
    assert again.content_hash == problem.content_hash
    assert write_yaml(again) == write_yaml(problem)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_read_back_equal_and_are_what_they_promise(path, tmp_path):
    problem = read_yaml(path)
    copy = tmp_path / "copy.yaml"
    copy.write_text(problem.to_yaml(), encoding="utf-8")
    assert read_yaml(copy) == problem
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert len(lines) <= 15
    assert problem.title


def test_the_text_is_for_people():
    problem = mfpde.Problem.from_dict(
        {
            "title": "yes: no",
            "geometry": {"kind": "circle"},
            "attention": {"kind": "softmax", "A": [[1, 0.5], [0, 1]]},
            "noise": {"kappa": 4.0},
            "initial": {"kind": "mixture", "components": [{"kind": "uniform", "weight": 1}]},
            "time": {"until": 1e-8, "stop_when_steady": True},
            "observe": ["mass", {"kind": "order-parameter", "harmonic": 1}],
        }
    )
    assert write_yaml(problem) == (
        "title: 'yes: no'\n"
        "geometry:\n  kind: circle\n"
        "attention:\n  kind: softmax\n  A: [[1, 0.5], [0, 1]]\n"
        "noise:\n  kappa: 4\n"
        "initial:\n  kind: mixture\n  components:\n    - kind: uniform\n      weight: 1\n"
        "time:\n  until: 1e-08\n  stop_when_steady: true\n"
        "observe: [mass, order-parameter]\n"
    )


def test_infinity_and_words_that_look_like_something_else():
    problem = mfpde.Problem.from_dict({"geometry": {"kind": "circle"}, "title": "1_000"})
    assert "title: '1_000'" in write_yaml(problem)
    assert "kappa" not in write_yaml(problem)
