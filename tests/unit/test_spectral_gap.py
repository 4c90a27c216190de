"""`spectral-gap`: closed forms, an independent program, and what is seen in time."""

import numpy as np
import pytest
from reference import linearised

import mfpde
from mfpde.observe import Instant
from mfpde.observe.spectral_gap import SpectralGap


def gap(geometry, law, kappa, measure):
    equation = mfpde.Equation(geometry=geometry, attention=law, noise={"kappa": kappa})
    return SpectralGap().evaluate(Instant(0.0, measure, equation, lambda: 0.0))["spectral-gap"]


@pytest.mark.parametrize("geometry", [mfpde.Circle(), mfpde.Sphere()], ids=["circle", "sphere"])
def test_uniform(geometry):
    """Degree l decays at `l (l + d - 2) (1/kappa - g_l / (beta g_0))`; without attention diffusion is left."""
    d = geometry.ambient_dimension
    levels = linearised.Law(d, 3.0, True).levels
    for kappa in (2.0, 9.0):
        degree = np.arange(1, 20)
        expected = (degree * (degree + d - 2) * (1 / kappa - levels[1:20] / (3 * levels[0]))).min()
        uniform = mfpde.Uniform().on(geometry)
        assert gap(geometry, mfpde.Softmax(beta=3), kappa, uniform) == pytest.approx(expected, abs=1e-11)
        assert gap(geometry, None, kappa, uniform) == pytest.approx((d - 1) / kappa, abs=1e-12)


@pytest.mark.parametrize(
    ("geometry", "law", "ratio", "mode"),
    [
        (mfpde.Circle(), mfpde.Unnormalized(beta=4), 1.3, 1),
        (mfpde.Circle(), mfpde.Softmax(beta=2), 1.3, 2),
        (mfpde.Sphere(), mfpde.Softmax(beta=0.5), 1.1, 1),
        (mfpde.Sphere(), mfpde.Unnormalized(beta=1), 0.97, 2),
    ],
)
def test_stationary_states(geometry, law, ratio, mode):
    """All eigenvalues of the independent program but the zeros of rotations."""
    softmax = isinstance(law, mfpde.Softmax)
    own = linearised.Law(geometry.ambient_dimension, law.beta, softmax, degrees=24)
    kappa = ratio * law.beta / own.levels[mode] * (own.levels[0] if softmax else 1)
    state = mfpde.stationary_state(geometry, law, kappa=kappa, mode=mode, side="upper")
    moments, _ = linearised.stationary(own, kappa, state.moments)
    rates = linearised.rates(own, kappa, moments, top=30, orders=4).real
    kept = rates[np.abs(rates) > 1e-9 * np.abs(rates[:9]).max()]
    assert rates.size - kept.size == geometry.ambient_dimension - 1
    assert gap(geometry, law, kappa, state.measure) == pytest.approx(-kept[0], abs=1e-8 / kappa)


def test_what_is_seen_in_time(tmp_path):
    """A perturbed unstable state is left at minus its gap, and a stable one is reached at its gap."""
    blocks = {"geometry": {"kind": "circle"}, "attention": {"kind": "unnormalized", "beta": 5}}
    block = {"range": [0.15, 0.25], "branches": [1]}
    file = str(mfpde.bifurcate(mfpde.Problem.from_dict({**blocks, "bifurcation": block})).save(tmp_path / "b.h5"))
    slopes = {}
    for side in ("lower", "upper"):
        run = mfpde.solve(
            mfpde.Problem.from_dict(
                {
                    **blocks,
                    "noise": {"kappa": 0.19},
                    "initial": {"kind": "branch", "file": file, "branch": 1, "at": 0.19, "side": side, "perturb": 1e-4},
                    "solver": {"kind": "spectral", "tolerance": 1e-11},
                    "time": {"until": 2, "save_every": 0.25},
                    "observe": ["order-parameter", "spectral-gap"],
                }
            )
        )
        state = mfpde.load(file).branches[1].at(0.19, side)
        away = np.abs(run["order-parameter"] - state.moments[1])
        slopes[side] = np.polyfit(run.times[4:9], np.log(away[4:9]), 1)[0]
        leading = next(mode.rate for mode in state.modes if not mode.rotation)
        assert run["spectral-gap"][0] == pytest.approx(-leading, abs=2e-3)
        assert slopes[side] == pytest.approx(-run["spectral-gap"][4:9].mean(), rel=2e-2)
    assert slopes["lower"] > 0 > slopes["upper"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"noise": None}, "without noise perturbations have no discrete rates"),
        ({"geometry": {"kind": "sphere", "dimension": 4}, "initial": {"kind": "uniform"}}, "in three dimensions"),
        ({"attention": {"kind": "softmax", "A": [[1, 0], [0, 2]], "V": 1}}, "A and V multiples of I"),
        ({"geometry": {"kind": "line"}}, "made for the circle and the sphere"),
    ],
)
def test_refusals(change, told):
    blocks = {
        "geometry": {"kind": "circle"},
        "attention": {"kind": "unnormalized", "beta": 1},
        "noise": {"kappa": 2},
        "initial": {"kind": "uniform"},
        "time": {"until": 1},
        "observe": ["spectral-gap"],
    }
    with pytest.raises(mfpde.ProblemError, match=told):
        mfpde.solve(mfpde.Problem.from_dict({name: one for name, one in {**blocks, **change}.items() if one}))
