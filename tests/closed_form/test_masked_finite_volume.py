"""Masked attention by finite volumes: against moving Gauss-Hermite nodes, and closed forms of Gaussians."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mfpde
from mfpde.contracts.solver import State
from mfpde.geometry import Lattice
from mfpde.measure import Normal, Panel, Positioned
from mfpde.solvers.finite_volume.gaussian_closure import ClosedDensity, Closure
from mfpde.solvers.finite_volume.grid import Grid

PLACES, NODES = (0.25, 0.75), 70
MEANS, VARIANCES = np.array([0.5, -0.3]), np.array([1.0, 0.6])


def moments_by_nodes(query, value, until):
    """Means and variances of two slices, of which the second sees both, the first itself: both laws are nodes whose
    weights stay, and every sum is written out."""
    x, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    start = MEANS[:, None] + np.sqrt(VARIANCES)[:, None] * x

    def slope(_, y):
        y = y.reshape(2, NODES)
        out = np.empty_like(y)
        for place in range(2):
            keys, masses = y[: place + 1].ravel(), np.tile(weights, place + 1)
            scores = query * np.multiply.outer(y[place], keys)
            raised = np.exp(scores - scores.max(axis=1, keepdims=True)) * masses
            out[place] = value * (raised @ keys) / raised.sum(axis=1)
        return out.ravel()

    end = solve_ivp(slope, (0, until), start.ravel(), method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1].reshape(2, -1)
    mean = end @ weights
    return mean, ((end - mean[:, None]) ** 2) @ weights


def asked(tilt, cells):
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": {
                "kind": "masked",
                "attention": {"kind": "softmax", "A": tilt, "V": -1},
                "positions": PLACES,
            },
            "initial": {"kind": "gaussian", "mean": 0.5, "covariance": 1.0},
            "solver": {"kind": "finite-volume", "cells": cells},
            "time": {"until": 0.5, "save": False},
        }
    )


@pytest.mark.parametrize("tilt", [1.0, 2.0])
def test_slices_that_are_one_gaussian_stay_one(tilt):
    """`S = 1 / (1 + 2 A t)`: a token at x looks at tokens about `(1 + S A) x`, where there are no cells."""
    for panel in mfpde.solve(asked(tilt, 64)).measure(-1).panels:
        mean, covariance = panel.moments
        grown = 1 + 2 * tilt * 0.5
        assert abs(mean[0] - 0.5 * np.exp(-0.5) / np.sqrt(grown)) < 1e-11
        assert abs(covariance[0, 0] - 1 / grown) < 1e-11


@pytest.mark.parametrize("tilt", [0.7, 1.0])
def test_slices_of_two_gaussians(tilt, monkeypatch):
    initial = Positioned(PLACES, [Normal(m, v, mfpde.Line()) for m, v in zip(MEANS, VARIANCES, strict=True)])
    monkeypatch.setattr(mfpde.Equation, "initial_measure", lambda _: initial)
    problem = asked(tilt, 160)
    integration = problem.solver.start(problem.posed())
    while integration.advance(0.5, 10**6).state is State.UNDER_WAY:
        pass
    mean, variance = moments_by_nodes(tilt, -1.0, 0.5)
    moments = [panel.moments for panel in integration.measure().panels]
    assert np.abs([own[0][0] for own in moments] - mean).max() < 1e-10
    assert np.abs([own[1][0, 0] for own in moments] - variance).max() < 1e-10


def test_what_a_position_sees_keeps_its_tails():
    """On boxes cut off at three deviations, with queries that look five deviations out."""
    grid = Grid(np.array([-3.0, -3.0]), np.array([3.0, 3.0]), (28, 28), gaussian=True)
    z = Lattice.of(grid.axes).points()
    density = np.exp(-0.5 * (z**2).sum(axis=1)).reshape(grid.cells) / (2 * np.pi)
    frames = np.array([[[1.0, 0.2], [0.0, 0.7]], [[0.5, -0.3], [0.4, 1.1]], [[0.9, 0.0], [0.3, 0.8]]])
    origins, shares = np.array([[0.5, 0.0], [-1.0, 0.7], [0.2, -0.4]]), np.array([0.5, 0.2, 0.3])
    panels, tails, laws = [], [], []
    for place, (frame, origin, share) in enumerate(zip(frames, origins, shares, strict=True)):
        values = share * density / np.linalg.det(frame)
        panels.append(Panel(Lattice(grid.axes, origin, frame), values, averages=False, position=0.1 + 0.4 * place))
        tails.append((panels[-1].lattice, Closure.of(share * density, panels[-1].mass, grid.outside)))
        laws.append(Normal(origin, frame @ frame.T))
    closed = ClosedDensity(panels, tails)
    exact = Positioned([0.1, 0.5, 0.9], laws, shares)
    attention = mfpde.Masked(attention=mfpde.Softmax(A=[[1.2, 0.5], [-0.2, 1.5]], V=[[1, 0.3], [0, -1]]))
    for panel in panels:
        found = attention.drift(closed, panel.lattice)
        points = panel.lattice.points()
        expected = attention.drift(exact, points, np.full(len(points), panel.position))
        assert np.abs(found.reshape(2, -1).T - expected).max() < 1e-11
    assert closed.up_to(0.6)[0] is closed.up_to(0.5)[0]
