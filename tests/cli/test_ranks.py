"""One simulation over the processes that mpiexec starts: real ranks, held against one process."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import h5py
import numpy as np
import psutil
import pytest

import mfpde
from mfpde.prepare import faults
from mfpde.ranks import ALONE, Ranks, Spread, working

ROOT = Path(__file__).resolve().parents[2]
MPIEXEC = Path(sys.executable).parent / "mpiexec"
LINE = """\
geometry:  {kind: line}
attention: {kind: softmax, A: 0.5, V: -1}
noise:     {kappa: 4}
initial:   {kind: gaussian, mean: 0.3, covariance: 1}
solver:    {kind: particles, count: 3001, step: 0.01}
time:      {until: 0.2, save_every: 0.1}
observe:   [mean]
"""
ENDLESS = ("--set", "time={until: 1000, save_every: 1000}", "--set", "solver.count=20001")


needs_mpi = pytest.mark.skipif(find_spec("mpi4py") is None, reason="needs mpi4py and mpich: pip install '.[mpi]'")


@pytest.fixture
def ranks(tmp_path):
    """Starts so many processes of a line of Python; the folder has a problem."""
    (tmp_path / "line.yaml").write_text(LINE, encoding="utf-8")
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_NUM_THREADS": "1"}
    started = []

    def start(count, *line, **options):
        command = [MPIEXEC, "-n", str(count), sys.executable, *line]
        settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": surroundings, **options}
        started.append(subprocess.Popen(command, cwd=tmp_path, start_new_session=True, **settings))
        return started[-1]

    start.folder = tmp_path
    yield start
    for process in started:
        for each in [*children(process), process]:
            each.kill()
        process.communicate()


def children(process):
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def finished(process, seconds=100):  # of a busy machine, kernels to be compiled included
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def solve(ranks, count, *arguments):
    return ranks(count, "-m", "mfpde", "solve", "line.yaml", *arguments)


#: beside the circle, which two of three ranks solve; the line is that of all other tests here
SOME = ("sphere",)


@needs_mpi
@pytest.mark.parametrize(("laws", "cases"), [(SOME, 3), pytest.param((), 20, id="every law", marks=pytest.mark.long)])
def test_ranks_agree_with_one_process(laws, cases, ranks):
    code, out, err = finished(ranks(3, "-m", "mpi4py", str(ROOT / "tests/cli/solved_by_ranks.py"), *laws))
    assert code == 0, err
    found = json.loads(out)
    assert len(found) == cases
    assert {name: size for name, size in found.items() if not size < 3e-12} == {}


@needs_mpi
def test_a_run_resumes_on_another_number_of_ranks(ranks, monkeypatch):
    monkeypatch.chdir(ranks.folder)
    early, late = (mfpde.Problem.from_yaml("line.yaml", settings={"time.until": until}) for until in ("0.2", "0.6"))
    mfpde.solve(early, "some.h5")
    code, out, _ = finished(solve(ranks, 2, "-o", "some.h5", "--resume", "--set", "time.until=0.4"))
    assert (code, out.count("finished at t = 0.4")) == (0, 1)
    parts, whole = mfpde.solve(late, "some.h5", resume=True), mfpde.solve(late)
    assert np.abs(np.asarray(parts.positions) - whole.positions).max() < 1e-12
    assert np.abs(parts["mean"] - whole["mean"]).max() < 1e-12


@needs_mpi
@pytest.mark.parametrize("number", ["1", pytest.param("0", marks=pytest.mark.long)])
def test_a_rank_that_is_killed_leaves_a_run_to_resume(number, ranks):
    process = solve(ranks, 2, "-o", "some.h5", *ENDLESS)
    end = wait_for_steps(ranks.folder)
    (victim,) = [each for each in children(process) if each.environ().get("PMI_RANK") == number]
    time.sleep(0.3 * np.random.default_rng(int(end * 1e6)).random())
    victim.kill()
    code, _, err = finished(process)
    assert (code, f"rank {number} of 2 died; what is in the file stays" in err) == (3, True)
    run = mfpde.load(ranks.folder / "some.h5")
    assert (run.outcome.kind, run.positions.shape) == ("interrupted", (1, 20001, 1))
    again = solve(ranks, 2, "-o", "some.h5", "--resume", *ENDLESS)
    wait_for_steps(ranks.folder, after=end)
    (second,) = [each for each in children(again) if each.environ().get("PMI_RANK") == "1"]
    second.send_signal(signal.SIGTERM)  # whichever is asked, all end alike
    code, out, err = finished(again)
    assert (code, "interrupted" in out, "Traceback" in err) == (130, True, False)
    with h5py.File(ranks.folder / "some.h5") as file:
        assert file["checkpoint/0"].attrs["time"] > 0 or file["checkpoint/1"].attrs["time"] > 0


@needs_mpi
def test_a_rank_that_fails_ends_all(ranks):
    line = """
