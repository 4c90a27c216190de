"""`mfpde validate` of problem files: the mean-field limit, reports, interruption and what is refused."""

import json
import signal
import time
from pathlib import Path

import pytest

from mfpde.cli.exit_codes import CHECK_FAILED
from mfpde.validation import solution
from mfpde.workers import InProcess

LINE = """\
geometry:  {kind: line}
attention: {kind: softmax, A: 0.5, V: -1}
initial:   {kind: gaussian, mean: 0.3, covariance: 0.5}
solver:    {kind: gaussian}
time:      {until: 0.2}
"""
LIMIT = ("validate", "small.yaml", "--quick", "--counts", "25,100,400", "--repeats", "8")


def test_the_limit_of_a_file(mfpde, monkeypatch):
    """In this process: an interrupted study has others."""
    monkeypatch.setattr("mfpde.validation.mean_field.study.workers_for", lambda _: InProcess())
    result = mfpde(*LIMIT, "--report", "report")
    assert result.exit_code == 0, result.output
    assert "smooth observables: errors fall like n^-1/2" in result.stdout
    report = json.loads(Path("report/report.json").read_text())
    assert [part["title"] for part in report["parts"]] == ["small.yaml", "the mean-field limit of small"]
    assert report["parts"][1]["rates"]["wasserstein-1"]["counts"] == [25, 100, 400]
    assert Path("report/the mean-field limit of small.png").stat().st_size > 50_000
    assert len(Path("report/small.measurements.jsonl").read_text().splitlines()) == 1 + 3 * 8

    again = mfpde(*LIMIT, "--report", "report")
    assert (again.exit_code, "report is there and holds something" in again.stderr) == (2, True)
    assert mfpde(*LIMIT, "--report", "report", "--resume").stdout == result.stdout
    Path("small.yaml").write_text(Path("small.yaml").read_text().replace("kappa: 4", "kappa: 3"))
    other = mfpde(*LIMIT, "--report", "report", "--resume")
    assert other.exit_code == 2
    assert "was measured for another problem" in other.stderr


def test_an_interrupted_study_goes_on(command, here):
    long = ("validate", "small.yaml", "--counts", "100,1000,20000", "--repeats", "30", "--report", "report")
    process = command(*long)
    kept = here / "report/small.measurements.jsonl"
    for _ in range(3000):
        if kept.exists() and len(kept.read_text().splitlines()) > 3:
            break
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    lines = kept.read_text().splitlines()
    assert len(lines) > 3
    assert all(json.loads(line) for line in lines)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--counts", "10,100"), "counts: must be at least 3 numbers of tokens, not 2"),
        (("--counts", "10,ten"), "--counts: must be whole numbers such as 100,1000,10000, not '10,ten'"),
        (("--counts", "5"), "counts: must be at least 3 numbers of tokens, not 1"),
        (("--seconds", "-1"), "seconds: must be"),
        (("--seconds", "nan"), "seconds: must be"),
        (("--repeats", "1"), "repeats: must be at least 4, not 1"),
        (("--counts", "10,20,1e13"), "counts: that many tokens need about 2.08e+15 bytes of memory"),
        (("--counts", "10,20,40", "--no-limit"), "counts: is of the mean-field limit, which was to be left out"),
        (("small.yaml",), "two parts of the report are called 'small'"),
        (("--resume",), "resume needs the folder in which the measurements are"),
        (("--only", "nothing*"), "--only: no case matches 'nothing*'"),
    ],
)
def test_what_is_refused(mfpde, arguments, words):
    result = mfpde("validate", "small.yaml", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("time:", "# time:", "time: is missing: solving needs to know until when"),
        ("noise:     {kappa: 4}", "solver: {kind: hardmax}", "hardmax"),
    ],
)
def test_files_that_cannot_be_validated(mfpde, old, new, words):
    Path("small.yaml").write_text(Path("small.yaml").read_text().replace(old, new))
    result = mfpde("validate", "small.yaml", "--counts", "10,100,1000", "--report", "report")
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert not Path("report/small.measurements.jsonl").exists()
    assert mfpde("validate", "missing.yaml", "--quick").exit_code == 2


def test_what_has_no_limit_is_told_so(mfpde):
    text = Path("small.yaml").read_text().replace("density, expression: 1 + 0.1*cos(theta)", "points, values: [0, 1]")
    text = text.replace("noise:     {kappa: 4}", "solver: {kind: particles}")
    Path("small.yaml").write_text(text)
    result = mfpde("validate", "small.yaml", "--quick")
    assert result.exit_code == 0, result.output
    assert "note: no mean-field limit is looked for: the initial points are the tokens themselves" in result.stdout
    assert "a plain program of all pairs of tokens (positions of tokens, " in result.stdout
    assert mfpde("validate", "small.yaml", "--counts", "10,100,1000").exit_code == 2


def test_one_solution_of_a_sweep_is_examined_and_said_to_be(mfpde):
    said = "one solution is examined, by the values that the file gives; not its sweep"
    Path("line.yaml").write_text(LINE)
    assert said not in mfpde("validate", "line.yaml", "--quick", "--no-limit").stdout
    Path("swept.yaml").write_text(LINE + "sweep: {attention.A: [0.1, 0.2]}\n")
    result = mfpde("validate", "swept.yaml", "--quick", "--no-limit")
    assert (result.exit_code, f"note: {said}\n" in result.stdout) == (0, True), result.output


def test_only_some_cases(mfpde):
    result = mfpde("validate", "--only", "moeb*", "--quick")
    assert result.exit_code in (0, CHECK_FAILED)
    assert result.stdout.count("\nok") >= 1


def test_cases_have_no_counts(mfpde):
    result = mfpde("validate", "moebius", "--repeats", "8")
    said = "repeats: is of the mean-field limit of problem files; cases have none\n"
    assert (result.exit_code, result.stderr) == (2, said)


def test_what_there_is_not_is_said_before_anything_runs(mfpde, monkeypatch, caplog):
    def stopped(*_, **__):
        raise AssertionError("it ran")

    monkeypatch.setattr(solution, "solved_so_far", stopped)
    mfpde("validate", "small.yaml", "--quick", "--no-limit")
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "small.yaml: no second method shares nothing with solver: spectral and can do this equation",
        "small.yaml: no mean-field limit is looked for: it was to be left out",
    ]


def test_the_second_method_is_in_the_report_as_numbers(mfpde):
    Path("line.yaml").write_text(LINE)
    assert mfpde("validate", "line.yaml", "--quick", "--no-limit", "--report", "report").exit_code == 0
    second = json.loads(Path("report/report.json").read_text())["second_method"]
    assert second["method"] == "solver: finite-volume"
    assert second["times"][0] == 0.0
    assert second["times"][-1] == 0.2
    assert max(second["distances"]) <= sum(second["promises"].values())
