"""Every order of the fluxes shows itself, on a grid at rest where nothing but the cells limits the error."""

import numpy as np
import pytest

import mfpde

ORDERS = {1: (200, 400), 2: (150, 300), 5: (96, 192), 7: (96, 144), 9: (96, 128)}
PLANE_ORDERS = {5: (48, 96), 7: (64, 96), 9: (64, 96)}


def error(order, cells, dimension):
    """Integral of the density's error at t = 1/2 under `A = V = -c I`-like attention, where Gaussians are known:
    `S^{-1} = S_0^{-1} + 2 c t`, `m = m_0 (1 + 2 c t s_0)^{-1/2} e^{-t}`, for S_0 = s_0 I, A = c I, V = -I."""
    strength, until, variance, start = 0.5, 0.5, 0.8, 0.4
    run = mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "line" if dimension == 1 else "plane"},
                "attention": {"kind": "softmax", "A": strength, "V": -1},
                "initial": {"kind": "gaussian", "mean": [start] * dimension, "covariance": variance},
                "solver": {"kind": "finite-volume", "order": order, "cells": cells, "box": [[-8, 8]] * dimension},
                "time": {"until": until, "save": False},
            }
        )
    )
    grown = 1 + 2 * strength * until * variance
    mean, spread = start * np.exp(-until) / np.sqrt(grown), variance / grown
    (panel,) = run.measure(-1).panels
    z = panel.lattice.points() - mean
    exact = np.exp(-0.5 * np.sum(z**2, axis=1) / spread) / (2 * np.pi * spread) ** (dimension / 2)
    return float(np.abs(panel.values.ravel() - exact).sum() * panel.volume)


@pytest.mark.parametrize("order", ORDERS)
def test_line(order):
    coarse, fine = ORDERS[order]
    observed = np.log(error(order, coarse, 1) / error(order, fine, 1)) / np.log(fine / coarse)
    assert order - 0.5 < observed < order + 0.8


@pytest.mark.parametrize("order", PLANE_ORDERS)
def test_plane(order):
    coarse, fine = PLANE_ORDERS[order]
    observed = np.log(error(order, coarse, 2) / error(order, fine, 2)) / np.log(fine / coarse)
    assert observed > order - 1.2  # cells are still coarse, the slope is on its way up
