"""The run loop: exact times, ends of every kind, signals, resuming."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from store import drifting
from store.heat import Heat, Heating, problem, solve
from store.processes import assert_same, ended, start, wait_for

import mfpde
from mfpde.errors import ProblemError, ResumeError
from mfpde.observe.mass import Mass
from mfpde.observe.mean import Mean
from mfpde.observe.output_times import Event, events
from mfpde.watching.interruption import Interruption

SLOW = ["until=100", "save_every=0.1", "seconds=0.003"]


# -- times


def test_save_and_observe_times_are_merged():
    block = problem(until=1.0, save_every=0.3, observe_every=0.1).time
    found = events(block)
    assert [event.time for event in found] == sorted({event.time for event in found})
    assert len(found) == 11  # 3 * 0.1 and 0.3 are one time
    assert [event.save for event in found] == [index in (0, 3, 6, 9, 10) for index in range(11)]
    assert all(event.observe for event in found)


def test_series_without_times_of_their_own_go_with_the_snapshots():
    found = events(problem(until=1.0, save_every=None, save_at=[0.25, 0.5]).time)
    assert found == [Event(time, save=True, observe=True) for time in (0.0, 0.25, 0.5, 1.0)]


def test_times_are_hit_exactly():
    run = solve(problem(until=0.95, save_every=0.1, observe_every=0.04))
    np.testing.assert_array_equal(run.times, [*(0.1 * index for index in range(10)), 0.95])
    nominal = [*(0.04 * index for index in range(24)), 0.95]
    np.testing.assert_allclose(run.series_times, nominal, rtol=1e-12)
    assert run["mass"].shape == run.series_times.shape
    expected = 0.5 * np.exp(-0.1 * run.series_times)
    np.testing.assert_allclose(run["modes-cosine"][:, 0], expected / 2, rtol=1e-6)


def test_first_and_last_only():
    run = solve(problem(save_every=None, save=False, observe_every=0.5))
    assert list(run.times) == [0.0, 2.0]
    assert list(run.series_times) == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_bits_depend_neither_on_progress_nor_on_slices():
    whole = solve(problem())
    reports = []
    assert_same(solve(problem(), progress=reports.append), whole)
    assert_same(solve(problem(), None, Heat(steps_per_call=1)), whole)
    assert_same(solve(problem(), None, Heat(steps_per_call=1000)), whole)
    assert reports[-1].time == reports[-1].until == 2.0
    assert reports[-1].detail == {"modes": 16}


def test_progress_is_told_at_most_ten_times_a_second():
    reports, begin = [], time.perf_counter()
    solve(problem(), None, Heat(seconds=0.008), progress=reports.append)
    assert 3 <= len(reports) <= 10 * (time.perf_counter() - begin) + 1
    middle = reports[len(reports) // 2]
    assert 0 < middle.time < 2
    assert middle.rate > 0
    assert middle.remaining == pytest.approx((2 - middle.time) / middle.rate)


def test_progress_on_stderr(capsys):
    solve(problem(), progress=True)
    assert "t = 2 of 2, 80 steps" in capsys.readouterr().err


def test_a_callback_that_fails_leaves_a_valid_file(tmp_path):
    def fail(report):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        solve(problem(), tmp_path / "run.h5", Heat(seconds=0.01), progress=fail)
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]
    whole = solve(problem(), tmp_path / "run.h5", resume=True)
    assert_same(whole, solve(problem()))


# -- ends


def test_finished():
    outcome = solve(problem()).outcome
    assert (outcome.kind, outcome.time, outcome.complete) == ("finished", 2.0, True)
    assert outcome.residual == pytest.approx(0.05 * np.exp(-0.2), rel=1e-6)


@pytest.mark.parametrize("output", [None, "run.h5"])
def test_steady(tmp_path, output):
    path = output and tmp_path / output
    task = problem(until=400, save_every=2.0, stop_when_steady=1e-3)
    run = solve(task, path, Heat(step=1.0))
    assert run.outcome.kind == "steady"
    assert run.outcome.residual * 400 < 1e-3
    assert run.times[-1] == run.outcome.time < 400
    before = solve(problem(until=run.times[-2], save_every=2.0)).outcome.residual
    assert before * 400 > 1e-3
    if path:
        assert_same(solve(task, path, Heat(step=1.0), resume=True), run)


def test_steady_between_snapshots_keeps_the_last_state():
    run = solve(
        problem(until=400, save_every=None, save=False, observe_every=2.0, stop_when_steady=True), None, Heat(step=1.0)
    )
    assert run.outcome.kind == "steady"
    assert list(run.times) == [0.0, run.outcome.time]
    assert run.series_times[-1] == run.outcome.time


@pytest.mark.parametrize("output", [None, "run.h5"])
def test_resolution_lost(tmp_path, output):
    run = solve(problem(), output and tmp_path / output, Heat(lost=1.05))
    assert (run.outcome.kind, run.outcome.complete) == ("resolution lost", False)
    assert run.outcome.message == "the tail is too large"
    assert run.outcome.advice == "raise max_modes"
    assert run.outcome.time >= 1.05
    assert run.times[-1] == 1.0


@pytest.mark.parametrize("output", [None, "run.h5"])
def test_what_loses_its_meaning_on_the_way_ends_the_run(tmp_path, output):
    class Overflowing(Heating):
        def _step(self, stop):
            if stop > 1.05:
                raise ProblemError.at("attention", "overflows: e^800")
            super()._step(stop)

    class Settings(Heat):
        def start(self, task):
            return Overflowing(self, task)

    run = solve(problem(), output and tmp_path / output, Settings())
    assert (run.outcome.kind, run.outcome.message) == ("not finite", "overflows: e^800")
    assert 1 <= run.outcome.time <= 1.05
    assert run.times[-1] == 1.0


class Failing(Mean):
    """A mean that has no meaning any more from a time on."""

    def evaluate(self, instant):
        if instant.time >= self.since:
            raise ProblemError.at("attention", "overflows: e^800")
        return super().evaluate(instant)


@pytest.mark.parametrize("output", [None, "run.h5"])
def test_what_cannot_be_observed_any_more_does_not_end_the_run(tmp_path, output, monkeypatch):
    monkeypatch.setattr(Failing, "since", 0.55, raising=False)
    task = drifting.problem(observe=["mean", "mass"]).model_copy(update={"observe": (Failing(), Mass())})
    run = drifting.solve(task, output and tmp_path / output)
    assert run.outcome.kind == "finished"
    assert run.outcome.message == "tends to infinity; mean is NaN where it cannot be observed: overflows: e^800"
    plain = drifting.solve(drifting.problem(observe=["mean"]), None)
    np.testing.assert_array_equal(run["mean"][run.times < 0.55], plain["mean"][run.times < 0.55])
    assert np.isnan(run["mean"][run.times >= 0.55]).all()
    assert np.isfinite(run["mass"]).all()
    assert_same(drifting.solve(task, output and tmp_path / "other.h5"), run)


def test_what_cannot_be_observed_at_the_start_is_bad_input(tmp_path, monkeypatch):
    monkeypatch.setattr(Failing, "since", 0.0, raising=False)
    task = drifting.problem().model_copy(update={"observe": (Mass(), Failing())})
    with pytest.raises(ProblemError, match=r"^observe\.1: mean cannot be observed here: overflows: e\^800$"):
        drifting.solve(task, tmp_path / "run.h5")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("output", [None, "run.h5"])
def test_blow_up(tmp_path, output):
    path, settings = output and tmp_path / output, drifting.Drift("gaussian", blown=0.55)
    task = drifting.problem(observe=["mean"])
    run = drifting.solve(task, path, settings)
    last = run.times[-1]
    assert (run.outcome.kind, run.outcome.complete) == ("blow-up", False)
    assert (run.outcome.time, run.outcome.uncertainty) == (last + 0.5, 1e-3)
    assert run.outcome.message == "it grows for ever"
    assert 0.55 <= last < 0.6  # the last state that there is
    assert run["mean"].shape == (len(run.times), 1)
    assert str(run.outcome).startswith(f"blow-up at t = {last + 0.5:.4f} +- 0.001: it grows")
    if path:
        assert mfpde.load(path).outcome == run.outcome
        assert_same(drifting.solve(task, path, settings, resume=True), run)


def test_what_the_solver_says_last_is_told():
    assert drifting.solve(drifting.problem(), None).outcome.message == "tends to infinity"


def test_snapshots_without_what_is_observed(tmp_path):
    task = drifting.problem(observe=["frame"])
    with pytest.raises(ProblemError, match=r"observe\.0: frame cannot be observed here: snapshots have no frame_mean"):
        drifting.solve(task, tmp_path / "run.h5", drifting.Drift("grid"))
    assert list(tmp_path.iterdir()) == []
    run = drifting.solve(task, tmp_path / "run.h5", drifting.Drift("panels"))
    np.testing.assert_array_equal(run["frame-matrix"], run.stored["frame_matrix"])


def test_what_only_the_integration_knows():
    run = drifting.solve(drifting.problem(observe=["box-leak"]), None)
    np.testing.assert_allclose(run["box-leak"], 1e-3 * run.times)


@pytest.mark.parametrize("output", [None, "run.h5"])
def test_not_finite(tmp_path, output):
    run = solve(problem(), output and tmp_path / output, Heat(broken=1.05))
    assert run.outcome.kind == "not finite"
    assert run.times[-1] == 1.0
    assert np.isfinite(run.density).all()


def test_what_cannot_be_solved_is_said_before_anything_else(tmp_path):
    with pytest.raises(ProblemError, match="initial"):
        mfpde.solve(
            mfpde.Problem.from_dict({"geometry": {"kind": "circle"}, "time": {"until": 1}}), tmp_path / "run.h5"
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("points", "solver: drift cannot start: points: must be finite"),
        ("initial.mean", "initial.mean: must be finite"),
        ("", "must be finite"),
    ],
)
def test_what_a_solver_cannot_start_with_is_about_a_block(tmp_path, monkeypatch, where, said):
    def start(self, task):
        raise ProblemError.at(where, "must be finite")

    monkeypatch.setattr(drifting.Drift, "start", start)
    with pytest.raises(ProblemError) as caught:
        drifting.solve(drifting.problem(), tmp_path / "run.h5")
    assert str(caught.value) == said
    assert list(tmp_path.iterdir()) == []


def test_a_path_is_read(tmp_path):
    file = tmp_path / "heat.yaml"
    file.write_text(problem().to_yaml(), encoding="utf-8")
    assert len(mfpde.solve(str(file)).times) == 21


# -- signals


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_a_run_cleanly(tmp_path, number):
    path = tmp_path / "run.h5"
    process = start(path, *SLOW)
    wait_for(tmp_path / "run.status.json", process)
    time.sleep(0.5)
    process.send_signal(number)
    kind, when, rows, _ = ended(process)
    assert kind == "interrupted"
    assert [one.name for one in tmp_path.iterdir()] == ["run.h5"]
    run = mfpde.load(path)
    assert run.outcome.kind == "interrupted"
    assert run.outcome.time == run.times[-1] == float(when)
    assert len(run.times) == int(rows) > 1
    task = problem(until=100, save_every=0.1)
    assert_same(solve(task, path, Heat(), resume=True), solve(task))


@pytest.mark.slow
def test_a_second_signal_ends_it_at_once(tmp_path):
    path = tmp_path / "run.h5"
    process = start(path, "until=100", "seconds=0.5", "steps_per_call=100")
    wait_for(tmp_path / "run.status.json", process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=10)[1]
    assert [one.name for one in tmp_path.iterdir()] == ["run.h5"]
    assert list(mfpde.load(path).times) == [0.0]


def test_handlers_are_put_back_and_other_threads_left_alone():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(solve(problem()).outcome.kind))
    thread.start()
    thread.join()
    solve(problem())
    assert outcomes == ["finished"]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_shield_holds_the_second_signal_back():
    interruption, steps = Interruption(), []

    def write():
        with interruption, interruption.shield():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            steps.append("written")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert interruption.asked
    assert steps == ["written"]


# -- resuming


def interrupted(path, task, at=1.05, **settings):
    """A run that stopped early and can be continued."""
    return solve(task, path, Heat(lost=at, **settings))


@pytest.mark.parametrize("block", [{}, {"observe_every": 0.07}, {"save_every": None, "save": False}])
@pytest.mark.parametrize("finer", [(), (0.5, 1.5)])
def test_resume_ends_in_the_same_bits(tmp_path, block, finer):
    task = problem(**block)
    interrupted(tmp_path / "run.h5", task, finer=finer)
    run = solve(task, tmp_path / "run.h5", Heat(finer=finer), resume=True)
    assert run.outcome.kind == "finished"
    assert_same(run, solve(task, None, Heat(finer=finer)))


def test_resume_what_is_finished(tmp_path):
    path = tmp_path / "run.h5"
    run = solve(problem(), path)
    before = path.read_bytes()
    assert_same(solve(problem(until=2.0), path, resume=True), run)
    with pytest.raises(ResumeError, match=r"it runs to t = 2, and time\.until may only become later, not 1"):
        solve(problem(until=1.0), path, resume=True)
    assert path.read_bytes() == before


def test_resume_with_a_later_end(tmp_path):
    path = tmp_path / "run.h5"
    solve(problem(until=1.03), path)
    run = solve(problem(until=1.57), path, resume=True)
    np.testing.assert_array_equal(
        run.times, [*(0.1 * i for i in range(11)), 1.03, *(0.1 * i for i in range(11, 16)), 1.57]
    )
    assert run.problem.time.until == 1.57
    assert run.outcome.kind == "finished"
    longer = solve(problem(until=1.57))
    np.testing.assert_array_equal(run.density[:11], longer.density[:11])
    np.testing.assert_allclose(run.density[-1], longer.density[-1], atol=1e-8)
    assert [one.name for one in tmp_path.iterdir()] == ["run.h5"]


def test_the_end_of_an_earlier_run_is_the_time_at_which_a_row_is_due(tmp_path):
    solve(problem(until=0.3), tmp_path / "run.h5")
    run = solve(problem(until=0.6), tmp_path / "run.h5", resume=True)
    np.testing.assert_array_equal(run.times, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])  # and not 3 * 0.1 > 0.3 as well


def test_resume_with_a_later_end_keeps_the_spacing_it_chose_itself(tmp_path):
    path = tmp_path / "run.h5"
    solve(problem(until=1, save_every=None), path)
    solve(problem(until=1.5, save_every=None), path, Heat(lost=1.205), resume=True)
    run = solve(problem(until=2, save_every=None), path, resume=True)
    np.testing.assert_array_equal(run.times, [0.01 * index for index in range(201)])
    assert run.problem.time.save_every == 0.01
    np.testing.assert_array_equal(run.density, solve(problem(until=2, save_every=0.01)).density)


def test_resume_another_problem(tmp_path):
    path = tmp_path / "run.h5"
    solve(problem(), path)
    before = path.read_bytes()
    with pytest.raises(ResumeError, match=r"different in noise\.kappa; only time\.until may change"):
        solve(problem(kappa=11, until=3), path, resume=True)
    with pytest.raises(ResumeError, match=r"different in observe, time\.save_every;"):
        solve(problem(save_every=0.2, observe=["mass"]), path, resume=True)
    assert path.read_bytes() == before


def test_seconds_and_statistics_go_on(tmp_path):
    path = tmp_path / "run.h5"
    first = interrupted(path, problem(), seconds=0.001)
    run = solve(problem(), path, resume=True)
    assert run.provenance["timings"]["seconds"] > first.provenance["timings"]["seconds"] > 0.03
    assert run.provenance["statistics"]["steps"] == solve(problem()).provenance["statistics"]["steps"] == 80
