"""Initial measures with more modes than a run may use: the first snapshot is not what it should be, and it is said."""

import numpy as np
import pytest

import mfpde
from mfpde.solvers.spectral.sphere_data import table_of


def solved(initial, tolerance=1e-8):
    return mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "circle"},
                "noise": {"kappa": 4},
                "initial": initial,
                "solver": {"kind": "spectral", "tolerance": tolerance},
                "time": {"until": 0.01},
            }
        )
    )


@pytest.mark.parametrize(
    ("initial", "words"),
    [
        ({"kind": "von-mises", "concentration": 1e6}, "off by 31 % of its peak"),
        ({"kind": "points", "values": [0, 1]}, "there is no density of it"),
        ({"kind": "uniform", "box": [[0, 1]]}, "off by 50 % of its peak"),
    ],
)
def test_a_first_snapshot_that_is_cut_says_so(initial, words):
    outcome = solved(initial).outcome
    assert (outcome.accuracy.kept, outcome.accuracy.cause) == (False, "modes")
    message = outcome.message
    assert f"snapshot 0 shows the initial measure cut at 1024 modes, {words}; from t = 7e-05 on" in message


def test_the_number_is_that_of_the_picture():
    run = solved({"kind": "von-mises", "concentration": 1e6})
    truth = mfpde.VonMises(direction=0, concentration=1e6).evaluate(run.axis("theta"))
    assert np.abs(run.density[0] - truth).max() / truth.max() == pytest.approx(0.31, abs=0.01)


def test_what_all_modes_show_is_not_mentioned():
    outcome = solved({"kind": "von-mises", "concentration": 1e3}).outcome
    assert (outcome.message, outcome.accuracy.kept) == ("", True)


def test_a_peak_between_the_rings_of_a_grid_is_seen():
    """On S^2, narrower than their spacing by far: its degrees are flat, `c_l0 = (2 l + 1)^{1/2}`."""
    found = table_of(mfpde.VonMises(direction=[0, 0, 1], concentration=1e6).on(mfpde.Sphere()), 64)
    assert found.shape == (65, 65)
    np.testing.assert_allclose(found[:, 0].real, np.sqrt(2 * np.arange(65) + 1), rtol=3e-3)
