"""A flipped bit is noticed by whatever reads it, and a resumed run makes anew what is damaged."""

import logging
import os
import traceback
from collections import Counter
from pathlib import Path

import h5py
import numpy as np
import pytest
from store import drifting
from store.flips import everything, flipped, outcomes
from store.heat import Heat, problem, solve
from store.processes import assert_same

import mfpde
from mfpde.errors import MfpdeError, ResumeError
from mfpde.store.writer import FileRecorder

EVERY_ROW = {"until": 2.0, "save_every": 0.1}


@pytest.fixture
def path(tmp_path):
    solve(problem(), tmp_path / "run.h5")
    return tmp_path / "run.h5"


def silent(found: Counter[str]) -> list[str]:
    return [kind for kind in found if kind not in ("same", "told")]


@pytest.mark.parametrize("form", drifting.FORMS)
def test_no_flip_is_silent(tmp_path, form):
    task = drifting.problem(observe=["mean"], observe_every=0.07)
    drifting.solve(task, tmp_path / "run.h5", drifting.Drift(form))
    found = outcomes(tmp_path / "run.h5", tmp_path, 60, seed=1)
    assert silent(found) == []
    assert found["told"] >= 1


def test_without_checksums_flips_are_silent(path, tmp_path):
    """What the other tests would find if nobody checked."""
    with h5py.File(path, "r+") as file:
        del file["checksum"]
        del file.attrs["mfpde_checksums"]
    assert len(silent(outcomes(path, tmp_path, 150, seed=1))) >= 3


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("density", (17, 3), r"run.h5 is damaged: density at row 17 \(t = 1.7\) is not what was written"),
        ("mass", 4, r"mass at row 4 \(t = 0.4\)"),
        ("modes-sine", (20, 2), r"modes-sine at row 20 \(t = 2\)"),
        ("time", 9, "time at row 9"),
        ("theta", 5, "theta is not"),
        ("theta_bounds", (5, 1), "theta is not"),
        ("weight", 5, "weight is not"),
    ],
)
def test_what_is_damaged_is_named(path, name, row, message):
    with h5py.File(path, "r+") as file:
        file[name][row] = np.nextafter(file[name][row], 10)
    with pytest.raises(MfpdeError, match=message):
        everything(mfpde.load(path))


def test_other_rows_can_still_be_read(path):
    whole = mfpde.load(path).density
    with h5py.File(path, "r+") as file:
        file["density"][17, 3] += 1
    run = mfpde.load(path)
    np.testing.assert_array_equal(run.stored["density"][16], whole[16])
    np.testing.assert_allclose(run.measure(-1).on_grid(32), whole[-1], atol=1e-15)
    for look in (lambda: run.stored["density"][17], lambda: run.density, lambda: run.measure(17), run.to_xarray):
        with pytest.raises(MfpdeError, match="density at row 17"):
            look()


@pytest.mark.parametrize("last", [np.nan, 1e300])
def test_the_last_time_of_a_killed_run(tmp_path, monkeypatch, last):
    """A row whose time is gone counts as never written, where nobody knows better."""
    path = tmp_path / "run.h5"
    monkeypatch.setattr(FileRecorder, "finish", lambda recorder, *_: recorder.abandon())
    monkeypatch.setattr(FileRecorder, "_due", lambda _: True)
    solve(problem(), path)
    rows = len(mfpde.load(path).times)
    with h5py.File(path, "r+") as file:
        file["time"][rows - 1] = last
    with pytest.raises(MfpdeError, match=f"time at row {rows - 1}"):
        mfpde.load(path)


