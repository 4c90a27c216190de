"""Sweeps on a real Dask cluster on loopback: the bits of the pool, workers that die, a scheduler that goes away."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from store.processes import ROOT
from store.test_sweeps import PROBLEM, finished_points, wait_for

import mfpde

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
POINTS = 400


class Dask:
    """A scheduler, and workers of one thread, as processes of their own."""

    def __init__(self, folder) -> None:
        self.file, self.processes = folder / "scheduler.json", []
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        wait_for(self.file.exists)
        self.address = json.loads(self.file.read_text())["address"]

    def worker(self) -> subprocess.Popen[bytes]:
        return self._start("worker", "--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", "--no-nanny")

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", kind, "--scheduler-file", str(self.file), *options]
        surroundings = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        process = subprocess.Popen(command, env=surroundings, stderr=subprocess.DEVNULL, cwd=self.file.parent)
        self.processes.append(process)
        return process


@pytest.fixture
def dask(tmp_path):
    made = Dask(tmp_path)
    yield made
    made.end()


@pytest.fixture
def onset(tmp_path):
    """The file of a sweep of half a minute of work."""
    kappa = {"from": 1, "to": 4, "count": POINTS}
    blocks = {"sweep": {"noise.kappa": kappa}, "time": {"until": 40}, "solver": {"kind": "spectral"}}
    place = tmp_path / "onset.yaml"
    place.write_text(mfpde.Problem.from_dict({**PROBLEM.canonical(), **blocks}).to_yaml(), encoding="utf-8")
    return place


def start(tmp_path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "mfpde", "sweep", "onset.yaml", "-o", "onset.h5", *options]
    surroundings = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=tmp_path, env=surroundings, text=True, stderr=subprocess.PIPE)


def test_a_worker_and_then_the_scheduler_are_killed(dask, onset, tmp_path):
    path = tmp_path / "onset.h5"
    first, _second = dask.worker(), dask.worker()
    sweep = start(tmp_path, "--scheduler", dask.address)
    wait_for(lambda: finished_points(path) > 10 or sweep.poll() is not None)
    first.kill()
    before = finished_points(path)
    wait_for(lambda: finished_points(path) > before or sweep.poll() is not None)
    assert sweep.poll() is None, sweep.communicate()[1]
    dask.scheduler.send_signal(signal.SIGKILL)
    _, err = sweep.communicate(timeout=120)
    assert sweep.returncode == 3, err
    assert "Traceback" not in err, err
    left = mfpde.load(path)
    assert left.outcome.kind == "workers lost"
    assert 10 < left.finished.sum() < POINTS
    again = start(tmp_path, "--resume", "--workers", "1")
    again.communicate(timeout=200)
    assert again.returncode == 0
    whole = mfpde.load(path)
    assert whole["outcome"].tolist() == ["finished"] * POINTS
    done = left.finished
    assert whole["order-parameter"][done].tobytes() == left["order-parameter"][done].tobytes()


def test_pool_and_cluster_have_the_same_bits(dask, onset):
    dask.worker()
    problem = mfpde.Problem.from_yaml(onset, {"sweep.noise.kappa.count": 40})
    there = mfpde.sweep(problem, scheduler=dask.address)
    here = mfpde.sweep(problem, workers=2)
    assert there["outcome"].tolist() == ["finished"] * 40
    np.testing.assert_array_equal(there["order-parameter"], here["order-parameter"])
    np.testing.assert_array_equal(there["mass-max"], here["mass-max"])


def test_a_scheduler_that_does_not_answer(onset):
    with pytest.raises(mfpde.MfpdeError, match=r"no scheduler answers at tcp://127.0.0.1:9 within 10 s"):
        mfpde.sweep(onset, scheduler="tcp://127.0.0.1:9")
    with pytest.raises(mfpde.MfpdeError, match=r"no scheduler answers at nowhere"):
        mfpde.sweep(onset, scheduler="nowhere:::")
