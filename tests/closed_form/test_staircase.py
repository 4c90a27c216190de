"""The energy staircase where e^beta is beyond all numbers: time in units of the gradient needs logarithms only."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mfpde
from mfpde.observe import Instant
from mfpde.observe.energy_share import EnergyShare
from mfpde.prepare import faults

ANGLES = [0.0, 0.7, 1.9, 3.6, 4.4]


def task(kind, beta, until=12, **time):
    return {
        "geometry": {"kind": "circle"},
        "attention": {"kind": kind, "beta": beta},
        "initial": {"kind": "points", "values": ANGLES},
        "solver": {"kind": "particles"},
        "time": {"until": until, "save_every": until / 120, **time},
        "observe": ["energy-share"],
    }


def solved(given):
    return mfpde.solve(mfpde.Problem.from_dict(given))


@pytest.mark.parametrize("kind", ["unnormalized", "softmax"])
def test_stairs_are_the_squares_of_masses(kind):
    """The closest pair always moves: 0 and 0.7, then 3.6 and 4.4, then what is closest of the rest."""
    run = solved(task(kind, 2000, clock="gradient"))
    share, stairs = run["energy-share"], np.array([1, 7 / 5, 9 / 5, 13 / 5, 5]) / 5
    assert (np.diff(share) > -1e-12).all()
    near = np.abs(share[:, None] - stairs).min(axis=1) < 1e-6
    assert near.mean() > 0.85
    assert all((np.abs(share - stair) < 1e-9).any() for stair in stairs)


def test_opposite_forces_keep_the_mean_angle():
    """Under unnormalized attention of equal tokens: all end at the mean of their angles."""
    run = solved(task("unnormalized", 2000, clock="gradient"))
    np.testing.assert_allclose(run.positions[-1, :, 0], np.mean(ANGLES), atol=1e-6)
    np.testing.assert_allclose(run.positions[:, :, 0].sum(axis=1), np.sum(ANGLES), atol=1e-6)


def slope(angles, beta):
    """Of unnormalized attention, in a time that runs e^beta faster."""
    apart = angles[None] - angles[:, None]
    return (np.exp(beta * (np.cos(apart) - 1)) * np.sin(apart)).mean(axis=1)


def jacobian(angles, beta):
    apart = angles[None] - angles[:, None]
    kernel = np.exp(beta * (np.cos(apart) - 1)) * (np.cos(apart) - beta * np.sin(apart) ** 2) / angles.size
    return kernel - np.diag(kernel.sum(axis=1))


def test_the_way_by_a_stiff_program():
    """Radau's method in the time of the equation, to 1e9, without merging: the same places after the same way, down to
    one cluster. Explicit steps of one length in the clock of the gradient follow only the first stairs: within a
    cluster they jump to and fro, and the way that they count is no way (docs/numerics.md)."""
    beta, angles = 9, np.random.default_rng(0).uniform(0, 2 * np.pi, 32)
    stiff = solve_ivp(
        lambda _, places: slope(places, beta),
        (0, 1e9),
        angles,
        method="Radau",
        jac=lambda _, places: jacobian(places, beta),
        rtol=1e-8,
        atol=1e-10,
        first_step=1e-3,
    ).y.T
    chords = np.diff(stiff, axis=0)
    ways = np.concatenate([[0], np.cumsum(np.sqrt(np.mean(chords**2, axis=1)))])
    given = task("unnormalized", beta, until=1.002 * ways[-1], clock="gradient")
    run = solved({**given, "initial": {"kind": "points", "values": angles}})
    for way, places in zip(run.times, run.positions[:, :, 0], strict=True):
        near = [np.interp(way, ways, column) for column in stiff.T]
        assert np.abs(np.angle(np.exp(1j * (places - near)))).max() < 3e-3
    heights = np.array([np.exp(beta * (np.cos(each[None] - each[:, None]) - 1)).mean() for each in stiff])
    found = run["energy-share"] * (1 - np.exp(-beta)) + np.exp(-beta)  # without the -1 of the energy
    np.testing.assert_allclose(found, np.interp(run.times, ways, heights), rtol=3e-4)
    _, masses = np.unique(np.round(run.positions[np.argmin(np.abs(run.times - 1.58)), :, 0], 2), return_counts=True)
    rest = found[np.abs(run.times - 1.58) < 0.1]  # two clusters rest that far, then one is left
    assert masses.size == 2
    np.testing.assert_allclose(rest, (masses**2).sum() / 32**2, rtol=1e-5)
    assert found[-1] == pytest.approx(1, abs=1e-9)


def test_the_share_is_the_energy_over_its_largest():
    run = solved({**task("unnormalized", 3, 2), "observe": ["energy", "energy-share"]})
    np.testing.assert_allclose(run["energy-share"], run["energy"] / (np.expm1(3) / 6), rtol=1e-12)


@pytest.mark.parametrize("beta", [-2.0, 0.0, 0.3, 1.5, 40.0])
def test_the_share_by_the_double_sum(beta, random):
    points = random.standard_normal((20, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    weights = random.random(20)
    weights /= weights.sum()
    space = mfpde.Problem.from_dict({"geometry": {"kind": "sphere"}}).geometry
    equation = mfpde.Equation(geometry=space, attention=mfpde.Softmax(beta=beta))
    measure = mfpde.Particles(points, weights, space)
    cosines = points @ points.T
    each = cosines if beta == 0 else np.expm1(beta * cosines) / np.expm1(beta)
    value = EnergyShare().evaluate(Instant(0.0, measure, equation, lambda: 0.0))["energy-share"]
    assert value == pytest.approx(weights @ each @ weights, rel=1e-12)


@pytest.mark.parametrize("geometry", [{"kind": "circle"}, {"kind": "sphere"}])
def test_in_the_time_of_the_equation_the_speed_is_refused(geometry):
    given = task("unnormalized", 2000)
    given |= {"geometry": geometry, "initial": {"kind": "uniform"}, "solver": {"kind": "particles", "count": 5}}
    assert "e^2000 overflows" in str(faults(mfpde.Problem.from_dict(given))[0])
    given["time"]["clock"] = "gradient"
    assert not faults(mfpde.Problem.from_dict(given))
