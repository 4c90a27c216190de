"""Files of sweeps: whole after every write, whatever the order of points; a sweep and its workers that are killed."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
from store.processes import ROOT
from store.test_every_write import Tape, replay

import mfpde
from mfpde.contracts import FINISHED, Outcome
from mfpde.store.transaction import Transaction
from mfpde.sweeping.files.sweep_file import SweepFile, begun_file, load_sweep, resumed_file
from mfpde.sweeping.plan import Plan
from mfpde.sweeping.point import PointRow

PROBLEM = mfpde.Problem.from_dict(
    {
        "geometry": {"kind": "circle"},
        "noise": {"kappa": 1},
        "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta)"},
        "time": {"until": 1, "save_every": 0.5},
        "sweep": {"noise.kappa": {"from": 1, "to": 4, "count": 4}, "time.save_every": [0.5, 0.25, 0.125]},
        "collect": ["order-parameter", {"observe": "mass", "reduce": "max"}],
    }
)
#: ranges of points in the order in which they come
BATCHES = [range(5, 6), range(2), range(7, 11), range(2, 5), range(11, 12), range(6, 7)]


def row(number: int) -> PointRow:
    return PointRow("finished", 1e-9, None, 0.5, f"point {number}", np.array([number + 0.5, 1 / (number + 1)]))


@pytest.fixture
def tape(monkeypatch) -> Tape:
    """Each batch is a commit."""
    tape = Tape()
    put, commit = Transaction._put, SweepFile.commit

    def recorded_put(disk, offset, piece):
        tape.writes.append((offset, bytes(piece)))
        put(disk, offset, piece)

    def recorded_commit(file):
        commit(file)
        tape.commits.append((len(tape.writes), int(file.finished.sum())))

    monkeypatch.setattr(Transaction, "_put", recorded_put)
    monkeypatch.setattr(Transaction, "_cut", lambda *_: pytest.fail("the file never becomes shorter"))
    monkeypatch.setattr(SweepFile, "commit", recorded_commit)
    monkeypatch.setattr(SweepFile, "tick", recorded_commit)
    return tape


def check(path, least: int) -> None:
    found = load_sweep(path)
    assert found.finished.sum() >= least
    for number in range(found.finished.size):
        place = np.unravel_index(number, found.shape)
        if found.finished[place]:
            assert found["order-parameter"][place] == number + 0.5
            assert found["mass-max"][place] == 1 / (number + 1)
            assert found["message"][place] == f"point {number}"
        else:
            assert np.isnan(found["order-parameter"][place])
            assert found["outcome"][place] == ""


def test_after_every_write(tape, tmp_path):
    plan = Plan(PROBLEM)
    file = begun_file(tmp_path / "sweep.h5", plan, force=False)
    begun = len(tape.writes)
    tape.commits.append((begun, 0))
    size = (tmp_path / "sweep.h5").stat().st_size
    for batch in BATCHES[:4]:
        file.add(batch.start, [row(number) for number in batch])
    file.close()
    file = resumed_file(tmp_path / "sweep.h5", plan)
    assert file.finished.sum() == 10
    for batch in BATCHES[4:]:
        file.add(batch.start, [row(number) for number in batch])
    file.finish(Outcome(FINISHED, np.nan), {"points": 12.0})
    assert (tmp_path / "sweep.h5").stat().st_size == size
    wanted = [index >= begun - 1 for index in range(len(tape.writes))]
    assert sum(wanted) > 60
    for committed in replay(tape, tmp_path / "replay.h5", wanted):
        check(tmp_path / "replay.h5", committed)
    assert load_sweep(tmp_path / "replay.h5").outcome.complete
    assert (tmp_path / "replay.h5").read_bytes() == (tmp_path / "sweep.h5").read_bytes()


PROGRAM = """
import sys
import mfpde
found = mfpde.sweep(sys.argv[1], sys.argv[2], workers=2, resume=sys.argv[3] == "resume")
print(found.outcome.kind)
"""


def start(problem, path, mode: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(problem), str(path), mode],
        text=True,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def wait_for(what, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def finished_points(path) -> int:
    """Read as it is: the file under way is locked."""
    import h5py

    try:
        with h5py.File(path, "r", locking=False) as file:
            return int(file["finished"][()].sum())
    except (OSError, KeyError):
        return 0


@pytest.mark.long
def test_the_parent_and_then_a_worker_are_killed(tmp_path):
    """The sweep goes on, and ends in the values of one that nobody disturbed."""
    count = {"from": 1, "to": 4, "count": 120}
    problem = mfpde.Problem.from_dict({**PROBLEM.canonical(), "sweep": {"noise.kappa": count}, "time": {"until": 40}})
    place, path = tmp_path / "problem.yaml", tmp_path / "sweep.h5"
    place.write_text(problem.to_yaml(), encoding="utf-8")
    first = start(place, path, "begin")
    wait_for(lambda: finished_points(path) > 0)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    left = mfpde.load(path)
    assert left.outcome.kind == "interrupted"
    assert 0 < left.finished.sum() < 120
    second = start(place, path, "resume")
    wait_for(lambda: finished_points(path) > left.finished.sum() or second.poll() is not None)
    for worker in psutil.Process(second.pid).children()[:1] if second.poll() is None else []:
        worker.kill()
    assert second.communicate(timeout=120)[0].strip() == "finished"
    found = mfpde.load(path)
    assert found["outcome"].tolist() == ["finished"] * 120
    before = left.finished
    assert found["order-parameter"][before].tobytes() == left["order-parameter"][before].tobytes()
    for number in (0, 60, 119):
        kappa = found.axis("noise.kappa")[number]
        run = mfpde.solve(Plan(problem).problem(number))
        assert run.problem.noise.kappa == kappa
        assert run["order-parameter"][-1] == found["order-parameter"][number]
