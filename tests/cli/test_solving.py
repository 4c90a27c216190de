"""solve, info, plot, cite: what they say, what they write, how they leave."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mfpde.cli.progress import display, line
from mfpde.contracts import FINISHED, INTERRUPTED, NOT_FINITE, OUTPUT_FAILED, RESOLUTION_LOST, STEADY, Accuracy, Outcome
from mfpde.watching.progress import ProgressReport


def test_solve_writes_a_file_and_a_summary(mfpde):
    result = mfpde("solve", "small.yaml")
    assert result.exit_code == 0
    assert Path("small.h5").exists()
    found = dict(text.split(maxsplit=1) for text in result.stdout.splitlines() if text)
    assert found["outcome"] == "finished at t = 1"
    assert found["solver"] == "spectral, preferred by auto among spectral"
    assert found["times"] == "0 to 1, 3 snapshots"
    assert found["file"].endswith("small.h5")
    assert {"steps", "modes", "wall", "order-parameter", "mass"} <= found.keys()
    assert found["mass"] == "1"


def test_the_solver_that_auto_took_is_told(mfpde, solved):
    told = "spectral, preferred by auto among spectral"
    assert told in mfpde("info", str(solved)).stdout
    assert told not in mfpde("solve", "small.yaml", "-o", "named.h5", "--set", "solver.kind=spectral").stdout


def test_quiet_says_nothing(mfpde):
    result = mfpde("solve", "small.yaml", "-o", "other.h5", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert Path("other.h5").exists()


def test_an_existing_file_is_overwritten_only_with_force(mfpde, solved):
    before = solved.read_bytes()
    result = mfpde("solve", "small.yaml")
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert solved.read_bytes() == before
    assert mfpde("solve", "small.yaml", "--force").exit_code == 0


def test_resume_goes_on_to_a_later_end_and_refuses_another_problem(mfpde, solved):
    assert mfpde("solve", "small.yaml", "--resume", "--set", "time.until=2").exit_code == 0
    info = json.loads(mfpde("info", "small.h5", "--json").stdout)
    assert info["times"] == {"first": 0.0, "last": 2.0, "count": 5}
    result = mfpde("solve", "small.yaml", "--resume", "--set", "noise.kappa=5")
    assert result.exit_code == 2
    assert result.stderr


def test_a_run_that_loses_resolution_is_exit_3_and_keeps_its_file(mfpde):
    settings = [
        "noise.kappa=.inf",
        "attention={kind: softmax, beta: 9}",
        "time={until: 50}",
        "solver={kind: spectral, max_modes: 64}",
    ]
    result = mfpde("solve", "small.yaml", *[part for item in settings for part in ("--set", item)])
    assert result.exit_code == 3
    assert "resolution lost" in result.stdout
    assert "outcome" in mfpde("info", "small.h5").stdout


@pytest.mark.parametrize(
    ("kind", "code"),
    [(FINISHED, 0), (STEADY, 0), (INTERRUPTED, 130), (NOT_FINITE, 3), (RESOLUTION_LOST, 3), (OUTPUT_FAILED, 3)],
)
def test_each_outcome_has_its_exit_code(kind, code, mfpde, solved, monkeypatch):
    from mfpde.store import load

    run = replace(load(solved), outcome=Outcome(kind, 1.0, "because"))
    monkeypatch.setattr("mfpde.run_loop.solve", lambda *_, **__: run)
    result = mfpde("solve", "small.yaml", "--quiet")
    assert result.exit_code == code
    assert (f"{kind} at t = 1: because" in result.stderr) is (code != 0)


@pytest.mark.parametrize(
    ("kind", "kept", "code"),
    [(FINISHED, True, 0), (FINISHED, False, 1), (FINISHED, None, 1), (STEADY, None, 1), (NOT_FINITE, False, 3)],
)
def test_strict_asks_for_the_accuracy_that_was_promised(kind, kept, code, mfpde, solved, monkeypatch):
    from mfpde.store import load

    accuracy = Accuracy(1e-7, 3e-4, kept, "" if kept else "cells")
    run = replace(load(solved), outcome=Outcome(kind, 1.0, accuracy=accuracy))
    monkeypatch.setattr("mfpde.run_loop.solve", lambda *_, **__: run)
    assert mfpde("solve", "small.yaml", "--quiet").exit_code == (3 if kind == NOT_FINITE else 0)
    result = mfpde("solve", "small.yaml", "--quiet", "--strict")
    assert result.exit_code == code
    assert ("an error below 1e-07, " in result.stderr) is (code == 1)
    assert ("not known" in result.stderr) is (code == 1 and kept is None)


def test_info_for_people_and_for_machines(mfpde, solved):
    text = mfpde("info", "small.h5").stdout
    for words in ("finished at t = 1", "mass drift", "order-parameter", "numpy", "expression: 1 + 0.1*cos(theta)"):
        assert words in text
    data = json.loads(mfpde("info", "small.h5", "--json").stdout)
    assert data["running"] is False
    assert data["outcome"]["complete"] is True
    assert data["invariants"]["mass drift"] < 1e-13
    assert data["problem"]["noise"] == {"kappa": 4.0}


def test_info_of_a_run_under_way_reads_its_status_only(mfpde, monkeypatch):
    status = {"time": 1.5, "until": 4.0, "steps": 12, "rate": 0.5, "remaining": 95.0, "outcome": None, "pid": 1}
    monkeypatch.setattr("mfpde.watching.read_status", lambda _: status)
    result = mfpde("info", "going.h5")
    assert result.exit_code == 0
    assert "running" in result.stdout
    assert "1 min 35 s" in result.stdout
    assert json.loads(mfpde("info", "going.h5", "--json").stdout) == {"running": True, **status}


def test_plot_draws_a_figure_and_overwrites_it(mfpde, solved):
    for _ in range(2):
        result = mfpde("plot", "small.h5")
        assert (result.exit_code, result.stdout) == (0, "")
        assert "wrote small.png" in result.stderr
    assert Path("small.png").read_bytes().startswith(b"\x89PNG")
    result = mfpde("plot", "small.h5", "-o", "no/such/folder.png")
    assert (result.exit_code, result.stderr) == (2, "cannot write no/such/folder.png: there is no folder no/such\n")


def test_cite_names_what_this_run_used(mfpde, solved):
    text = mfpde("cite", "small.h5").stdout
    keys = [entry.split("{")[1].rstrip(",") for entry in text.splitlines() if entry.startswith("@")]
    assert keys[0] == "mfpde"
    assert {"rigollet2025", "bertini2010", "krogstad2005", "hairer1993"} <= set(keys)
    assert "carrillo2020" not in keys
    assert mfpde("cite", "small.yaml").stdout == text


REPORT = ProgressReport(time=3.2, until=40.0, steps=120, rate=0.8, remaining=46.0, detail={"modes": 128})


def test_progress_is_a_line_now_and_then_when_nobody_watches(capsys, monkeypatch):
    assert line(REPORT) == "t = 3.2 of 40, 120 steps, 0.8 of t per second, 46 s left, 128 modes"
    clock = iter([0.0, 1.0, 5.5, 6.0, 11.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with display(quiet=False) as show:
        for _ in range(5):
            show(REPORT)
    assert capsys.readouterr().err.splitlines() == [line(REPORT)] * 2


def test_progress_is_a_bar_on_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with display(quiet=False) as show:
        show(REPORT)
        show(replace(REPORT, time=40.0, remaining=None))
    with display(quiet=True) as show:
        assert show is False
