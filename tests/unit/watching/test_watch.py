"""Anything that advances shows how far it is, on a line and in a status file, and ends cleanly at Ctrl-C."""

import os
import signal
import time
from dataclasses import dataclass

import pytest
from store.heat import Heat, problem, solve

from mfpde.activity import doing
from mfpde.contracts import Watched
from mfpde.errors import MfpdeError
from mfpde.watching import read_status
from mfpde.watching.watch import Watch, check_progress


@dataclass
class Continuation:
    """Follows a branch in kappa."""

    position: float = 0.1
    end: float = 1.0
    states: int = 0
    label: str = "kappa ="

    def counts(self):
        return {"steps": self.states, "folds": self.states // 4}

    def advance(self, seconds=0.02):
        time.sleep(seconds)
        self.position, self.states = self.position + 0.1, self.states + 1


def followed(watch: Watch, work: Watched, seconds: float = 0.02) -> bool:
    """As every piece of work is: True when it came to its end."""
    watch.begin(work)
    while work.position < work.end - 1e-9:
        work.advance(seconds)
        watch.see()
        if watch.interruption.asked:
            return False
    watch.done()
    return True


def test_reports_say_where_it_is():
    reports, work = [], Continuation()
    with Watch(work.end, reports.append) as watch:
        assert followed(watch, work, 0.06)
    assert len(reports) >= 4
    assert reports[-1].words == "kappa = 1 of 1, 9 steps"
    assert reports[-1].detail == {"folds": 2}
    assert all(report.until == 1.0 for report in reports)
    assert reports[len(reports) // 2].rate == pytest.approx(0.1 / 0.06, rel=0.5)


def test_a_line_on_stderr(capsys):
    with Watch(1.0, True) as watch:
        followed(watch, Continuation())
    assert capsys.readouterr().err.endswith("\rkappa = 1 of 1, 9 steps, 0 s left\033[K")


def test_nothing_is_shown_unasked(capsys):
    with Watch(1.0, False) as watch:
        assert followed(watch, Continuation())
    assert capsys.readouterr() == ("", "")


def test_a_status_file_while_it_lasts(tmp_path, monkeypatch):
    monkeypatch.setattr("mfpde.watching.status._SECONDS_BETWEEN_WRITES", 0.02)
    output, work = tmp_path / "branches.h5", Continuation()
    with Watch(work.end, False) as watch:
        watch.write_status(output)
        watch.begin(work)
        assert read_status(output)["time"] == pytest.approx(0.1)
        for _ in range(3):
            work.advance()
        deadline = time.monotonic() + 10
        while (status := read_status(output))["step"] < 3 and time.monotonic() < deadline:
            time.sleep(0.03)
            watch.see()
        assert (status["time"], status["until"], status["step"]) == (pytest.approx(0.4), 1.0, 3)
        assert (status["folds"], status["pid"], status["doing"]) == (0, os.getpid(), "steps")
        watch.done()
        assert read_status(output) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_it_cleanly(number):
    before, work = signal.getsignal(number), Continuation()
    with Watch(work.end, lambda report: report.steps == 3 and os.kill(os.getpid(), number)) as watch:
        assert not followed(watch, work, 0.11)
    assert work.states == 3
    assert signal.getsignal(number) is before


def test_a_signal_before_the_first_step_ends_it_at_once():
    def begin():
        with Watch(1.0, False):
            os.kill(os.getpid(), signal.SIGINT)
            doing("looking for the branch")

    with pytest.raises(KeyboardInterrupt):
        begin()


def test_a_signal_that_a_part_of_it_gets_is_heard_by_the_whole():
    """A run of a sweep ends as interrupted; so does the sweep."""
    hit = iter([True])

    def interrupting(_):
        if next(hit, False):
            os.kill(os.getpid(), signal.SIGINT)

    with Watch(3.0, False) as watch:
        watch.begin(Continuation())
        run = solve(problem(until=100), None, Heat(seconds=0.01), progress=interrupting)
        assert run.outcome == "interrupted"
        assert watch.interruption.asked


@pytest.mark.parametrize("given", [3, "yes", None])
def test_what_cannot_show_progress_is_refused(given):
    with pytest.raises(MfpdeError, match="progress"):
        check_progress(given)
