"""Every shipped example goes through every command."""

import json
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "mfpde" / "examples").glob("*.yaml"))
#: times the end, of runs that are resumed
LATER = 1.05
#: snapshots after the first: movies stay short
SNAPSHOTS = 6
#: what `plot` writes, and how such files begin
FILES = {"run.png": b"\x89PNG", "run.gif": b"GIF89a", "run.pdf": b"%PDF"}
#: one of every kind of figure: a PDF takes a second
PRINTED = {"noisy-kuramoto", "two-bumps", "square", "sphere-clusters", "sphere-tokens", "gaussian-limits"}
#: half a minute each: harmonics of all degrees on the sphere
SLOW = ("maier-saupe", "onsager")


def _timed(path: Path):
    """The slow ones are for the long tests."""
    return pytest.param(path, marks=pytest.mark.long if path.stem in SLOW else ())


def settings(problem, until: float) -> list[str]:
    """The example as it is, with few snapshots."""
    changes = [f"time.save_every={problem.time.until / SNAPSHOTS!r}", f"time.until={until!r}"]
    return [part for change in changes for part in ("--set", change)]


@pytest.mark.parametrize("path", [_timed(path) for path in EXAMPLES], ids=lambda path: path.stem)
def test_an_example_goes_through_every_command(path, mfpde, tmp_path):
    import mfpde as package

    problem = package.Problem.from_yaml(path)
    until, blows_up = problem.time.until, path.stem == "blow-up"

    def run(*arguments: str, code: int = 0) -> str:
        result = mfpde(*arguments)
        assert result.exit_code == code, f"{' '.join(arguments)}: {result.output}"
        return result.stdout

    run("check", str(path))
    run("solve", str(path), "-o", "run.h5", *settings(problem, until), "--quiet", code=3 if blows_up else 0)
    told = run("info", "run.h5")
    assert problem.title in told
    data = json.loads(run("info", "run.h5", "--json"))
    assert data["outcome"]["complete"] is not blows_up
    assert (data["outcome"]["kind"] == "blow-up") is blows_up
    assert "@" in run("cite", "run.h5")
    for name, start in FILES.items():
        if name != "run.pdf" or path.stem in PRINTED:
            run("plot", "run.h5", "-o", name)
            assert (tmp_path / name).read_bytes().startswith(start)
    check_datasets(package.load("run.h5"))

    run("solve", str(path), "-o", "run.h5", "--resume", *settings(problem, LATER * until), code=3 if blows_up else 0)
    later = package.load("run.h5")
    assert later.times[-1] == pytest.approx(LATER * until) or later.outcome.kind in ("steady", "blow-up")

    table = run("validate", str(path), "--quick", "--no-limit", "--report", "report")
    assert "FAILED" not in table
    assert table.count("\nok") == len(json.loads((tmp_path / "report/report.json").read_text())["checks"]) >= 4
    assert (tmp_path / f"report/{path.stem}.png").stat().st_size > 20_000
    assert "data:image/png;base64," in (tmp_path / "report/index.html").read_text()


def check_datasets(run) -> None:
    """The file as any HDF5 tool reads it and the dataset from Python hold the same."""
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(run.path, engine="h5netcdf") as file:
        mine = run.to_xarray()
        assert set(mine.data_vars) <= set(file.variables)
        for name in mine.data_vars:
            np.testing.assert_array_equal(np.asarray(file[name]), np.asarray(mine[name]), err_msg=name)


def test_the_examples_are_found():
    assert {"blow-up", "characteristics", "noisy-kuramoto", *PRINTED, *SLOW} <= {path.stem for path in EXAMPLES}
