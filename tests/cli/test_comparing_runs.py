"""`mfpde compare`: two runs at the times that both have saved."""

import itertools
import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

import mfpde as package
from mfpde.comparing.runs import compare_runs

FLAT = """\
geometry:  {kind: SPACE}
attention: {kind: softmax, A: 1, V: -1}
initial:   {kind: gaussian, mean: MEAN, covariance: 0.5}
solver:    {kind: SOLVER}
time:      {until: 0.25, save_every: 0.25}
"""


@pytest.fixture
def solve(mfpde):
    def run(name, text, *settings):
        Path(f"{name}.yaml").write_text(text)
        result = mfpde("solve", f"{name}.yaml", "--quiet", *(part for each in settings for part in ("--set", each)))
        assert result.exit_code == 0, result.output
        return f"{name}.h5"

    return run


def text_of(space, solver):
    return FLAT.replace("SPACE", space).replace("SOLVER", solver).replace("MEAN", "1" if space == "line" else "[1, 0]")


def test_a_run_is_at_no_distance_from_itself(solved, mfpde):
    result = mfpde("compare", str(solved), str(solved), "--tolerance", "1e-12")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["time", "wasserstein-2", "distance"]
    assert [line.split()[0] for line in lines[1:4]] == ["0", "0.5", "1"]
    assert lines[4].startswith("largest: ")
    assert len(lines) == 5


def test_other_times_are_left_out(solved, mfpde, solve):
    """The order parameter of noise alone falls like e^{-t/kappa}: W_1 is 4 / pi times its difference."""
    other = solve("other", Path("small.yaml").read_text(), "time.save_every=0.25", "attention.beta=0", "noise.kappa=8")
    result = mfpde("compare", str(solved), other, "--kind", "wasserstein-1", "--json")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert told["times"] == [0, 0.5, 1]
    assert told["snapshots"] == [3, 5]
    runs = [package.load(path) for path in (solved, other)]
    radii = [run["order-parameter"] for run in runs]
    expected = 4 / np.pi * np.abs(radii[0] - radii[1][::2])
    np.testing.assert_allclose(told["distances"], expected, atol=2e-4)
    assert told["largest"] == {"distance": max(told["distances"]), "time": 1}
    assert told["passed"] is True
    assert "common times: 3 of 3 and 5 snapshots" in mfpde("compare", str(solved), other).stdout


def test_too_far_is_exit_1(solved, mfpde, solve):
    other = solve("other", Path("small.yaml").read_text(), "noise.kappa=8")
    result = mfpde("compare", str(solved), other, "--tolerance", "1e-6")
    assert result.exit_code == 1
    assert "\ncheck failed: wasserstein-2 distance " in "\n" + result.stderr  # cold kernels are told of before
    assert result.stderr.rstrip().endswith(" at t = 1; 1e-06 allowed")


@pytest.mark.parametrize(("space", "allowed"), [("line", 1e-6), ("plane", 0.1)])
def test_every_pair_of_solvers(space, allowed, solve):
    """The law stays Gaussian, and every solver has it; in the plane densities are taken at points,
    some 0.3 apart along characteristics."""
    runs = [
        package.load(solve(solver, text_of(space, solver)))
        for solver in ("gaussian", "finite-volume", "characteristics")
    ]
    for one, other in itertools.combinations(runs, 2):
        found = compare_runs(one, other)
        assert found.times.tolist() == [0, 0.25]
        assert found.worst[0] < allowed


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.h5"], "there is no file nowhere.h5"),
        (["small.yaml"], "small.yaml is not an HDF5 file"),
        (["small.h5", "--kind", "wasserstein"], "no distance is called 'wasserstein'"),
        (["small.h5", "--kind", "conditional-wasserstein"], "needs positions"),
        (["line.h5"], "the first run is on the circle, the second on the line: no distance"),
    ],
)
def test_one_sentence(solved, mfpde, solve, said, arguments, told):
    solve("line", text_of("line", "gaussian"))
    result = mfpde("compare", "small.h5", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = said(result.stderr)
    assert told in line


def test_what_is_no_run_is_told_by_its_kind(solved, mfpde):
    shutil.copy(solved, "phases.h5")
    with h5py.File("phases.h5", "r+") as file:
        file.attrs["mfpde_kind"] = "sweep"
    result = mfpde("compare", "small.h5", "phases.h5")
    assert (result.exit_code, result.stderr) == (2, "phases.h5 holds a sweep, not a run\n")


def test_a_damaged_file_is_exit_2(solved, mfpde):
    data = bytearray(solved.read_bytes())
    Path("damaged.h5").write_bytes(data[: len(data) // 2])
    result = mfpde("compare", "small.h5", "damaged.h5")
    assert (result.exit_code, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert "damaged.h5" in result.stderr
