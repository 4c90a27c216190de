"""Bad input: exit code 2, sentences with positions, nothing written, no traceback."""

import json
from pathlib import Path

import pytest

from mfpde.errors import MfpdeError, ProblemError

BROKEN = "geometry: {kind: circel}\nnoise: {kapa: 4}\ntime: {until: -1}\n"


def test_check_tells_every_fault_at_once(mfpde, here):
    Path("broken.yaml").write_text(BROKEN)
    result = mfpde("check", "broken.yaml")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        (
            "broken.yaml:1:18: geometry.kind: no geometry is called 'circel' (did you mean 'circle'?); "
            "known: circle, line, plane, space, sphere"
        ),
        "broken.yaml:2:9: noise.kapa: unknown key 'kapa' (did you mean 'kappa'?); known: kappa, matrix, common",
        "broken.yaml:3:15: time.until: must be greater than 0, not -1",
        "broken.yaml: 3 errors",
    ]


def test_check_tells_what_cannot_be_solved_with_its_line(mfpde):
    Path("sharp.yaml").write_text(
        "geometry: {kind: circle}\nattention: {kind: softmax, A: [[1, 2], [3, 4]]}\nsolver: {kind: gaussian}\n"
        "initial:\n  kind: density\n  expression: cos(theta)\nobserve: [mass, mass]\ntime: {until: 1}\n"
    )
    result = mfpde("check", "sharp.yaml")
    assert result.exit_code == 2
    assert [line.split(" ")[0] for line in result.stderr.splitlines()[:3]] == [
        "sharp.yaml:3:1:",
        "sharp.yaml:6:15:",
        "sharp.yaml:7:17:",
    ]