@pytest.mark.parametrize(
    ("name", "row", "since"),
    [
        *[("density", (3, 3), 0.0), ("density", (17, 3), 1.0), ("mass", 20, 1.0)],
        *[("time", 20, 1.0), ("time", 0, 0.0), ("checksum/end", 30, 2.0)],
    ],
)
def test_resuming_a_damaged_run(tmp_path, monkeypatch, caplog, name, row, since):
    path, whole = tmp_path / "run.h5", solve(problem(), None)
    monkeypatch.setattr(FileRecorder, "_due", lambda recorder: len(recorder._waiting) > 9)
    solve(problem(), path)
    with h5py.File(path, "r+") as file:
        file[name][row] += 1
    damaged = path.read_bytes()
    with caplog.at_level(logging.WARNING, "mfpde"):
        run = solve(problem(), path, resume=True)
    assert run.outcome == "finished"
    assert_same(run, whole)
    assert_same(mfpde.load(path), whole)
    (said,) = [record.getMessage() for record in caplog.records]
    assert "is damaged" in said
    assert f"everything after t = {since:g} is made anew" in said
    assert (tmp_path / "run.damaged.h5").read_bytes() == damaged
    with h5py.File(path) as file:
        assert said in file.attrs["history"]
    assert_same(solve(problem(), path, resume=True), whole)  # nothing is left to be done
    assert len(caplog.records) == 1


def test_resuming_without_a_whole_checkpoint(path, tmp_path, caplog):
    with h5py.File(path, "r+") as file:
        for name in ("0", "1"):
            file[f"checkpoint/{name}/modes"][0] = 17
    assert len(mfpde.load(path).times) == 21
    with caplog.at_level(logging.WARNING, "mfpde"):
        run = solve(problem(until=3, save_every=0.1), path, resume=True)
    assert_same(run, solve(problem(until=3, save_every=0.1), None))
    assert "holds no whole checkpoint; everything after t = 0 is made anew" in caplog.text


@pytest.mark.parametrize("name", ["theta", "weight", "checksum/header"])
def test_what_describes_a_run_has_to_be_whole(path, name):
    with h5py.File(path, "r+") as file:
        file[name][7] += 1
    before = path.read_bytes()
    with pytest.raises(ResumeError, match=r"cannot resume: .*run.h5 is damaged: \w+"):
        solve(problem(until=3, save_every=0.1), path, resume=True)
    assert path.read_bytes() == before


def resumed(task: mfpde.Problem, path: Path, whole: mfpde.Run) -> str:
    """How it went, in a process of its own."""
    child = os.fork()
    if child == 0:
        code = 2
        try:
            assert_same(solve(task, path, resume=True), whole)
            code = 0
        except MfpdeError as error:
            code = 1 if "\n" not in str(error) else 2
        except BaseException:  # noqa: BLE001  whatever it is, it is told
            traceback.print_exc()
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    return {0: "went on", 256: "refused"}.get(status, "crashed" if os.WIFSIGNALED(status) else "wrong")


def test_resuming_after_any_flip(tmp_path):
    """Nothing wrong ever comes out. HDF5 itself may fall over when it writes to a file whose trees are damaged: once in
    some 700 flips."""
    path, task = tmp_path / "run.h5", problem(**EVERY_ROW)
    solve(task, path, Heat(lost=1.05))
    whole, place = solve(task, None), tmp_path / "flipped.h5"
    kinds = Counter(resumed(task, place, whole) for _ in flipped(path.read_bytes(), place, 60, seed=2))
    assert kinds["wrong"] == 0
    assert kinds["crashed"] <= 1
    assert kinds["went on"] >= 30


@pytest.mark.parametrize("until", [2.0, 3.0])
def test_files_of_before_there_were_checksums(tmp_path, until):
    path = tmp_path / "run.h5"
    solve(problem(), path, Heat(lost=1.05))
    with h5py.File(path, "r+") as file:
        del file["checksum"]
        del file.attrs["mfpde_checksums"]
    assert len(mfpde.load(path).times) == 11
    task = problem(until=until, save_every=0.1)
    assert_same(solve(task, path, resume=True), solve(task, None))
    with h5py.File(path, "r+") as file:
        file["density"][17, 3] += 1
    with pytest.raises(MfpdeError, match="density at row 17"):
        _ = mfpde.load(path).density


def test_checksums_that_are_gone_are_missed(path):
    with h5py.File(path, "r+") as file:
        del file["checksum"]
    with pytest.raises(MfpdeError, match="is damaged"):
        mfpde.load(path)


@pytest.mark.long
@pytest.mark.parametrize("form", drifting.FORMS)
def test_flip_campaign(tmp_path, form):
    task = drifting.problem(2, observe=["mean"])
    drifting.solve(task, tmp_path / "run.h5", drifting.Drift(form))
    assert silent(outcomes(tmp_path / "run.h5", tmp_path, 1000, seed=5)) == []
