"""`load`, `info`, `plot`, `report` and `cite` work on whatever a file holds, by the word that it has as its kind."""

import base64
import json

import pytest
from store import diagram

import mfpde as package
from mfpde.bibliography import bibliography
from mfpde.contracts import Result


@pytest.fixture
def made(here):
    diagram.make(here / "toy.h5", 7)
    return "toy.h5"


def test_load(made):
    result = package.load(made)
    assert isinstance(result, diagram.Diagram)
    assert isinstance(result, Result)


def test_info(mfpde, made):
    lines = mfpde("info", made).stdout.splitlines()
    assert lines[:7] == [
        "file     toy.h5",
        "title    toy",
        "outcome  finished at t = 6",
        "states   7 states",
        "orders   6",
        "last values, of state 6",
        f"  first moment  {diagram.expected(7)['moments'][-1][0]:.6g}",
    ]
    assert lines[7:10] == ["invariants", "  least moment  0.5", "effort"]
    assert "  turns    2" in lines
    assert "  geometry:" in lines


def test_info_for_programs(mfpde, made):
    told = json.loads(mfpde("info", made, "--json").stdout)
    assert (told["running"], told["title"], told["states"]) == (False, "toy", 7)
    assert told["outcome"]["kind"] == "finished"
    assert told["comparison"] is None
    assert told["problem"]["geometry"] == {"kind": "circle"}


def test_plot(mfpde, here, made):
    assert mfpde("plot", made).stderr.endswith("wrote toy.png\n")
    assert (here / "toy.png").read_text() == "a picture"
    result = mfpde("plot", made, "-o", "toy.gif")
    assert (result.exit_code, result.stderr) == (2, "toy.gif: there is no movie of a diagram, only a figure\n")


def test_report(mfpde, here, made):
    assert mfpde("report", made).stderr.endswith("wrote toy.html\n")
    text = (here / "toy.html").read_text(encoding="utf-8")
    assert "<p>diagram, finished at t = 6</p>" in text
    assert "<tr><th scope='row'>orders</th><td>6</td></tr>" in text
    assert base64.b64encode(b"a picture").decode() in text
    assert "[hairer1993] Hairer" in text
    assert "<script" not in text  # nothing changes in time


def test_cite(mfpde, made):
    known = bibliography()
    assert mfpde("cite", made).stdout == f"{known['mfpde']}\n\n{known['hairer1993']}\n"


def test_what_nobody_can_read_is_told(mfpde, here, made):
    import h5py

    with h5py.File(made, "r+") as file:
        file.attrs["mfpde_kind"] = "sweap"
    result = mfpde("info", made)
    assert result.exit_code == 2
    assert "no archive is called 'sweap'" in result.stderr
    solved = mfpde("plot", made)
    assert solved.exit_code == 2
