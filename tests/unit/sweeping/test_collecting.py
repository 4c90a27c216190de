"""Reductions over time against their formulas."""

import numpy as np
import pytest

import mfpde
from mfpde.collect_block import Collected
from mfpde.sweeping.collecting import reduced, variables_of

TIMES = np.linspace(0, 2, 9)


def value(series, times=TIMES, **entry):
    problem = mfpde.Problem.from_dict({"geometry": {"kind": "circle"}}).altered(
        {"collect": (Collected(observe={"kind": "mass"}, **entry),)}
    )
    return reduced(variables_of(problem, len(TIMES)), {"mass": series}, times, 2.0, TIMES)


def test_last_largest_and_mean():
    series = TIMES * (1.5 - TIMES)
    assert value(series) == series[-1]
    assert value(series, reduce="max") == series.max()
    assert value(TIMES, reduce="mean") == pytest.approx(1.0, abs=1e-15)
    assert value(TIMES, reduce="mean", part=0.5) == pytest.approx(1.5, abs=1e-15)
    assert value(TIMES, reduce="mean", part=0.01) == 2.0


@pytest.mark.parametrize(
    ("series", "threshold", "when"),
    [
        (TIMES, 0.3, 0.3),
        (-TIMES, -0.3, 0.3),
        (TIMES, 0.0, 0.0),
        (TIMES, 2.0, 2.0),
        (TIMES, 3.0, np.nan),
        (np.where(TIMES < 1, 0.0, 1.0), 0.5, 0.875),
        (np.where(TIMES < 1, 1.0, np.nan), 0.5, np.nan),
    ],
)
def test_the_first_time_at_a_threshold(series, threshold, when):
    np.testing.assert_allclose(value(series, reduce="time-to", threshold=threshold), [when], atol=1e-15)


def test_a_run_that_ends_early_leaves_a_shorter_series():
    """What it has at its end is at no time of the others, unless it ended at one."""
    for times in (TIMES[:3], np.append(TIMES[:3], 0.6)):
        np.testing.assert_array_equal(value(times, times, reduce="series"), [*TIMES[:3], *[np.nan] * 6])


def test_names_say_what_became_of_a_series():
    problem = mfpde.Problem.from_dict({"geometry": {"kind": "circle"}})
    entries = [{"reduce": "last"}, {"reduce": "max"}, {"reduce": "time-to", "threshold": 0.5}, {"name": "own"}]
    collect = tuple(Collected(observe={"kind": "order-parameter"}, **entry) for entry in entries)
    variables = variables_of(problem.altered({"collect": collect}), 5)
    assert [one.name for one in variables] == [
        "order-parameter",
        "order-parameter-max",
        "order-parameter-time-to",
        "own",
    ]
    assert [one.shape for one in variables] == [()] * 4
    with pytest.raises(mfpde.ProblemError, match=r"'order-parameter' is collected already; give it a `name`"):
        variables_of(problem.altered({"collect": (collect[0], collect[0])}), 5)
