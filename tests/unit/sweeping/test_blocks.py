"""The blocks `sweep` and `collect`: what they take, refuse and write."""

import json

import numpy as np
import pytest

import mfpde


def faults(heat, **blocks) -> str:
    with pytest.raises(mfpde.ProblemError) as caught:
        heat(**blocks)
    return str(caught.value)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([], "must have at least one value"),
        ([1, 2, 1.0], "holds 1 twice"),
        (3, "must be a list of values or a range {from: 0, to: 1, count: 11}, not 3"),
        ({"from": 0, "to": 1}, "has no count"),
        ({"from": 0, "to": 1, "cont": 3}, "unknown key 'cont' (did you mean 'count'?)"),
        ({"from": 0, "to": 1, "count": 1}, "count must be a whole number from 2 to"),
        ({"from": 0, "to": 1, "count": 2.5}, "count must be a whole number from 2 to"),
        ({"from": "a", "to": 1, "count": 2}, "from must be a finite number, not 'a'"),
        ({"from": 0, "to": float("inf"), "count": 2}, "to must be a finite number, not inf"),
        ({"from": 0, "to": 1, "count": 3, "scale": "log"}, "from and to of a range with scale: log must be of one"),
        ({"from": 1, "to": 2, "count": 3, "scale": "cubic"}, "scale must be linear or log, not 'cubic'"),
        ({"from": 1, "to": 1, "count": 3}, "from and to are both 1"),
    ],
)
def test_values_that_make_no_axis(heat, values, told):
    assert f"sweep.noise.kappa: {told}" in faults(heat, sweep={"noise.kappa": values})


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ({}, "sweep: names no key"),
        ({"zip": {"a.b": [1, 2], "c.d": [1]}}, "sweep.zip.0: what moves together must have equally many values"),
        ({"a.b": [1], "zip": [{"a.b": [2]}]}, "sweep.zip.0.a.b: the key 'a.b' is swept twice"),
        ({"collect": [1]}, "sweep.collect: cannot be swept"),
        ({"a": [1], "keep": "all"}, "sweep.keep: must be 'runs', not 'all'"),
        ({"a": [1], "timeout": 0}, "sweep.timeout: must be greater than 0, not 0"),
        ({"a": [1], "refine": {"levels": 2}}, "sweep.refine.where: is missing"),
    ],
)
def test_blocks_that_make_no_sweep(heat, block, told):
    assert told in faults(heat, sweep=block)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("order-paramter", "no observable is called 'order-paramter' (did you mean 'order-parameter'?)"),
        (
            {"observe": {"kind": "order-parameter", "harmonc": 2}},
            "observe.harmonc: unknown key 'harmonc' (did you mean",
        ),
        ({"observe": "mass", "reduce": "least"}, "must be 'last', 'max', 'mean', 'time-to' or 'series', not 'least'"),
        ({"observe": "mass", "reduce": "time-to"}, "threshold: is missing"),
        ({"observe": "mass", "part": 0.5}, "part: belongs to reduce: mean, and this is last"),
        ({"observe": "mass", "name": "a/b"}, "collect.0.name"),
    ],
)
def test_what_cannot_be_collected(heat, entry, told):
    assert told in faults(heat, collect=[entry])


def test_it_reads_back_from_yaml_and_from_files(heat, tmp_path):
    block = {
        "solver.seed": {"from": 0, "to": 9, "count": 10},
        "attention": [{"kind": "softmax", "beta": 1}, {"kind": "linear"}],
        "zip": {"noise.kappa": np.array([1, 2.5]), "time.until": [1, 2]},
        "timeout": 3,
    }
    collect = ["mass", {"observe": {"kind": "order-parameter", "harmonic": 2}, "reduce": "mean", "part": 0.5}]
    problem = heat(sweep=block, collect=collect)
    place = tmp_path / "again.yaml"
    place.write_text(problem.to_yaml(), encoding="utf-8")
    assert "[mass]" in problem.to_yaml() or "- mass" in problem.to_yaml()
    stored = mfpde.Problem.model_validate(json.loads(json.dumps(problem.canonical())))
    for again in (mfpde.Problem.from_yaml(place), stored):
        assert again == problem
        assert again.content_hash == problem.content_hash
        assert list(again.sweep.axes) == ["solver.seed", "attention"]


def test_a_setting_reaches_a_swept_key_with_its_dots(heat, tmp_path):
    place = tmp_path / "sweep.yaml"
    place.write_text(heat().to_yaml(), encoding="utf-8")
    changed = mfpde.Problem.from_yaml(place, {"sweep.time.until.count": 5, "sweep.noise.kappa": "[3]"})
    assert changed.sweep.axes == {
        "noise.kappa": (3,),
        "time.until": {"from": 1, "to": 2, "count": 5, "scale": "linear"},
    }
