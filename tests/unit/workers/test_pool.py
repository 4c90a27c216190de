"""Worker processes: answers, errors in words, deaths, and an end whatever they are doing."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from mfpde.errors import MfpdeError
from mfpde.workers import Pool, Task


def test_answers_come_from_other_processes():
    with Pool(2) as pool:
        processes = {answer.value for answer in pool.answers([Task("os:getpid", ())] * 6)}
        again = {answer.value for answer in pool.answers([Task("os:getpid", ())] * 6)}
    assert os.getpid() not in processes
    assert len(processes | again) <= 2  # they wait for more


def test_each_has_one_thread():
    names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"]
    with Pool(1) as pool:
        assert [answer.value for answer in pool.answers(Task("os:getenv", (name,)) for name in names)] == ["1"] * 4


def test_an_error_of_a_task_is_its_answer():
    with Pool(1) as pool:
        bad, good = pool.answers([Task("math:sqrt", (-1.0,)), Task("math:sqrt", (4.0,))])
    assert (bad.error, good.value) == ("ValueError: math domain error", 2.0)


def test_a_worker_that_dies_is_replaced_and_its_task_given_up_at_last():
    with Pool(1) as pool:
        dead, killed, alive = pool.answers(
            [Task("os:_exit", (3,)), Task("signal:raise_signal", (signal.SIGKILL,)), Task("math:sqrt", (4.0,))]
        )
    assert dead.error == "its worker process died (exit code 3)"
    assert killed.error == "its worker process died (signal 9)"
    assert alive.value == 2.0


STARTING = '''
import pathlib, signal

def tally(name):
    """How often that was called."""
    place = pathlib.Path(__file__).parent / name
    place.write_text(place.read_text() + "x" if place.exists() else "x")
    return len(place.read_text())

if tally("starts") <= DEATHS:
    signal.raise_signal(signal.SIGKILL)
'''


def killed_as_they_start(folder, monkeypatch, deaths: int) -> str:
    """A module whose first imports kill the workers."""
    name = f"starting_of_mine_{deaths}"
    (folder / f"{name}.py").write_text(STARTING.replace("DEATHS", str(deaths)))
    monkeypatch.syspath_prepend(folder)
    return name


def test_deaths_of_starting_workers_are_not_those_of_a_task(tmp_path, monkeypatch):
    """Three of them, where a task has two lives."""
    name = killed_as_they_start(tmp_path, monkeypatch, 3)
    with Pool(1) as pool:
        (answer,) = pool.answers([Task(f"{name}:tally", ("tasks",))])
    assert (answer.value, answer.error) == (1, "")


def test_workers_that_never_begin_are_an_error(tmp_path, monkeypatch):
    name = killed_as_they_start(tmp_path, monkeypatch, 10**6)
    monkeypatch.setattr("mfpde.workers.pool._STARTS", 3)
    with Pool(1) as pool, pytest.raises(MfpdeError, match=r"die before they begin anything \(signal 9\)"):
        list(pool.answers([Task(f"{name}:tally", ("tasks",))]))
    assert len((tmp_path / "starts").read_text()) == 3


def test_what_a_task_prints_is_no_answer(capfd):
    with Pool(1) as pool:
        (answer,) = pool.answers([Task("builtins:print", ("a word",))])
    assert (answer.value, answer.error) == (None, "")
    assert "a word" in capfd.readouterr().err


def test_an_error_of_the_source_of_tasks_reaches_the_caller():
    def tasks():
        yield Task("math:sqrt", (4.0,))
        raise RuntimeError("no more")

    with Pool(1) as pool, pytest.raises(RuntimeError, match="no more"):
        list(pool.answers(tasks()))


def test_closing_ends_tasks_that_go_on():
    began = time.monotonic()
    with Pool(1) as pool:
        for answer in pool.answers([Task("math:sqrt", (4.0,)), Task("time:sleep", (600.0,))]):
            assert answer.value == 2.0
            break
    assert time.monotonic() - began < 300


def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path):
    program = textwrap.dedent(
        """
        import os, signal
        from mfpde.workers import Pool, Task
        with Pool(1) as pool:
            for answer in pool.answers([Task("os:getpid", ()), Task("time:sleep", (600.0,))]):
                print(answer.value, flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    parent = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=False, timeout=120)
    worker = int(parent.stdout)
    for _ in range(600):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker goes on without its parent")
