"""Finite volumes against Gaussians, whose two moments another program integrates (physics.md section 4)."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mfpde

A, V = np.array([[1.0, 0.5], [-0.2, 0.7]]), np.array([[-1.0, 0.3], [-0.4, -0.8]])
MEAN, COVARIANCE = np.array([0.5, 0.0]), np.array([[1.0, 0.3], [0.3, 0.5]])


def moments(query, value, mean, covariance, until, diffusion=0.0):
    """`m' = V (I + S A) m`, `S' = B S + S B^T + 2 D I`, `B = V S A`."""
    d = mean.size

    def slope(_, y):
        m, s = y[:d], y[d:].reshape(d, d)
        b = value @ s @ query
        return np.concatenate([value @ (m + s @ query @ m), (b @ s + s @ b.T + 2 * diffusion * np.eye(d)).ravel()])

    start = np.concatenate([mean, covariance.ravel()])
    end = solve_ivp(slope, (0, until), start, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    return end[:d], end[d:].reshape(d, d)


def gaussian(points, mean, covariance):
    z = points - mean
    exponent = -0.5 * np.einsum("ni,ij,nj->n", z, np.linalg.inv(covariance), z)
    return np.exp(exponent) / np.sqrt(np.linalg.det(2 * np.pi * covariance))


def solved(query, value, mean, covariance, until, kappa=np.inf, **solver):
    return mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "line" if mean.size == 1 else "plane"},
                "attention": {"kind": "softmax", "A": query, "V": value},
                "noise": {"kappa": kappa},
                "initial": {"kind": "gaussian", "mean": mean, "covariance": covariance},
                "solver": {"kind": "finite-volume", **solver},
                "time": {"until": until, "save": False},
            }
        )
    )


def errors(run, query, value, mean, covariance, until, diffusion=0.0):
    """Of mean and covariance, and the integral of the density's error."""
    m, s = moments(query, value, mean, covariance, until, diffusion)
    measure = run.measure(-1)
    (panel,) = measure.panels
    exact = gaussian(panel.lattice.points(), m, s).reshape(panel.values.shape)
    apart = float(np.abs(panel.values - exact).sum() * panel.volume)
    return max(np.abs(measure.mean - m).max(), np.abs(measure.covariance - s).max()), apart


LINE = (np.array([[1.0]]), np.array([[-1.0]]), np.array([0.5]), np.array([[1.0]]), 2.0)
PLANE = (A, V, MEAN, COVARIANCE, 2.0)


@pytest.mark.parametrize("kappa", [np.inf, 4.0], ids=["quiet", "noisy"])
@pytest.mark.parametrize("data", [LINE, PLANE], ids=["line", "plane"])
def test_a_gaussian_is_as_exact_as_its_frame(data, kappa):
    of_moments, apart = errors(solved(*data, kappa, cells=48), *data, 1 / kappa)
    assert of_moments < 2e-12
    assert apart < 4e-12


def test_line_at_rest():
    of_moments, apart = errors(solved(*LINE, frame="static", cells=256), *LINE)
    assert of_moments < 1e-9
    assert apart < 3e-8


def test_line_at_rest_with_noise():
    of_moments, apart = errors(solved(*LINE, 4.0, frame="static", cells=256), *LINE, 0.25)
    assert of_moments < 1e-7
    assert apart < 2e-7


def test_plane_at_rest():
    data = (*PLANE[:4], 0.3)
    of_moments, apart = errors(solved(*data, frame="static", cells=112), *data)
    assert of_moments < 1e-6
    assert apart < 1e-5


@pytest.mark.parametrize(
    ("mean", "covariance", "cells"),
    [(np.array([0.5]), np.array([[1.0]]), 64), (MEAN, COVARIANCE, 24)],
    ids=["line", "plane"],
)
def test_blow_up(mean, covariance, cells):
    eye = np.eye(mean.size)
    run = solved(eye, eye, mean, covariance, 2.0, cells=cells)
    pole = 1 / (2 * np.linalg.eigvalsh(covariance)[-1])
    assert run.outcome.kind == "blow-up"
    assert abs(run.outcome.time / pole - 1) < 1e-9
    assert abs(run.outcome.time - pole) < run.outcome.uncertainty
    assert run.outcome.uncertainty < 1e-8
    assert np.isfinite(run.density).all()


def test_collapse_to_a_line_stays_resolved():
    """`x' = -V x` pointwise: the covariance is known, one width falls to 1e-8 of the other."""
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "plane"},
            "attention": {"kind": "linear", "A": 0, "V": 1},
            "drift": {"kind": "mlp", "W": [[-18.0, 0.0], [0.0, -1.0]], "U": 1, "b": [0, 0], "activation": "relu"},
            "initial": {"kind": "gaussian", "mean": [30, 20], "covariance": [[1.0, 0.3], [0.3, 0.5]]},
            "solver": {"kind": "finite-volume", "cells": 32},
            "time": {"until": 1.0, "save": False},
        }
    )
    run = mfpde.solve(problem)
    decay = np.exp([-18.0, -1.0])
    measure = run.measure(-1)
    assert run.outcome.kind == "finished"
    assert np.abs(measure.covariance / (decay[:, None] * COVARIANCE * decay) - 1).max() < 1e-6
    assert np.linalg.cond(measure.panels[0].lattice.matrix) > 1e7


def wide(initial):
    return mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "line"},
                "attention": {"kind": "softmax", "A": 1, "V": -1},
                "initial": initial,
                "solver": {"kind": "finite-volume", "cells": 256},
                "time": {"until": 0.5, "save": False},
            }
        )
    )


def test_tails_that_attention_looks_into_and_cells_do_not_hold_are_said_at_the_end():
    """With |S A| = 2 a Gaussian's tail is its own; that of a mixture is known near the edges only."""
    parts = [("gaussian", -1.0, 1.0, 0.4), ("gaussian", 1.0, 2.0, 0.6)]
    components = [dict(zip(("kind", "mean", "covariance", "weight"), part, strict=True)) for part in parts]
    estimated = wide({"kind": "mixture", "components": components}).outcome.accuracy
    assert (estimated.kept, estimated.cause) == (None, "tails")
    assert wide({"kind": "gaussian", "mean": 1.0, "covariance": 2.0}).outcome.accuracy.cause != "tails"


def contracting(until):
    """A law whose variance falls like 1 / 2t, around a mean that is soon at rest."""
    return mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "line"},
                "attention": {"kind": "softmax", "A": 1, "V": -1},
                "initial": {"kind": "density", "expression": "exp(-x**2) * (1 + 0.3*cos(2*x))"},
                "solver": {"kind": "finite-volume", "cells": 64},
                "time": {"until": until, "save": False},
            }
        )
    )


def test_a_run_that_would_take_months_ends_with_a_sentence(monkeypatch):
    """Steps stay shorter than what is stable for the mean, at the rate 1."""
    monkeypatch.setattr("mfpde.solvers.finite_volume.diagnostics._PACE_SEEN", 2e5)
    endless = contracting(1e300).outcome
    assert endless.kind == "not finite"
    assert "do not lead to t = 1e+300" in endless.message
    run = contracting(2.0 * endless.time)
    assert run.outcome.kind == "finished"
    assert run.measure(-1).variances[0] == pytest.approx(0.25 / endless.time, rel=0.01)
