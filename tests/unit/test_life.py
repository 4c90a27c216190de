"""Whoever waits for a run sees that it lives, from the first second on."""

import json
import os
import signal
import time

import pytest
from store.heat import Heat, problem, solve

import mfpde
from mfpde.activity import doing, told_to
from mfpde.cli.progress import display, line
from mfpde.watching import read_status
from mfpde.watching.progress import ProgressReport
from mfpde.watching.status import status_path


class Slow(Heat):
    """A solver whose set-up is whatever a test makes of it."""

    def start(self, task):
        setting_up()
        return super().start(task)


def setting_up():
    raise AssertionError("a test replaces this")


@pytest.fixture
def during(monkeypatch):
    """Give the set-up something to do."""
    return lambda act: monkeypatch.setattr(f"{__name__}.setting_up", act)


def wait_until(true):
    """A moment that has to come; the limit only ends a test that has failed."""
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_the_status_file_lives_while_a_run_is_set_up(tmp_path, during, monkeypatch):
    path, seen = tmp_path / "run.h5", []
    monkeypatch.setattr("mfpde.watching.status._SECONDS_BETWEEN_WRITES", 0.05)

    def act():
        doing("pilot on 64 cells")  # and then one long piece of work, without a word
        wait_until(lambda: seen.append(read_status(path)) or len({one["updated"] for one in seen if one}) > 3)
        assert not path.exists()

    during(act)
    solve(problem(), path, Slow())
    last = seen[-1]
    assert (last["doing"], last["time"], last["until"], last["pid"]) == ("pilot on 64 cells", 0.0, 2.0, os.getpid())
    assert last["elapsed"] > 0
    assert [one.name for one in tmp_path.iterdir()] == ["run.h5"]


def test_progress_tells_what_the_set_up_does(during):
    reports, whole = [], solve(problem())

    def act():
        wait_until(lambda: doing("pilot on 64 cells") or any(one.doing == "pilot on 64 cells" for one in reports))

    during(act)
    run = solve(problem(), None, Slow(), progress=reports.append)
    assert reports[0].elapsed > 0
    assert reports[-1].doing == ""
    assert (run.density == whole.density).all()


def test_a_line_shows_life_without_a_word(during, capsys):
    texts = []
    during(lambda: wait_until(lambda: texts.append(capsys.readouterr().err) or "so far" in texts[-1]))
    solve(problem(), None, Slow(), progress=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_signal_during_the_set_up_leaves_nothing_behind(tmp_path, during, monkeypatch, number, earlier):
    path = tmp_path / "run.h5"
    if earlier:
        solve(problem(), path, Heat(lost=1.0))
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("mfpde.watching.status._SECONDS_BETWEEN_WRITES", 0.02)

    def act():
        wait_until(lambda: read_status(path))
        os.kill(os.getpid(), number)
        time.sleep(30)

    during(act)
    with pytest.raises(KeyboardInterrupt):
        solve(problem(), path, Slow(), resume=earlier)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers


def test_a_signal_that_somebody_swallowed_is_noticed(tmp_path, during):
    def act():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(30)
        except KeyboardInterrupt:
            pass
        doing("going on")

    during(act)
    with pytest.raises(KeyboardInterrupt):
        solve(problem(), tmp_path / "run.h5", Slow())
    assert not list(tmp_path.iterdir())


def test_wall_time_counts_the_set_up(tmp_path, during):
    during(lambda: time.sleep(0.3))
    for output in (None, tmp_path / "run.h5"):
        assert solve(problem(), output, Slow()).provenance["timings"]["seconds"] >= 0.3


def test_the_status_of_another_living_run_is_left_alone(tmp_path, during, monkeypatch):
    monkeypatch.setattr("mfpde.watching.status._SECONDS_BETWEEN_WRITES", 0.02)
    path = tmp_path / "run.h5"
    record = {"host": os.uname().nodename, "pid": os.getppid(), "started": None, "updated": 0}
    status_path(path).write_text(json.dumps(record), encoding="utf-8")

    def act():
        time.sleep(0.1)
        raise mfpde.errors.ProblemError.at("solver", "cannot do this")

    during(act)
    with pytest.raises(mfpde.errors.ProblemError):
        solve(problem(), path, Slow())
    assert json.loads(status_path(path).read_text(encoding="utf-8")) == record


@pytest.mark.parametrize(
    ("solver", "words"), [("finite-volume", "pilot on 64 cells"), ("characteristics", "nodes held against")]
)
def test_set_ups_say_what_they_do(solver, words):
    task = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": {"kind": "softmax", "A": 1, "V": -1},
            "initial": {"kind": "gaussian", "mean": 0.5, "covariance": 1},
            "solver": {"kind": solver},
            "time": {"until": 0.5, "save_every": 0.5},
        }
    )
    told = []
    with told_to(told.append):
        task.solver.start(task.posed())
    assert any(words in one for one in told)


SETTING_UP = ProgressReport(0.0, 40.0, 0, 0.0, None, doing="pilot on 64 cells", elapsed=1.0)


def test_the_first_line_of_a_set_up_comes_within_a_second(capsys, monkeypatch):
    assert line(SETTING_UP) == "pilot on 64 cells, 1 s so far"
    clock = iter([0.0, 0.5, 0.9, 2.0, 6.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with display(quiet=False) as show:
        for _ in range(5):
            show(SETTING_UP)
    assert capsys.readouterr().err.splitlines() == [line(SETTING_UP)] * 2


def test_a_line_comes_even_when_nothing_is_heard(capsys):
    texts = []
    with display(quiet=False):
        wait_until(lambda: texts.append(capsys.readouterr().err) or "starting" in texts[-1])
    assert "starting, " in texts[-1]
