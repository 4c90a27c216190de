"""Sweeps on a real Dask cluster on loopback: the bits of the pool, workers that die, a scheduler that goes away."""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from store.processes import ROOT
from store.test_sweeps import PROBLEM, finished_points, wait_for

import mfpde
from mfpde.sweeping.cluster import Cluster

Client = pytest.importorskip("distributed").Client
pytestmark = pytest.mark.long
POINTS = 400


class Dask:
    """A scheduler, and workers of one thread, as processes of their own."""

    def __init__(self, folder) -> None:
        self.file, self.processes = folder / "scheduler.json", []
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        wait_for(self.file.exists)
        self.address = json.loads(self.file.read_text())["address"]

    def worker(self, *options: str) -> subprocess.Popen[bytes]:
        options = options or ("--nthreads", "1", "--no-nanny")
        return self._start("worker", "--host", "127.0.0.1", "--no-dashboard", *options)

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


def test_workers_that_do_not_fit(dask, onset, monkeypatch):
    """Another version, more than one thread: before the first point."""
    dask.worker()
    with monkeypatch.context() as patch:
        patch.setattr("mfpde.sweeping.cluster.__version__", "0.0.7")
        with pytest.raises(mfpde.MfpdeError, match=r"came with mfpde .*, and the sweep is of mfpde 0.0.7"):
            mfpde.sweep(onset, scheduler=dask.address)
    dask.worker("--nthreads", "2", "--no-nanny")
    with Client(dask.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=120)
    with pytest.raises(mfpde.MfpdeError, match="has more than one thread; start it with --nthreads 1"):
        mfpde.sweep(onset, scheduler=dask.address)


def test_a_worker_of_another_version_that_comes_later_ends_the_sweep(dask, onset, monkeypatch):
    dask.worker()
    monkeypatch.setattr("mfpde.sweeping.cluster.__version__", "0.0.7")
    monkeypatch.setattr(Cluster, "_need_same_version", lambda _: None)
    found = mfpde.sweep(mfpde.Problem.from_yaml(onset, {"sweep.noise.kappa.count": 3}), scheduler=dask.address)
    assert found.outcome.kind == "workers lost"
    assert "a worker came with mfpde" in str(found.outcome)


def test_a_scheduler_that_does_not_answer(onset):
    began = time.monotonic()
    with pytest.raises(mfpde.MfpdeError, match=r"no scheduler answers at tcp://127.0.0.1:9 within 10 s"):
        mfpde.sweep(onset, scheduler="tcp://127.0.0.1:9")
    assert time.monotonic() - began < 20  # the ten seconds, and checks of the points
    with pytest.raises(mfpde.MfpdeError, match=r"no scheduler answers at nowhere"):
        mfpde.sweep(onset, scheduler="nowhere:::")


def test_what_answers_and_is_no_scheduler(onset, capfd):
    """A web server at the address: one sentence, and nothing that a forgotten client says when it is cleared away."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_greet, args=(server,), daemon=True).start()
        with pytest.raises(mfpde.MfpdeError, match="no scheduler answers at"):
            mfpde.sweep(onset, scheduler=f"tcp://127.0.0.1:{server.getsockname()[1]}")
    gc.collect()
    assert "Traceback" not in capfd.readouterr().err


def _greet(server: socket.socket) -> None:
    while True:
        try:
            with server.accept()[0] as caller:
                caller.sendall(b"HTTP/1.1 400 Bad Request\r\nServer: something else\r\n\r\n" * 3)
        except OSError:  # the test is over
            return
