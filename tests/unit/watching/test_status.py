"""RUN.status.json: there while a run goes on, gone after it, not believed when the run was killed."""

import json
import os

import pytest
from store.heat import Heat, problem, solve
from store.processes import kill, start, wait_for

from mfpde.watching import read_status
from mfpde.watching.status import status_path


def test_while_running(tmp_path, monkeypatch):
    path, seen = tmp_path / "run.h5", []
    monkeypatch.setattr("mfpde.watching.status._SECONDS_BETWEEN_WRITES", 0.05)
    solve(problem(), path, Heat(seconds=0.004), progress=lambda _: seen.append(read_status(path)))
    assert {"time", "until", "step", "rate", "remaining", "outcome", "pid"} <= seen[-2].keys()
    assert seen[-2]["pid"] == os.getpid()
    assert seen[-2]["until"] == 2.0
    assert 0 < seen[-2]["time"] <= 2.0
    assert seen[-2]["rate"] > 0
    assert seen[-2]["modes"] == 16
    assert [one.name for one in tmp_path.iterdir()] == ["run.h5"]
    assert read_status(path) is None


def test_after_a_kill(tmp_path):
    path = tmp_path / "run.h5"
    process = start(path, "until=50", "seconds=0.01")
    wait_for(status_path(path), process)
    assert read_status(path)["pid"] == process.pid
    kill(process)
    assert status_path(path).exists()
    assert read_status(path) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid": 1}', '{"pid": "x", "host": 3}'])
def test_nonsense_counts_as_no_status(tmp_path, text):
    status_path(tmp_path / "run.h5").write_text(text, encoding="utf-8")
    assert read_status(tmp_path / "run.h5") is None


def test_a_number_that_now_belongs_to_another_process(tmp_path):
    path = tmp_path / "run.h5"
    record = {"host": os.uname().nodename, "pid": os.getpid(), "started": 1, "updated": 0}
    status_path(path).write_text(json.dumps(record), encoding="utf-8")
    assert read_status(path) is None


def test_a_status_that_cannot_be_written_does_not_end_the_run(tmp_path, monkeypatch):
    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    assert solve(problem(), tmp_path / "run.h5").outcome.kind == "finished"
