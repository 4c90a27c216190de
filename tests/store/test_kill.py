"""kill -9 at random moments: the file opens, holds every committed row, and a resumed run ends in the same bits."""

import signal
import time
from pathlib import Path

import numpy as np
import pytest
from store.heat import Heat, problem, solve
from store.kills import campaign
from store.processes import assert_same, kill, start, wait_for

import mfpde
from mfpde.watching import read_status

FINER = (0.7, 1.3)
BLOCK = {"until": 4, "save_every": 0.02, "observe_every": 0.05}
WORDS = ["until=4", "save_every=0.02", "observe_every=0.05", "finer1=0.7", "finer2=1.3", "seconds=0.004"]


def chain(path: Path, dice: np.random.Generator, kills: int) -> int:
    """Start, kill, resume, kill, ...; then resume to the end. Returns how many kills came while it ran."""
    whole = solve(problem(**BLOCK), None, Heat(finer=FINER))
    hits, rows = 0, 0
    for number in range(kills):
        process = start(path, *WORDS, *(["--resume"] if number else []))
        # its status comes first, and the file has its name once it is whole
        while (read_status(path) or {}).get("pid") != process.pid or not path.exists():
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.002)
        time.sleep(dice.uniform(0.0, 0.25))
        running = process.poll() is None
        kill(process, signal.SIGKILL)
        hits += running
        run = mfpde.load(path)
        assert len(run.times) >= rows, "a committed row is gone"
        rows = len(run.times)
        np.testing.assert_array_equal(run.times, whole.times[:rows])
        np.testing.assert_array_equal(run.series_times, whole.series_times[: len(run.series_times)])
        np.testing.assert_array_equal(run["mass"], whole["mass"][: len(run.series_times)])
    solve(problem(**BLOCK), path, Heat(finer=FINER), resume=True)
    assert_same(mfpde.load(path), whole)
    return hits


@pytest.mark.slow
def test_killed_again_and_again(tmp_path):
    assert chain(tmp_path / "run.h5", np.random.default_rng(0), 3) >= 1


@pytest.mark.slow
def test_a_killed_run_says_so_and_xarray_opens_it(tmp_path):
    import xarray

    path = tmp_path / "run.h5"
    process = start(path, "until=50", "seconds=0.001", "save_every=0.1")
    wait_for(path, process)
    time.sleep(0.4)
    with pytest.raises(mfpde.MfpdeError, match="under way; `mfpde info"):
        mfpde.load(path)
    kill(process)
    run = mfpde.load(path)
    assert run.outcome.kind == "interrupted"
    assert "killed" in run.outcome.message
    with xarray.open_dataset(path, engine="h5netcdf") as dataset:
        times = dataset.time.values
    np.testing.assert_array_equal(times[np.isfinite(times)], run.times)


@pytest.mark.slow
def test_a_writer_that_commits_every_row(tmp_path):
    assert campaign(tmp_path, 10, seed=4)["rows looked at"] > 10


@pytest.mark.long
def test_a_thousand_kills(tmp_path):
    assert campaign(tmp_path, 1000, seed=5)["rows looked at"] > 1000


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 130))
def test_kill_campaign(tmp_path, seed):
    chain(tmp_path / "run.h5", np.random.default_rng(seed), 8)
