"""A disk that fills up: before the first step an error and nothing left behind, later an outcome and nothing lost."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from store.heat import Heat, problem, solve
from store.processes import assert_same, ended, start

import mfpde
from mfpde.errors import OutputError, ResumeError

LIMIT = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes}, {bytes}))
"""
WORDS = ["until=30", "save_every=0.05", "points=256", "seconds=0.001"]
TASK = {"until": 30, "save_every": 0.05}


@pytest.fixture
def small_disk(tmp_path) -> Path:
    """A file system of 300 kB. Only root may make one."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot mount a small file system here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def check_failed(path: Path, words: list[str], reason: str) -> mfpde.Run:
    kind, time, rows, message = words
    assert kind == "output failed"
    assert reason in message
    run = mfpde.load(path)
    assert run.outcome.kind == "output failed"
    assert run.outcome.time == run.times[-1] == float(time)
    assert len(run.times) == int(rows)
    whole = solve(problem(**TASK), None, Heat(points=256))
    np.testing.assert_array_equal(run.density, whole.density[: len(run.times)])
    np.testing.assert_array_equal(run["mass"], whole["mass"][: len(run.times)])
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    return whole


@pytest.mark.slow
@pytest.mark.parametrize("size", [190_123, pytest.param(191_111, marks=pytest.mark.long), 340_000])
def test_largest_size_reached_while_running(tmp_path, size):
    path = tmp_path / "run.h5"
    words = ended(start(path, *WORDS, before=LIMIT.format(bytes=size)))
    whole = check_failed(path, words, "largest size")
    assert path.stat().st_size <= size  # how far below depends on how much one commit wanted to add
    solve(problem(**TASK), path, Heat(points=256), resume=True)
    assert_same(mfpde.load(path), whole)


def test_largest_size_reached_before_the_first_step(tmp_path):
    for size in (0, 5000, 40_000):
        process = start(tmp_path / "run.h5", *WORDS, before=LIMIT.format(bytes=size))
        error = process.communicate(timeout=60)[1].strip().splitlines()[-1]
        assert process.returncode == 1
        assert "OutputError: cannot write" in error
        assert list(tmp_path.iterdir()) == []


def test_full_disk_while_running(small_disk, tmp_path):
    path = small_disk / "run.h5"
    run = solve(problem(**TASK), path, Heat(points=256))
    words = [run.outcome.kind, str(run.outcome.time), str(len(run.times)), str(run.outcome)]
    whole = check_failed(path, words, "the disk is full")
    moved = tmp_path / "moved.h5"
    moved.write_bytes(path.read_bytes())
    solve(problem(**TASK), moved, Heat(points=256), resume=True)
    assert_same(mfpde.load(moved), whole)


def test_full_disk_while_the_grid_is_refined(small_disk):
    path = small_disk / "run.h5"
    settings = Heat(points=256, finer=(3.0,))
    run = solve(problem(**TASK), path, settings)
    assert run.outcome.kind == "output failed"
    assert run.density.shape == (60, 256)  # the rows before, on the grid they were made on
    assert [one.name for one in small_disk.iterdir()] == ["run.h5"]


def test_full_disk_before_the_first_step(small_disk):
    (small_disk / "ballast").write_bytes(bytes(290_000))
    with pytest.raises(OutputError, match=r"cannot write .*run.h5: the disk is full$"):
        solve(problem(**TASK), small_disk / "run.h5", Heat(points=256))
    assert [one.name for one in small_disk.iterdir()] == ["ballast"]


def test_full_disk_while_resuming(small_disk):
    """There has to be room for the file that is made anew; the earlier one is left as it was."""
    path = small_disk / "run.h5"
    solve(problem(**TASK), path, Heat(points=256, lost=5.0))
    before = path.read_bytes()
    with pytest.raises(ResumeError, match=r"cannot resume .*run.h5: the disk is full$"):
        solve(problem(**TASK), path, Heat(points=256), resume=True)
    assert path.read_bytes() == before
    assert [one.name for one in small_disk.iterdir()] == ["run.h5"]


def test_an_error_of_the_disk_while_overwriting(tmp_path, monkeypatch):
    """EIO on a write inside the committed part: nothing can be promised but that the run ends with an outcome."""
    from mfpde.store.transaction import Transaction

    count = 0
    put = Transaction._put

    def failing(disk, offset, piece):
        nonlocal count
        count += 1
        if count == 400:
            raise OSError(5, "Input/output error")
        put(disk, offset, piece)

    monkeypatch.setattr(Transaction, "_put", failing)
    monkeypatch.setattr("mfpde.store.writer.FileRecorder._due", lambda _: True)
    run = solve(problem(), tmp_path / "run.h5")
    assert run.outcome.kind == "output failed"
    assert "input/output error" in run.outcome.message
    assert run.outcome.time == run.times[-1]
