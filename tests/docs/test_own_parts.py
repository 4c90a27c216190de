"""A kernel, a geometry, a measure, an observable, a time scheme and a case of one's own, those of docs/extending.md:
they have everything that the parts of the house have, or are told in a sentence why not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from generate.execution import blocks

PARTS = {"quadratic", "tempered", "torus", "triangle", "arc_mass", "diffusion", "ssprk43"}


@pytest.fixture(scope="module")
def told(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("own_parts")
    files = [block for block in blocks((root / "docs/extending.md").read_text(encoding="utf-8")) if block.name]
    for block in files:
        (folder / block.name).write_text(block.code, encoding="utf-8")
    assert {Path(block.name).stem for block in files} >= PARTS
    program = (root / "tests/docs/own_parts.py").read_text(encoding="utf-8")
    (folder / "own_parts.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "own_parts.py"], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_they_are_members_of_their_families(told):
    own = {"attention": "tempered", "geometry": "torus", "initial": "triangle", "observable": "arc-mass"}
    assert all(name in told["listed"][family] for family, name in own.items())
    assert told["case"]


def test_drifts_are_their_specification_on_every_space(told):
    assert len(told["specification"]) == 12
    assert max(told["specification"].values()) < 1e-13


def test_a_geometry_has_its_calculus(told):
    assert max(told["derivatives"].values()) < 1e-8


def test_energies(told):
    known = {name: value for name, value in told["energies"].items() if name.startswith("tempered")}
    assert len(known) == 6
    assert max(known.values()) < 1e-13
    other = {name: value for name, value in told["energies"].items() if name.startswith("quadratic")}
    assert other.pop("quadratic on the circle") is other.pop("quadratic on the sphere") is None
    assert set(other.values()) == {"the energy is known for exponential attention, A and V multiples of 1"}


def test_tails(told):
    tails = told["tails"]
    assert tails["tempered nodes"] == tails["softmax nodes"] == [0.25]
    assert tails["quadratic nodes"] == [1.0]
    assert (tails["tempered beyond"], tails["softmax beyond"], tails["quadratic beyond"]) == (True, True, False)
    assert "for tails that sink like an exponential or slower it is infinite" in tails["infinite"]
    assert tails["attention-tilt"] == pytest.approx(1.0)
    assert tails["attention-tilt of quadratic"].startswith("it tells of exponential attention")


def test_a_measure_is_its_nodes_its_density_and_its_draws(told):
    measure = told["measure"]
    assert max(measure["log_laplace"], measure["moments"]) < 1e-13
    assert max(measure["cells"], measure["entropy"]) < 1e-3  # Gauss rules across the kinks
    assert measure["draws"] < 0.02


def test_runs_are_drawn_and_checked(told):
    assert told["arc"] < 1e-14
    for name in ("torus", "circle", "line"):
        run = told["runs"][name]
        assert run["finished"]
        assert run["drawn"]
        assert run["passed"]
    assert {"energy", "mean"} & set(told["runs"]["torus"]["titles"])
    assert "mass of the arc" in told["runs"]["circle"]["titles"]
    speed = "no token moves faster than |V| R times the largest kernel, relative to that"
    energy, support = "energy never falls, relative to its size", "the support stays in the ball of radius R_0"
    assert {speed, energy} <= set(told["runs"]["torus"]["claims"])
    assert {speed, "free energy never rises"} <= set(told["runs"]["circle"]["claims"])
    assert any(claim.startswith(support) for claim in told["runs"]["line"]["claims"])


def test_a_stepper_is_one_file(told):
    stepping = told["stepping"]
    assert stepping["apart"] < 1e-3
    assert (stepping["stages of ssprk43"], stepping["stages of ssprk3"]) == (4, 3)
    assert stepping["cited"]
    assert stepping["schema"]
    assert stepping["listed"]
    assert "solver.stepper: cannot be rkc2: finite volumes change over to it by themselves" in stepping["refused"]


def test_what_makes_no_sense_is_told_in_a_sentence(told):
    assert "arc-mass cannot be observed here: it is made for the circle, not for the torus" in told["runs"]["refused"]
