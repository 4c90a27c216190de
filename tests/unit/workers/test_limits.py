"""Tasks that have had their time: the worker is ended, whatever it is at."""

import time

from mfpde.workers import InProcess, Pool, Task
from mfpde.workers.worker import LATE_SIGNAL, ended_after

SOURCE = '''
from mfpde.workers.worker import ended_after

def sleeps(limit, seconds):
    """One call from which nothing comes back in the meantime."""
    with ended_after(limit):
        int("7" * 4000) ** int(seconds)
    return seconds
'''


def test_a_call_that_does_not_come_back_ends_its_worker(tmp_path, monkeypatch):
    (tmp_path / "endless_of_mine.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    function = "endless_of_mine:sleeps"
    tasks = [Task(function, (None, 1.0)), Task(function, (0.2, 1e9)), Task(function, (60.0, 1.0))]
    with Pool(1) as pool:
        found = sorted(pool.answers(tasks), key=lambda answer: answer.number)
    assert [answer.value for answer in found] == [1.0, None, 1.0]
    assert (found[1].died, found[1].late) == (True, True)
    assert found[1].error == f"its worker process died (signal {LATE_SIGNAL})"


def test_a_process_that_is_no_worker_goes_on():
    with InProcess() as here, ended_after(0.01):
        (answer,) = here.answers([Task("time:sleep", (0.05,))])
        time.sleep(0.05)
    assert (answer.error, answer.late) == ("", False)
