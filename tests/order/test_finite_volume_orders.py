"""Every order shows itself, of transport and of diffusion, on a grid at rest where nothing but the cells limits the
error. Pairs of cells are where the slope has come close to its limit and roundoff has not: nonlinear weights of order 5
settle late, on the plane they are followed over a factor of four instead."""

import numpy as np
import pytest

import mfpde
from mfpde.solvers.finite_volume.noise_steps import NoiseSteps

LINE = {1: (200, 400), 2: (300, 400), 5: (512, 768), 7: (192, 256), 9: (160, 192)}
PLANE = {1: (128, 256), 2: (192, 256), 5: (48, 192), 7: (128, 160), 9: (144, 160)}
#: cells, and the order of the fluxes of diffusion, which are symmetric: an even one
DIFFUSION = {1: (64, 96, 2), 2: (64, 96, 2), 5: (64, 96, 6), 7: (64, 96, 6), 9: (96, 128, 8)}
VARIANCE, START, UNTIL = 0.8, 0.4, 0.5


def error(order, cells, dimension, mean, variance, **equation):
    """Integral of the density's error at the end, where it is a Gaussian, isotropic."""
    run = mfpde.solve(
        mfpde.Problem.from_dict(
            {
                **equation,
                "geometry": {"kind": "line" if dimension == 1 else "plane"},
                "initial": {"kind": "gaussian", "mean": [START] * dimension, "covariance": VARIANCE},
                "solver": {
                    "kind": "finite-volume",
                    "order": order,
                    "cells": cells,
                    "box": [[-8, 8]] * dimension,
                    "frame": "static",
                },
                "time": {"until": UNTIL, "save": False},
            }
        )
    )
    (panel,) = run.measure(-1).panels
    z = panel.lattice.points() - mean
    exact = np.exp(-0.5 * np.sum(z**2, axis=1) / variance) / (2 * np.pi * variance) ** (dimension / 2)
    return float(np.abs(panel.values.ravel() - exact).sum() * panel.volume)


def transported(order, cells, dimension):
    """Under softmax attention with A = c I, V = -I and S_0 = s_0 I Gaussians are known:
    `S^{-1} = S_0^{-1} + 2 c t`, `m = m_0 (1 + 2 c t s_0)^{-1/2} e^{-t}`."""
    grown = 1 + 2 * 0.5 * UNTIL * VARIANCE
    mean, variance = START * np.exp(-UNTIL) / np.sqrt(grown), VARIANCE / grown
    return error(order, cells, dimension, mean, variance, attention={"kind": "softmax", "A": 0.5, "V": -1})


def spread(order, cells, dimension):
    """Noise alone: `S = S_0 + 2 t / kappa`."""
    return error(order, cells, dimension, START, VARIANCE + 2 * UNTIL / 4, noise={"kappa": 4})


def observed(found, order, coarse, fine, dimension):
    return np.log(found(order, coarse, dimension) / found(order, fine, dimension)) / np.log(fine / coarse)


@pytest.mark.parametrize("order", LINE)
def test_transport_on_the_line(order):
    assert abs(observed(transported, order, *LINE[order], 1) - order) < 0.15


#: two of those that the line tells of above; all of them go along one axis after the other there
@pytest.mark.slow
@pytest.mark.parametrize("order", [pytest.param(p, marks=pytest.mark.long if p in (2, 7) else ()) for p in PLANE])
def test_transport_on_the_plane(order):
    assert abs(observed(transported, order, *PLANE[order], 2) - order) < 0.15


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("order", DIFFUSION)
def test_diffusion(order, dimension, monkeypatch):
    monkeypatch.setattr(NoiseSteps, "limits", lambda *_: None)  # exact steps have no stencils
    coarse, fine, expected = DIFFUSION[order]
    assert abs(observed(spread, order, coarse, fine, dimension) - expected) < 0.15
