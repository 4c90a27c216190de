"""What the code cites is in the bibliography, and the bibliography holds nothing that is cited nowhere."""

import re

import pytest

import mfpde
from mfpde.bibliography import bibliography
from mfpde.equation import Noise
from mfpde.prepare import citations_of
from mfpde.registry import members

_KEY = r"[a-z]+(?:19|20)\d\d[a-z]*"
#: `[hairer1993]`, `[hairer1993, krogstad2005]` in docstrings and comments
IN_CODE = re.compile(rf"\[({_KEY}(?:, {_KEY})*)\]")
#: a key anywhere: in a page, in `citations`
ANYWHERE = re.compile(rf"\b{_KEY}\b")


def texts(house, *patterns):
    folders = [*house.mapping.values(), "benchmarks", "docs"]
    files = [path for folder in folders for pattern in patterns for path in (house.root / folder).rglob(pattern)]
    return {path: path.read_text(encoding="utf-8") for path in files if path.is_file()}


def test_every_key_in_a_docstring_or_comment_is_in_the_bibliography(house):
    cited = {
        (key, path.relative_to(house.root).as_posix())
        for path, text in texts(house, "*.py").items()
        for keys in IN_CODE.findall(text)
        for key in keys.split(", ")
    }
    assert len(cited) > 10
    assert {(key, place) for key, place in cited if key not in bibliography()} == set()


def test_every_entry_of_the_bibliography_is_cited(house):
    used = {key for text in texts(house, "*.py", "*.md", "*.yaml").values() for key in ANYWHERE.findall(text)}
    assert bibliography().keys() - used == {"mfpde"}


def problem(**solver):
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": {"kind": "softmax", "A": 1, "V": -1},
            "noise": {"kappa": 1e3},
            "initial": {"kind": "gaussian", "mean": [0], "covariance": [[1]]},
            "time": {"until": 1e-3, "save": False},
            "solver": {"kind": "finite-volume", "cells": 32, **solver},
        }
    )


@pytest.mark.parametrize(
    ("solver", "keys"),
    [
        ({"order": 1}, {"courant1952", "shu1988", "fekete2022"}),
        ({"order": 2}, {"vanleer1979", "shu1988", "fekete2022"}),
        ({"order": 5}, {"borges2008", "spiteri2002"}),
        ({"order": 9}, {"hairer1993"}),
        ({"order": 5, "stepper": "ssprk3"}, {"borges2008", "shu1988", "fekete2022"}),
    ],
)
def test_finite_volumes_name_the_schemes_they_use(solver, keys):
    always = {"mfpde", "castin2025", "rigollet2025", "geshkovski2025", "xu2014", "zalesak1979", "gustafsson1994"}
    task = problem(**solver)
    assert set(citations_of(task, {})) == always | keys | {"sommeijer1998"}
    assert set(citations_of(task.model_copy(update={"noise": Noise()}), {})) == always | keys
    run = mfpde.solve(task)
    assert run.provenance["statistics"]["stiff"] == 0
    assert set(citations_of(task, run.provenance["statistics"])) == always | keys
    assert set(citations_of(task, {"stiff": 3.0})) == always | keys | {"sommeijer1998"}


def test_every_solver_cites_what_is_in_the_bibliography():
    for solver in members("solver").values():
        assert set(solver.citations) <= bibliography().keys()
