"""`mfpde sweep`: what it writes, says and leaves with."""

import json
import signal
import time

import numpy as np
import pytest
from unit.sweeping.here import Here

import mfpde as package

PROBLEM = """\
base: small.yaml
title: a sweep
sweep:
  noise.kappa: [1, 2, 4]
  attention.beta: {from: 0, to: 1, count: 2}
collect: [order-parameter]
"""


@pytest.fixture
def swept(here, monkeypatch):
    """The file, and sweeps in this process."""
    (here / "sweep.yaml").write_text(PROBLEM, encoding="utf-8")
    workers = Here()
    monkeypatch.setattr("mfpde.sweeping.running._workers", lambda *_: workers)
    return workers


def test_it_writes_a_file_that_every_command_reads(swept, mfpde, here):
    done = mfpde("sweep", "sweep.yaml", "-o", "s.h5")
    assert done.exit_code == 0, done.output
    assert "points           6 of 6" in done.stdout
    found = package.load("s.h5")
    assert found["order-parameter"].shape == (3, 2)
    told = mfpde("info", "s.h5").stdout
    assert "title            a sweep" in told
    assert "noise.kappa      1 to 4, 3 values" in told
    assert json.loads(mfpde("info", "s.h5", "--json").stdout)["points"] == {"finished": 6, "count": 6}
    assert "@" in mfpde("cite", "s.h5").stdout
    assert mfpde("plot", "s.h5").stderr.endswith("wrote s.png\n")
    assert (here / "s.png").stat().st_size > 10_000
    assert mfpde("plot", "s.h5", "-o", "s.gif").exit_code == 2
    assert mfpde("report", "s.h5").stderr.endswith("wrote s.html\n")
    assert "<td>1 to 4, 3 values</td>" in (here / "s.html").read_text(encoding="utf-8")
    again = mfpde("sweep", "sweep.yaml", "-o", "s.h5")
    assert (again.exit_code, "exists already" in again.stderr) == (2, True)
    assert mfpde("sweep", "sweep.yaml", "-o", "s.h5", "--resume", "--quiet").exit_code == 0


def test_results_for_programs(swept, mfpde):
    told = json.loads(mfpde("sweep", "sweep.yaml", "--json").stdout)
    assert told["axes"] == {"noise.kappa": [1, 2, 4], "attention.beta": [0, 1]}
    assert (told["outcome"], told["outcomes"]) == ("finished", {"finished": 6})


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["sweep.noise.kappa=[0, 1]"], "noise.kappa: must be greater than 0, not 0"),
        (["collect=[nematic-order]"], "collect.0.observe: nematic-order cannot be observed here"),
        (["collect=[]"], "collect: is missing"),
        (["sweep.attention.beta={from: 0, to: 1, count: 1000000}"], "makes 3,000,000 points, more than 200,000"),
    ],
)
def test_bad_input_is_one_sentence(swept, mfpde, settings, told, here):
    options = [word for setting in settings for word in ("--set", setting)]
    done = mfpde("sweep", "sweep.yaml", *options)
    assert done.exit_code == 2
    assert told in done.stderr
    assert "Traceback" not in done.output
    assert not (here / "sweep.h5").exists()


def test_an_unknown_key_is_told_with_its_line(swept, mfpde, here):
    (here / "bad.yaml").write_text("base: small.yaml\nsweep:\n  noise.kapa: [1]\ncollect: [mass]\n", encoding="utf-8")
    for command in ("sweep", "check"):
        done = mfpde(command, "bad.yaml")
        assert done.exit_code == 2
        assert "bad.yaml:3:3: sweep.noise.kapa: unknown key 'kapa' (did you mean 'kappa'?)" in done.stderr


def test_check_counts_the_points(swept, mfpde):
    assert "sweep.yaml: ok, its 6 points can be solved" in mfpde("check", "sweep.yaml").stdout


def test_a_changed_file_is_refused_with_the_difference(swept, mfpde):
    assert mfpde("sweep", "sweep.yaml", "--quiet").exit_code == 0
    done = mfpde("sweep", "sweep.yaml", "--resume", "--set", "time.until=2")
    assert done.exit_code == 2
    assert "it is another sweep: time.until was 1.0 and is 2.0" in done.stderr


@pytest.mark.slow
def test_ctrl_c_leaves_a_file_from_which_it_goes_on(here, command):
    text = PROBLEM.replace("[1, 2, 4]", "{from: 1, to: 4, count: 3000}")
    (here / "sweep.yaml").write_text(text, encoding="utf-8")
    process = command("sweep", "sweep.yaml")
    while not (here / "sweep.h5").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    found = package.load("sweep.h5")
    assert found.outcome.kind == "interrupted"
    assert np.isfinite(found["order-parameter"][found.finished]).all()
    assert f"{int(found.finished.sum())} of 6000 points are there" in str(found.outcome)
    assert "Traceback" not in err
