"""With noise: moments that every law has in closed form, free energy that never grows, and where it ends."""

import numpy as np
import pytest

import mfpde

BUMPS = {
    "kind": "mixture",
    "components": [
        {"kind": "gaussian", "mean": -1.0, "covariance": 0.3, "weight": 2},
        {"kind": "gaussian", "mean": 1.2, "covariance": 0.2},
    ],
}
MEAN, VARIANCE = -0.8 / 3, (2 * 1.3 + 1.64) / 3 - (0.8 / 3) ** 2
#: g(x) = -x, as a perceptron
HOME = {"kind": "mlp", "W": [[1.0, -1.0]], "U": [[-1.0], [1.0]], "b": [0, 0], "activation": "relu"}


def solved(attention, times, diffusion, initial=BUMPS, solver=None, **blocks):
    return mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "line"},
                "attention": attention,
                "noise": {"kappa": 1 / diffusion},
                "initial": initial,
                "solver": {"kind": "finite-volume", **(solver or {})},
                "time": {"until": times[-1], "save_at": times},
                **blocks,
            }
        )
    )


@pytest.mark.parametrize("frame", ["moving", pytest.param("static", marks=pytest.mark.long)])
def test_any_law_forgets_itself_as_ornstein_and_uhlenbeck_say(frame):
    """`m = e^{-t} m_0`, `S = D + e^{-2t} (S_0 - D)` for every initial law, and a Gaussian in the end."""
    times, diffusion = [0.3, 1.0, 6.0], 0.25
    run = solved({"kind": "softmax", "A": 0, "V": 0}, times, diffusion, solver={"frame": frame}, drift=HOME)
    for time, index in zip(times, np.searchsorted(run.times, times), strict=True):
        measure = run.measure(int(index))
        assert abs(measure.mean[0] - np.exp(-time) * MEAN) < 1e-8
        assert abs(measure.covariance[0, 0] - diffusion - np.exp(-2 * time) * (VARIANCE - diffusion)) < 1e-7
        assert abs(measure.mass - 1) < 1e-13
    x = np.linspace(-2.5, 2.5, 41)
    z, spread = x - np.exp(-time) * MEAN, diffusion + np.exp(-2 * time) * (VARIANCE - diffusion)
    exact = np.exp(-0.5 * z**2 / spread) / np.sqrt(2 * np.pi * spread)
    assert np.abs(run.measure(-1).evaluate(x[:, None]) - exact).max() < 1e-6


@pytest.mark.parametrize("value", [-0.6, 0.3])
def test_free_energy_never_grows_between_walls(value):
    """`F = D int rho log rho - V/(2A) iint e^{A x y} rho rho` of unnormalised attention; in a steady state
    `D log rho - V/A int e^{A x y} rho` is the same everywhere. (V > 0 takes exponentially long to get there.)"""
    strength, diffusion = 0.5, 0.2
    run = solved(
        {"kind": "unnormalized", "A": strength, "V": value},
        [*np.linspace(0.2, 4.0, 20), 20.0],
        diffusion,
        {"kind": "uniform", "box": [[-1.0, 0.5]]},
        {"box": [[-2.5, 2.5]], "cells": 200},
    )
    energies = []
    for index in range(1, len(run.times)):
        (panel,) = run.measure(index).panels
        x, masses = panel.lattice.points()[:, 0], panel.masses.ravel()
        pull = np.exp(strength * np.outer(x, x)) @ masses / strength
        entropy = masses @ np.log(masses / panel.volume)
        energies.append(diffusion * entropy - 0.5 * value * masses @ pull)
        assert masses.min() > 0.0
    assert np.diff(energies).max() < 1e-12
    assert energies[0] - energies[-1] > 1e-2
    level = diffusion * np.log(masses / panel.volume) - value * pull
    if value < 0:
        assert np.ptp(level[5:-5]) < 1e-5 * np.ptp(value * pull)  # fluxes are of lower order next to walls


@pytest.mark.parametrize("geometry", ["line", "plane"])
def test_springs_of_short_range_on_few_cells(geometry):
    """They leave tails that are heavier than the frame's Gaussian, which falls by e^5 from cell to cell there: stencils
    across such ratios once sent waves to the ends, boxes grew after them, and g underflowed in their corners."""
    spot = {"kind": "gaussian", "mean": [0.3, 0], "covariance": [[0.5, 0.1], [0.1, 0.4]]}
    given = {
        "geometry": {"kind": geometry},
        "interaction": {"expression": "exp(-r**2)"},
        "noise": {"kappa": 4},
        "initial": spot if geometry == "plane" else {"kind": "gaussian", "mean": 0.3, "covariance": 0.5},
        "time": {"until": 1.0, "save": False},
    }
    few, many = (
        mfpde.solve(mfpde.Problem.from_dict({**given, "solver": {"kind": "finite-volume", **cells}}))
        for cells in ({"cells": 32}, {"cells": 96 if geometry == "line" else 64})
    )
    for run in (few, many):
        assert run.outcome == "finished"
        assert run.density[-1].min() >= 0.0
        assert abs(run.measure(-1).mass - 1.0) < 1e-12
    assert np.abs(few.measure(-1).covariance - many.measure(-1).covariance).max() < 4e-3


def test_free_energy_of_linear_attention_never_grows():
    """`F = D int rho log rho - A V/4 (int x^2 rho)^2`; in the end `S^2 = D/|A V|` and a Gaussian."""
    times, diffusion = [*np.linspace(0.1, 3.0, 15), 12.0], 0.25
    run = solved({"kind": "linear", "A": 1, "V": -1}, times, diffusion)
    energies = []
    for index in range(len(run.times)):
        measure = run.measure(index)
        x = np.linspace(-8, 8, 4001)
        rho = np.maximum(measure.evaluate(x[:, None]), 1e-300)
        entropy = float((rho * np.log(rho)).sum() * (x[1] - x[0]))
        second = float(measure.covariance[0, 0] + measure.mean[0] ** 2)
        energies.append(diffusion * entropy + 0.25 * second**2)
    assert np.diff(energies).max() < 1e-7
    assert abs(measure.covariance[0, 0] - np.sqrt(diffusion)) < 1e-4
