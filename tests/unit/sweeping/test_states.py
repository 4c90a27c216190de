"""Sweeps whose points are diagrams of stationary states."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import i0, i1

import mfpde

BLOCKS = {
    "geometry": {"kind": "circle"},
    "attention": {"kind": "unnormalized", "beta": 0},
    "bifurcation": {"parameter": "kappa", "range": [0.1, 4], "branches": [1]},
    "sweep": {"attention.beta": [0, 5]},
    "collect": [
        {"special": "branch-point", "branch": "mode 1"},
        {"special": "fold", "branch": 1},
        {"observe": "order-parameter", "branch": "mode 1", "at": 3},
        {"state": "spectral-gap", "branch": "uniform", "at": 1.5},
        {"state": "stable-count", "at": 0.19},
        {"state": "count", "at": 0.19},
        {"state": "unstable", "branch": "mode 1", "at": 0.19, "side": "lower"},
        {"state": "amplitude", "branch": "mode 1", "at": 0.19},
        {"observe": "order-parameter", "branch": "mode 1", "special": "fold", "name": "order-at-fold"},
    ],
}


def problem(**blocks) -> mfpde.Problem:
    return mfpde.Problem.from_dict({**BLOCKS, **blocks})


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Both diagrams, in this process, and what their file holds."""
    from unit.sweeping.here import Here

    from mfpde.sweeping import running

    path = tmp_path_factory.mktemp("states") / "states.h5"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "_workers", lambda *_: Here())
        mfpde.sweep(problem(), path)
    return mfpde.load(path)


def test_values_are_those_of_theory(swept):
    np.testing.assert_allclose(swept["branch-point"], [2.0, 5 / i1(5)], rtol=1e-9)
    order = brentq(lambda r: i1(3 * r) / i0(3 * r) - r, 0.5, 0.99)  # Kuramoto at kappa = 3
    np.testing.assert_allclose(swept["order-parameter"][0], order, rtol=1e-9)
    # of mode 1 about the uniform state: growth I_1(beta) / beta against diffusion 1 / kappa
    np.testing.assert_allclose(swept["spectral-gap"][0], 1 / 1.5 - 1 / 2, rtol=1e-9)


def test_the_window_of_two_stable_states(swept):
    """At beta = 5 and kappa = 0.19 the uniform state, and a cluster on either side of the fold."""
    assert swept["states"].tolist() == [1, 3]
    assert swept["stable-states"].tolist() == [1, 2]
    assert np.isnan(swept["fold"][0])
    assert 0.18 < swept["fold"][1] < 0.19
    assert np.isnan(swept["unstable"][0])
    assert swept["unstable"][1] == 1
    assert swept["amplitude"][1] > swept["order-at-fold"][1] > 0.396  # upper by default; the lower one has 0.3961


def test_what_a_file_and_a_figure_say(swept):
    assert swept["outcome"].tolist() == ["finished"] * 2
    assert swept.problem == problem()
    assert swept.layout.fields["order-parameter"].long_name == "order parameter of mode 1, kappa = 3"
    assert swept.layout.fields["fold"].long_name == "kappa of branch 1, fold"
    texts = " ".join(text.get_text() for text in swept.plot().texts)
    assert "stationary states for kappa from 0.1 to 4" in texts
    assert "no noise" not in texts


@pytest.mark.parametrize(
    ("blocks", "told"),
    [
        ({"collect": ["order-parameter"]}, "collect.0: is of stationary states here"),
        ({"time": {"until": 1}}, "collect.0: is of stationary states, and points are runs"),
        ({"collect": [{"state": "count", "at": 9}]}, "collect.0.at: must be in the diagram's range, 0.1 to 4, not 9"),
        ({"collect": [{"state": "count", "at": 1, "branch": 1}]}, "count is of all states"),
        ({"collect": [{"state": "amplitude", "at": 1}]}, "collect.0.branch: is missing"),
        ({"collect": [{"state": "amplitude", "branch": 1}]}, "needs either `at`"),
        ({"collect": [{"special": "fold", "branch": 1, "side": "upper"}]}, "side: goes with `at`"),
        ({"collect": [{"special": "fold", "branch": 1, "reduce": "max"}]}, "reduce: is of runs"),
        ({"collect": [{"branch": 1, "at": 1}]}, "needs either `observe`"),
        ({"collect": [{"state": "amplitude", "branch": "mod 1", "at": 1}]}, "branch"),
        ({"collect": [{"observe": "moments", "branch": 1, "at": 1}]}, "moments"),
        ({"sweep": {"bifurcation.parameter": ["kapa"]}}, "sweep.bifurcation.parameter: "),
    ],
)
def test_what_is_wrong_is_told_before_the_first_point(blocks, told):
    with pytest.raises(mfpde.ProblemError) as caught:
        mfpde.sweep(problem(**blocks))
    assert told in str(caught.value)