def test_check_is_content_with_a_good_file(mfpde):
    result = mfpde("check", "small.yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "small.yaml: ok, the spectral solver can solve it\n"


def test_check_of_several_files_for_machines(mfpde):
    Path("broken.yaml").write_text(BROKEN)
    result = mfpde("check", "small.yaml", "broken.yaml", "--json")
    assert result.exit_code == 2
    good, bad = json.loads(result.stdout)
    assert good == {"file": "small.yaml", "ok": True, "solver": "spectral", "faults": []}
    assert bad["faults"][2] == {
        "source": "broken.yaml",
        "line": 3,
        "column": 15,
        "path": ["time", "until"],
        "message": "must be greater than 0, not -1",
    }


def test_settings_are_checked_like_the_file(mfpde):
    result = mfpde("check", "small.yaml", "--set", "noise.kappa=four")
    assert result.exit_code == 2
    assert "--set noise.kappa=four: noise.kappa: must be a number, not 'four'" in result.stderr
    assert mfpde("check", "small.yaml", "--set", "noise.kappa = 2").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve"], "Missing argument 'FILE.yaml'"),
        (["solve", "nope.yaml"], "nope.yaml: cannot be read: no such file or directory"),
        (["solve", "."], ".: is a folder; a problem is a YAML file"),
        (["solve", "small.yaml", "--set", "time.until"], "'time.until' is not KEY=VALUE"),
        (["solve", "small.yaml", "--set", "time.until=x"], "time.until: must be a number, not 'x'"),
        (["solve", "small.yaml", "--set", "solver={kind: gaussian}"], "solver: "),
        (["solve", "small.yaml", "-o", "no/such/folder/run.h5"], "no/such/folder"),
        (["solve", "small.yaml", "--resume"], "small.h5"),
        (["solv", "small.yaml"], "No such command 'solv'. Did you mean 'solve'?"),
        (["info", "nope.h5"], "nope.h5"),
        (["info", "small.yaml"], "small.yaml"),
        (["plot", "nope.h5"], "nope.h5"),
        (["plot", "nope.h5", "-o", "x.docx"], "x.docx must end in one of .png"),
        (["report", "nope.h5"], "nope.h5"),
        (["report", "small.yaml"], "small.yaml is not an HDF5 file"),
        (["report", "small.yaml", "-o", "x.pdf"], "x.pdf must end in one of .html"),
        (["report", "."], "a folder that `validate --report` wrote has report.json and index.html; . has not"),
        (["report", ""], "must be the name of a file"),
        (["cite", "nope.h5"], "nope.h5"),
        (["examples", "noisy-kuramotto"], "did you mean 'noisy-kuramoto'?"),
        (["list", "geometri"], "'geometri' is not one of"),
        (["validate", "mobius"], "did you mean 'moebius'?"),
        (["validate", "moebius", "--report", "small.yaml"], "cannot write to small.yaml"),
    ],
)
def test_bad_input_is_exit_2_and_a_sentence(arguments, message, mfpde, here):
    result = mfpde(*arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert sorted(path.name for path in here.iterdir()) == ["small.yaml"]


def test_what_solving_finds_has_the_lines_of_the_file(mfpde, monkeypatch):
    def refuse(*arguments, **options):
        raise ProblemError.at("noise.kappa", "is not to my taste")

    monkeypatch.setattr("mfpde.run_loop.solve", refuse)
    result = mfpde("solve", "small.yaml")
    assert (result.exit_code, result.stderr) == (2, "small.yaml:4:20: noise.kappa: is not to my taste\n")


def test_an_internal_error_is_70_and_one_line(mfpde, monkeypatch):
    def stumble(*arguments, **options):
        raise ZeroDivisionError("nobody thought of this")

    monkeypatch.setattr("mfpde.run_loop.solve", stumble)
    monkeypatch.delenv("MFPDE_DEBUG", raising=False)
    result = mfpde("solve", "small.yaml")
    assert result.exit_code == 70
    assert result.stderr.startswith(
        "internal error: ZeroDivisionError: nobody thought of this (this is a mistake in mfpde"
    )
    assert len(result.stderr.splitlines()) == 1
    monkeypatch.setenv("MFPDE_DEBUG", "1")
    assert "Traceback" in mfpde("solve", "small.yaml").stderr


def test_any_error_of_mfpdes_own_is_bad_input(mfpde, monkeypatch):
    def refuse(*arguments, **options):
        raise MfpdeError("no")

    monkeypatch.setattr("mfpde.run_loop.solve", refuse)
    result = mfpde("solve", "small.yaml")
    assert (result.exit_code, result.stderr) == (2, "no\n")


def test_check_tells_how_slowly_coefficients_fall(mfpde, tmp_path):
    text = "geometry: {kind: sphere}\nnoise: {kappa: 3}\ninitial: {kind: uniform}\ntime: {until: 1}\n"
    for name, law in (("kinked", "-sqrt(1 - cosine**2)"), ("smooth", "cosine**2")):
        (tmp_path / f"{name}.yaml").write_text(f"{text}interaction: {{expression: {law}}}\n", encoding="utf-8")
    result = mfpde("check", "kinked.yaml", "smooth.yaml")
    assert result.exit_code == 0
    (told,) = [line for line in result.stdout.splitlines() if "coefficients" in line]
    assert told.startswith("kinked.yaml: ")
    assert "fall like k^-3, and 512 of them leave 9e-06 of W" in told


def test_check_and_solve_tell_the_same_of_a_box(mfpde, tmp_path, caplog):
    text = (
        "geometry: {kind: line}\nattention: {kind: softmax, A: 1, V: -1}\nnoise: {kappa: 4}\n"
        "initial: {kind: gaussian, mean: 0, covariance: 0.01}\ntime: {until: 0.1}\n"
        "solver: {kind: finite-volume, cells: 64, tolerance: 1e-4, box: [[-%s, %s]]}\n"
    )
    for name, side in (("left", 0.8), ("cut", 0.5)):
        (tmp_path / f"{name}.yaml").write_text(text % (side, side), encoding="utf-8")
    checked, solved = mfpde("check", "left.yaml"), mfpde("solve", "left.yaml", "--quiet")
    assert checked.exit_code == solved.exit_code == 0
    (told,) = [line.removeprefix("left.yaml: ") for line in checked.stdout.splitlines() if "walls" in line]
    assert "before t = 0.1; without walls they need [[-1.4" in told  # six times sqrt(0.01 + 0.1 / 2), less attraction
    assert told in caplog.text
    for verb in ("check", "solve"):  # six and a half deviations hold all but 1e-10
        result = mfpde(verb, "cut.yaml")
        assert (result.exit_code, "cut.yaml:6:" in result.stderr) == (2, True)
        assert "solver.box: cuts off initial data; it has to hold at least [[-0.6467, 0.6467]]" in result.stderr
