"""How far a run is, with a clock that is set by hand."""

import os
import signal
from dataclasses import dataclass, field

import pytest

from mfpde.cli import progress as lines
from mfpde.watching import progress
from mfpde.watching.interruption import Interruption
from mfpde.watching.progress import Pace, ProgressReport, Reporter, show_line


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@dataclass
class Work:
    """Something that advances."""

    position: float = 0.0
    end: float = 50.0
    known: dict = field(default_factory=dict)
    label: str = "t ="

    def counts(self):
        return self.known


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "perf_counter", clock)
    monkeypatch.setattr("time.perf_counter", clock)
    monkeypatch.setattr("time.monotonic", clock)
    return clock


def test_the_rate_is_of_the_last_ten_seconds(clock):
    pace, run = Pace(), Work(1.0)
    clock.now += 2
    pace.start(run)
    nothing = pace.report(run)
    assert (nothing.rate, nothing.remaining) == (0.0, None)
    for _ in range(8):  # half as fast as what comes
        clock.now, run.position = clock.now + 1, run.position + 0.5
        report = pace.report(run)
        assert report.rate == pytest.approx(0.5)
        assert report.remaining == pytest.approx((50 - run.position) / 0.5)
    for _ in range(12):
        clock.now, run.position = clock.now + 1, run.position + 1.0
        report = pace.report(run)
    assert report.rate == pytest.approx(1.0)
    assert (report.time, report.until, report.elapsed) == (17.0, 50.0, 22.0)


def test_between_two_rates_is_their_mean_over_the_window(clock):
    pace, run = Pace(), Work()
    pace.start(run)
    for speed in [0.5] * 8 + [1.0] * 6:
        clock.now, run.position = clock.now + 1, run.position + speed
        report = pace.report(run)
    assert report.rate == pytest.approx((5 * 0.5 + 6) / 11)  # the first that is more than 10 s ago counts


def test_counts_that_people_are_told(clock):
    pace, run = Pace(), Work(0.0, 1.0, {"steps": 7, "modes": 64, "cells": 9})
    pace.start(run)
    report = pace.report(run)
    assert (report.steps, report.detail, report.words) == (7, {"modes": 64, "cells": 9}, "t = 0 of 1, 7 steps")
    work = Work(3.0, 160.0, {"failed": 1}, "point")
    report = pace.report(work)
    assert (report.steps, report.detail, report.words) == (None, {"failed": 1}, "point 3 of 160")


def test_words_and_steps_are_shown_now_and_then(clock):
    shown, run = [], Work(end=8.0)
    reporter = Reporter(shown.append, 1.0, 8.0)
    reporter.say("compiling")
    assert shown == []
    clock.now += 0.5  # half the time after the beginning
    reporter.say("balancing")
    assert shown.pop() == ProgressReport(0.0, 8.0, 0, 0.0, None, doing="balancing", elapsed=0.5)
    clock.now += 5
    reporter.begin(run)
    for time, count in ((0.5, 0), (1.0, 1), (1.5, 0), (2.0, 1)):
        clock.now, run.position = clock.now + 0.5, time
        reporter.see()
        assert [(report.time, report.doing) for report in shown] == [(time, "")] * count
        shown.clear()
    reporter.end()
    reporter.close()
    assert [(report.time, report.until, report.rate, report.elapsed) for report in shown] == [(2.0, 8.0, 1.0, 7.5)]


def test_silence_is_answered_with_the_last_report(clock):
    shown = []
    reporter = Reporter(shown.append, 0.1, 8.0)
    reporter.begin(Work(0.25, 8.0))
    for pause, count in ((0.5, 0), (0.5, 1), (0.5, 0), (0.5, 1)):
        clock.now += pause
        reporter._beat(1.0)
        assert [(report.time, report.elapsed) for report in shown] == [(0.25, clock.now - 100)] * count
        shown.clear()


def test_plain_lines_come_when_nothing_is_heard(clock, capsys):
    def said():
        return capsys.readouterr().err.splitlines()

    show = lines._Lines()
    show(ProgressReport(0.0, 1.0, 0, 0.0, None, doing="compiling", elapsed=0.1))
    clock.now += 0.2
    show.again()
    assert said() == []
    clock.now += 0.7
    show.again()
    assert said() == ["compiling, 1 s so far"]
    for pause in (4.0, 0.9):
        clock.now += pause
        show.again()
        assert said() == []
    clock.now += 0.2
    show.again()
    assert said() == ["compiling, 6.1 s so far"]
    clock.now += 9.8
    show(ProgressReport(0.5, 1.0, 7, 0.25, 2.0, {"modes": 64}))
    assert said() == ["t = 0.5 of 1, 7 steps, 0.25 of t per second, 2 s left, 64 modes"]


def test_the_line_that_overwrites_itself(capsys):
    show_line(ProgressReport(0.5, 2.0, 7, 0.25, 6.0))
    show_line(ProgressReport(0.5, 2.0, 7, 0.0, None))
    show_line(ProgressReport(0.0, 2.0, 0, 0.0, None, doing="compiling", elapsed=3.2))
    said = ["t = 0.5 of 2, 7 steps, 6 s left", "t = 0.5 of 2, 7 steps", "compiling, 3 s so far"]
    assert capsys.readouterr().err == "".join(f"\r{text}\033[K" for text in said)


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_a_shield_that_is_over_holds_nothing_back():
    with Interruption() as asking:
        with asking.shield():
            pass
        interrupt()
        assert asking.asked
        with asking.shield():
            pass
        with pytest.raises(KeyboardInterrupt):
            interrupt()


def test_the_first_signal_counts_where_there_is_no_patience():
    with Interruption(patient=False) as asking, pytest.raises(KeyboardInterrupt):
        interrupt()
    assert asking.asked


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_that_a_program_ignores_stay_ignored(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with Interruption() as asking:
            os.kill(os.getpid(), number)
            assert signal.getsignal(number) is signal.SIG_IGN
        assert not asking.asked
    finally:
        signal.signal(number, before)