import mfpde.ranks.launched as launched
launched._MEETING_SECONDS = 0.2
with launched.launched() as ranks:
    if ranks.number == 1:
        raise MemoryError("17 GiB")
    ranks.sum(1.0)
"""
    code, _, err = finished(ranks(2, "-c", line))
    assert (code, "rank 1: MemoryError: 17 GiB" in err, "rank 1 of 2 died" in err) == (3, True, True)


def wait_for_steps(folder, after=0.0, seconds=60):
    """Until a status file says that steps are taken; when that was."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        status = folder / "some.status.json"
        if status.exists() and status.stat().st_mtime > after and json.loads(status.read_text()).get("time", 0) > 0:
            return time.time()
        time.sleep(0.05)
    raise AssertionError("no step was taken")


@needs_mpi
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "solver.count=1000"], "1000 tokens are too few for 2 ranks: each is to have 512"),
        pytest.param(["-o", "no/folder/run.h5"], "cannot write no/folder/run.h5", marks=pytest.mark.long),
    ],
)
def test_bad_input_is_told_once(arguments, said, ranks):
    code, out, err = finished(solve(ranks, 2, *arguments))
    assert (code, out, err.count(said)) == (2, "", 1), err
    assert len(err.splitlines()) == 1


class Two(Ranks):
    size = 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"solver": {"kind": "gaussian"}}, "gaussian cannot solve this: it has no ranks; solvers that can: particles"),
        ({"solver": {"kind": "particles", "count": 2000, "copies": 2}}, "copies are not spread over ranks"),
        (
            {
                "geometry": {"kind": "circle"},
                "attention": {"kind": "softmax", "beta": 1},
                "initial": {"kind": "uniform"},
                "solver": {"kind": "particles", "count": 2000},
            },
            "tokens of different ranks do not merge: give merge: 0, or start one process",
        ),
    ],
)
def test_what_has_no_ranks_is_refused(changes, said):
    written = {
        "geometry": {"kind": "line"},
        "attention": {"kind": "softmax", "A": 0.5, "V": -1},
        "initial": {"kind": "gaussian", "mean": 0, "covariance": 1},
        "time": {"until": 1},
    }
    problem = mfpde.Problem.from_dict(written | changes)
    assert [fault for fault in faults(problem) if said in fault.message] == []
    with working(Two()):
        (fault,) = faults(problem)
    assert said in fault.message


def test_ranks_without_mpi_are_refused(here):
    block = "import sys; sys.modules['mpi4py'] = None; from mfpde.cli import main; main()"
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "PMI_SIZE": "2", "PMI_RANK": "0"}
    line = [sys.executable, "-c", block, "solve", "small.yaml"]
    done = subprocess.run(line, cwd=here, env=surroundings, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "2 processes were started together, and mpi4py is not installed: each would solve all of it, and write the "
        "same file; pip install 'mfpde[mpi]', or start one\n"
    )
    assert not (here / "small.h5").exists()


@needs_mpi
def test_a_launcher_of_another_mpi_is_refused(here, command):
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "OMPI_COMM_WORLD_SIZE": "4"}
    code, _, err = finished(command("solve", "small.yaml", env=surroundings))
    assert (code, "4 processes were started together, and mpi4py sees 1" in err) == (2, True)


def test_shares_are_all_there_is():
    class Some(Ranks):
        size = 3

        def __init__(self, number):
            self.number = number

    for count in (3, 10, 1001):
        ends = [Some(number).share(count) for number in range(3)]
        assert [low for low, _ in ends] == [0, *(high for _, high in ends[:-1])]
        assert ends[-1][1] == count
    assert ALONE.share(7) == (0, 7)
    assert not isinstance(ALONE.spread(np.ones(3)), Spread)
