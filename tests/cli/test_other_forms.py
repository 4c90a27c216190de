"""The command line with runs that are no densities on the circle: outcomes, comparisons, sizes."""

import json
import re
from pathlib import Path

import pytest

GAUSSIAN = """\
title: on its way to zero
geometry:  {kind: plane}
attention: {kind: softmax, A: 1, V: -1}
initial:   {kind: gaussian, mean: [0.5, 0], covariance: 0.5}
solver:    {kind: gaussian}
time:      {until: 1, save_every: 0.25}
observe:   [mean, covariance]
"""


@pytest.fixture
def gaussian(mfpde) -> Path:
    Path("gaussian.yaml").write_text(GAUSSIAN)
    assert mfpde("solve", "gaussian.yaml", "--quiet").exit_code == 0
    return Path("gaussian.h5")


def test_what_a_gaussian_run_is(gaussian, mfpde):
    told = mfpde("info", str(gaussian)).stdout
    assert "outcome   finished at t = 1" in told
    assert "snapshot  gaussian_mean, gaussian_covariance" in told
    data = json.loads(mfpde("info", str(gaussian), "--json").stdout)
    assert data["form"] == "gaussian"
    assert data["grid"] == {}
    assert data["last"]["covariance-eigenvalues"] == pytest.approx([0.25, 0.25])
    assert data["comparison"] is None
    assert mfpde("plot", str(gaussian), "-o", "gaussian.png").exit_code == 0
    assert Path("gaussian.png").stat().st_size > 10_000


def test_a_blow_up_is_exit_3(mfpde):
    Path("up.yaml").write_text(GAUSSIAN.replace("V: -1", "V: 1").replace("until: 1,", "until: 2,"))
    result = mfpde("solve", "up.yaml")
    assert result.exit_code == 3
    told = re.search(r"blow-up at t = (\S+) \+- (\S+):", result.stdout)
    assert abs(float(told[1]) - 1) <= float(told[2])
    outcome = json.loads(mfpde("info", "up.h5", "--json").stdout)["outcome"]
    assert outcome["kind"] == "blow-up"
    assert outcome["time"] == pytest.approx(1, abs=1e-10)
    assert 0 < outcome["uncertainty"] < 1e-8
    assert not outcome["complete"]


@pytest.mark.parametrize(("tolerance", "code"), [(1e-6, 0), (1e-300, 1)])
def test_a_comparison_decides_the_exit_code(mfpde, tolerance, code):
    compare = f"compare: {{kind: characteristics, distance: covariance, tolerance: {tolerance}}}\n"
    Path("compared.yaml").write_text(GAUSSIAN + compare)
    result = mfpde("solve", "compared.yaml")
    assert result.exit_code == code
    verdict = "ok: " if code == 0 else "FAILED: "
    assert f"compared   {verdict}covariance distance" in result.stdout
    assert ("check failed: covariance distance from characteristics" in result.stderr) == (code == 1)
    comparison = json.loads(mfpde("info", "compared.h5", "--json").stdout)["comparison"]
    assert comparison["passed"] == (code == 0)
    assert comparison["worst"] < 1e-6


def test_what_does_not_fit_has_its_line(mfpde):
    wrong = GAUSSIAN.replace("[mean, covariance]", "[mean, order-parameter, clusters]")
    Path("wrong.yaml").write_text(wrong + "compare: {kind: gaussian-closed-form}\n")
    told = mfpde("check", "wrong.yaml").stderr.splitlines()
    assert [line.partition(" ")[0] for line in told] == [
        "wrong.yaml:7:19:",
        "wrong.yaml:7:36:",
        "wrong.yaml:8:1:",
        "wrong.yaml:",
    ]
    words = "order-parameter cannot be observed here: it is made for the circle and the sphere, not for the plane"
    assert told[0].endswith(words)
    assert told[1].endswith("it looks at a density on a grid or particles, and the gaussian solver shows a Gaussian")
    assert told[2].endswith("the l1 distance needs a density on a grid, and the gaussian solver shows none")
