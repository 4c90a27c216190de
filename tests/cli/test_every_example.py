"""Every shipped example goes through every command."""

import json
from pathlib import Path

import numpy as np
import pytest
from unit.sweeping.here import Here

SHIPPED = sorted((Path(__file__).resolve().parents[2] / "mfpde" / "examples").glob("*.yaml"))
SWEEPS = [path for path in SHIPPED if path.stem.startswith("sweep-")]
EXAMPLES = [path for path in SHIPPED if path not in SWEEPS]
#: a few points of each sweep, and less work at each
THINNED = {
    "sweep-kuramoto": ["sweep.noise.kappa.count=3", "time.until=10"],
    "sweep-stationary": ["sweep.attention.beta.count=2"],
    "sweep-transformer": ["sweep.attention.beta.count=2", "sweep.noise.kappa.count=5", "time.until=2"],
    "sweep-merging": [
        "sweep.attention.beta.count=2",
        "sweep.geometry.dimension=[8, 16]",
        "solver.copies=2",
        "time.until=3",
    ],
}
#: times the end, of runs that are resumed
LATER = 1.05
#: times the end, of the first run and of what is validated: tests/docs/test_examples.py runs each to its end
EARLIER = 0.25
#: the same where tokens cross kinks of the force all the time, and steps are short
EARLIER_OF = {"hegselmann-krause": 0.05}
#: snapshots after the first: movies stay short
SNAPSHOTS = 3
#: what `plot` writes, and how such files begin
FILES = {"run.png": b"\x89PNG", "run.gif": b"GIF89a", "run.pdf": b"%PDF"}
#: a density and tokens, in every format; of the others a PNG: tests/unit/plotting draws and moves every form of run
PRINTED = {"noisy-kuramoto", "sphere-tokens"}
#: one of each form of run has a report: its figure has the pictures that `plot` draws of all
REPORTED = {*PRINTED, "blow-up", "characteristics", "gaussian-contraction", "gaussian-limits", "sphere-clusters"}
#: half a minute each, harmonics of all degrees on the sphere; and four seconds each, where others have the same form
SLOW = ("maier-saupe", "onsager", "keller-segel", "opinions", "repulsion", "square")


def _timed(path: Path):
    """The slow ones are for the long tests."""
    return pytest.param(path, marks=pytest.mark.long if path.stem in SLOW else ())


def settings(until: float, earlier: float) -> list[str]:
    """The example up to a time, with few snapshots up to an earlier one."""
    changes = [f"time.save_every={earlier / SNAPSHOTS!r}", f"time.until={until!r}"]
    return [part for change in changes for part in ("--set", change)]


@pytest.mark.parametrize("path", [_timed(path) for path in EXAMPLES], ids=lambda path: path.stem)
def test_an_example_goes_through_every_command(path, mfpde, tmp_path):
    import mfpde as package

    problem = package.Problem.from_yaml(path)
    blows_up = path.stem == "blow-up"
    earlier = EARLIER_OF.get(path.stem, EARLIER) * problem.time.until
    until = problem.time.until if blows_up else earlier

    def run(*arguments: str, code: int = 0) -> str:
        result = mfpde(*arguments)
        assert result.exit_code == code, f"{' '.join(arguments)}: {result.output}"
        return result.stdout

    run("check", str(path))
    run("solve", str(path), "-o", "run.h5", *settings(until, earlier), "--quiet", code=3 if blows_up else 0)
    told = run("info", "run.h5")
    assert problem.title in told
    data = json.loads(run("info", "run.h5", "--json"))
    assert data["outcome"]["complete"] is not blows_up
    assert (data["outcome"]["kind"] == "blow-up") is blows_up
    assert "@" in run("cite", "run.h5")
    for name, start in FILES.items():
        if name == "run.png" or path.stem in PRINTED:
            run("plot", "run.h5", "-o", name)
            assert (tmp_path / name).read_bytes().startswith(start)
    check_datasets(package.load("run.h5"))

    run("solve", str(path), "-o", "run.h5", "--resume", *settings(LATER * until, earlier), code=3 if blows_up else 0)
    later = package.load("run.h5")
    assert later.times[-1] == pytest.approx(LATER * until) or later.outcome.kind in ("steady", "blow-up")

    shorter = {**problem.canonical(), "time": {**problem.canonical()["time"], "until": until}}
    (tmp_path / path.name).write_text(package.Problem.from_dict(shorter).to_yaml(), encoding="utf-8")
    reported = ("--report", "report") if path.stem in REPORTED else ()
    table = run("validate", path.name, "--quick", "--no-limit", *reported)
    assert "FAILED" not in table
    assert table.count("\nok") >= 4
    if reported:
        assert table.count("\nok") == len(json.loads((tmp_path / "report/report.json").read_text())["checks"])
        assert (tmp_path / f"report/{path.stem}.png").stat().st_size > 20_000
        assert "data:image/png;base64," in (tmp_path / "report/index.html").read_text()


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_a_sweep_goes_through_every_command(path, mfpde, tmp_path, monkeypatch):
    import mfpde as package

    monkeypatch.setattr("mfpde.sweeping.running._workers", lambda *_: Here())
    thinned = [part for change in THINNED[path.stem] for part in ("--set", change)]
    assert "points can be solved" in mfpde("check", str(path)).stdout
    done = mfpde("sweep", str(path), "-o", "sweep.h5", *thinned, "--quiet")
    assert done.exit_code == 0, done.output
    found = package.load("sweep.h5")
    assert all(np.isfinite(found[name]).any() for name in found.names)
    assert set(found["outcome"].reshape(-1)) <= {"finished", "steady"}
    assert found.problem.title in mfpde("info", "sweep.h5").stdout
    assert "@" in mfpde("cite", "sweep.h5").stdout
    for name, start in (("sweep.png", b"\x89PNG"), ("sweep.pdf", b"%PDF")):
        assert mfpde("plot", "sweep.h5", "-o", name).exit_code == 0
        assert (tmp_path / name).read_bytes().startswith(start)
    check_datasets(found)
    assert mfpde("sweep", str(path), "-o", "sweep.h5", *thinned, "--resume", "--quiet").exit_code == 0


def check_datasets(run) -> None:
    """The file as any HDF5 tool reads it and the dataset from Python hold the same."""
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(run.path, engine="h5netcdf") as file:
        mine = run.to_xarray()
        assert set(mine.data_vars) <= set(file.variables)
        for name in mine.data_vars:
            theirs = np.asarray(file[name])
            theirs = np.char.decode(theirs) if theirs.dtype.kind == "S" else theirs
            np.testing.assert_array_equal(theirs, np.asarray(mine[name]), err_msg=name)


def test_the_examples_are_found():
    assert {"noisy-kuramoto", *REPORTED, *SLOW} <= {path.stem for path in EXAMPLES}
