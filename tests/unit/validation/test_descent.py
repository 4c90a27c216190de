"""Free energies held against their dissipation: series that are right, and wrong by a little."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import mfpde
from mfpde.run import Outcome
from mfpde.validation.descent import checks, descends, resolved
from mfpde.validation.intervals import TimeIntervals

PROBLEM = mfpde.Problem.from_dict(
    {
        "geometry": {"kind": "circle"},
        "attention": {"kind": "unnormalized", "beta": 0},
        "noise": {"kappa": 4},
        "initial": {"kind": "von-mises", "direction": 1, "concentration": 1},
        "time": {"until": 2},
    }
)
INTERVALS = TimeIntervals([0, 0.25, 0.5, 1, 2])


@dataclass
class Observed:
    """A run of which only series are known."""

    series: dict
    series_times: np.ndarray
    outcome: Outcome
    problem: mfpde.Problem = PROBLEM

    def __getitem__(self, name):
        return self.series[name]


def observed(free_energy, dissipation, intervals=INTERVALS, end=None):
    times = np.array([time for time in intervals.times() if end is None or time <= end])
    outcome = Outcome("finished", 2.0) if end is None else Outcome("interrupted", end)
    return Observed({"free-energy": free_energy(times), "dissipation": dissipation(times)}, times, outcome)


def falling(times):
    return 3 * np.exp(-times)


@pytest.mark.parametrize(
    ("free_energy", "dissipation", "passed"),
    [
        (falling, falling, [True, True]),
        (falling, lambda times: falling(times) * (1 + 3e-6), [True, False]),
        (lambda times: falling(times) + 1e-5 * (times == 1), falling, [True, False]),
        (lambda times: 3 * times, lambda times: -3 * np.ones_like(times), [False, True]),
        (lambda times: 3 - 6e-5 * (times - 1) ** 2, lambda times: 12e-5 * (times - 1), [False, True]),
    ],
)
def test_energy_falls_as_fast_as_it_is_dissipated(free_energy, dissipation, passed):
    examined = SimpleNamespace(run=observed(free_energy, dissipation), promise=1e-6)
    assert [check.passed for check in checks(examined, INTERVALS)] == passed


def test_a_defect_of_all_intervals_together_counts():
    """Each is below the tolerance."""
    short = observed(falling, lambda times: falling(times) * (1 - 1.5e-6))
    gaps = 1.5e-6 * -np.diff(falling(INTERVALS.edges)) / 3
    assert gaps.max() < 1e-6 < gaps.sum()
    assert not checks(SimpleNamespace(run=short, promise=1e-6), INTERVALS)[1].passed


def test_what_a_quadrature_does_not_know_is_allowed_for():
    """A kink inside of a interval."""
    kinked = observed(lambda times: -0.5 * (times - 0.8) * abs(times - 0.8), lambda times: abs(times - 0.8))
    _, check = checks(SimpleNamespace(run=kinked, promise=1e-6), INTERVALS)
    assert 1e-5 < abs(check.measured) < 1e-2
    assert check.passed


def test_a_run_that_ends_early_is_examined_up_to_there():
    def solve(task):
        times = np.array([time for time in task.time.save_times() if time <= 1])
        return Observed({}, times, Outcome("interrupted", 1.0))

    run, intervals = resolved(PROBLEM, solve, quick=False)
    assert run.series_times[-1] == 1
    assert intervals.edges[0] == 0
    np.testing.assert_allclose(intervals.edges[:0:-1], 2.0 ** -np.arange(intervals.edges.size - 1))
    assert checks(SimpleNamespace(run=run, promise=1e-6), TimeIntervals([0.0])) == []


def test_intervals_are_cut_until_the_dissipation_is_smooth_on_them():
    """A bump that is narrower than the intervals."""
    asked = []

    def solve(task):
        times = np.array(task.time.save_at)
        asked.append(times)
        bump = np.exp(-(((times - 1.3) / 0.02) ** 2))
        return Observed({"free-energy": falling(times), "dissipation": bump}, times, Outcome("finished", 2.0))

    _, intervals = resolved(PROBLEM, solve, quick=False)
    assert 2 < len(asked) < 8
    bump = np.exp(-(((intervals.nodes - 1.3) / 0.02) ** 2))
    assert intervals.integrals(bump).sum() == pytest.approx(0.02 * np.sqrt(np.pi), abs=1e-7)
    asked.clear()
    resolved(PROBLEM, solve, quick=True)
    assert len(asked) == 3


def test_intervals_are_cut_where_errors_are_large_alone():
    pieces = TimeIntervals([0, 1, 3], 4).cut(np.array([0.5, 20.0]))  # 20^(1/3) is 2.7
    np.testing.assert_allclose(pieces.edges, [0, 1, 5 / 3, 7 / 3, 3])
    assert pieces.nodes.shape == (4, 4)
    assert TimeIntervals([0, 1]).cut(np.array([1e30])).edges.size == 9


def test_which_problems_have_a_free_energy():
    assert descends(PROBLEM)
    still = {"geometry": {"kind": "circle"}, "initial": {"kind": "uniform"}, "time": {"until": 1}}
    assert not descends(mfpde.Problem.from_dict(still))
    driven = {**PROBLEM.canonical(), "attention": {"kind": "softmax", "beta": 2}}
    assert not descends(mfpde.Problem.from_dict(driven))
