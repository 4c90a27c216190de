"""Interactions with kinks of densities on the plane: quadrature in polar coordinates, and Fourier series."""

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import jv

import mfpde
from mfpde.attention import lattice_sums


def covariance_rates(slope, ends):
    """`d/dt S_ii = E[W'(r) d_i^2 / r]`, d the difference of two tokens of N(0, diag(1, 1/2)): in polar coordinates."""
    points, weights = np.polynomial.legendre.leggauss(200)
    angles = 2 * np.pi * (np.arange(200) + 0.5) / 200
    found = np.zeros(2)
    for low, high in itertools.pairwise(ends):
        r = 0.5 * (low + high) + 0.5 * (high - low) * points
        density = np.exp(-0.5 * r[:, None] ** 2 * (np.cos(angles) ** 2 / 2 + np.sin(angles) ** 2)) / np.sqrt(8) / np.pi
        measured = 0.5 * (high - low) * weights * r**2 * slope(r) @ density * (2 * np.pi / angles.size)
        found += measured @ np.cos(angles) ** 2, measured @ np.sin(angles) ** 2
    return found


KINKS_ON_THE_PLANE = [
    ("-r", lambda r: -np.ones_like(r), [0, 15]),
    ("minimum(r, 1)", lambda r: 1.0 * (r < 1), [0, 1, 15]),
    ("maximum(0, 1 - r**2)/2", lambda r: -r * (r < 1), [0, 1, 15]),
    ("exp(-400*r**2)/400", lambda r: -2 * r * np.exp(-400 * r * r), [0, 0.1, 0.5]),
]


def on_the_plane(text, until, **blocks):
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "plane"},
            "interaction": {"expression": text},
            "initial": {"kind": "gaussian", "mean": [0, 0], "covariance": [[1, 0], [0, 0.5]]},
            "solver": {"kind": "finite-volume", "cells": 56, "tolerance": 1e-5},
            "time": {"until": until},
            **blocks,
        }
    )


def first_error(run, slope, ends):
    rates, frame = run._present_rates().matrix[0], run.solution.matrix[0]
    return np.abs(2 * np.diag(rates @ frame.T) - covariance_rates(slope, ends)).max()


@pytest.mark.parametrize(("text", "slope", "ends"), KINKS_ON_THE_PLANE)
def test_kinks_between_cells_of_the_plane_are_integrated_to_rounding(text, slope, ends):
    problem = on_the_plane(text, 0.02)
    run = problem.solver.start(problem.posed())
    assert first_error(run, slope, ends) < 1e-12
    run.advance(0.02, 10**9)
    assert run.accuracy().kept


def test_sums_over_kinks_that_are_no_waves_are_told(monkeypatch):
    monkeypatch.setitem(lattice_sums._NODES_MAX, 2, 0)
    text, slope, ends = KINKS_ON_THE_PLANE[1]
    problem = on_the_plane(text, 0.02)
    run = problem.solver.start(problem.posed())
    assert 1e-5 < first_error(run, slope, ends) < run._system.doubt_of_sums(0.0, run.solution)
    run.advance(0.02, 10**9)
    assert run.accuracy().kept is None
    assert run.accuracy().cause == "kinks"


@pytest.mark.parametrize("kappa", [8.0, np.inf])
def test_bounded_confidence_on_the_plane_is_that_of_fourier_series(kappa):
    """`d_t rho + div(rho grad (W * rho)) = (1/kappa) Lap rho` on a torus of side 11, the transform of `W = max(0, 1 -
    r^2)/2` in closed form: `2 pi J_2(k) / k^2`."""
    side, count, until = 11.0, 96, 0.2
    x = side * (np.arange(count) / count - 0.5)
    numbers = np.fft.fftfreq(count, 1 / count), np.arange(count // 2 + 1)
    k = 2 * np.pi / side * np.array(np.meshgrid(*numbers, indexing="ij"))
    squared = (k**2).sum(axis=0)
    held = np.where(squared > 0, squared, 1.0)
    pull = np.where(squared > 0, 2 * np.pi * jv(2, np.sqrt(held)) / held, np.pi / 4)
    mean, covariance = np.array([0.3, -0.2]), np.array([[0.5, 0.1], [0.1, 0.3]])
    away = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1) - mean
    shape = np.exp(-0.5 * np.einsum("abi,ij,abj->ab", away, np.linalg.inv(covariance), away))
    start = np.fft.rfft2(shape / (2 * np.pi * np.sqrt(np.linalg.det(covariance))))

    def slope(time, state):
        damping = np.exp(squared / kappa * (until - time))  # of waves as they will be in the end
        waves = state.view(complex).reshape(start.shape) * damping
        rho = np.fft.irfft2(waves)
        flux = [np.fft.rfft2(rho * np.fft.irfft2(1j * each * pull * waves)) for each in k]
        change = -1j * (k[0] * flux[0] + k[1] * flux[1]) / damping
        return np.ascontiguousarray(change).ravel().view(float)

    first = np.ascontiguousarray(start * np.exp(-squared / kappa * until)).ravel().view(float)
    found = solve_ivp(slope, (0, until), first, "DOP853", rtol=1e-10, atol=1e-11).y[:, -1]
    rho = np.fft.irfft2(np.ascontiguousarray(found).view(complex).reshape(start.shape))
    initial = {"kind": "gaussian", "mean": mean, "covariance": covariance}
    blocks = {"initial": initial, "noise": {"kappa": kappa}}
    run = mfpde.solve(on_the_plane("maximum(0, 1 - r**2)/2", until, **blocks))
    points = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    off = np.abs(run.measure(-1).evaluate(points).reshape(rho.shape) - rho).max() / rho.max()
    assert run.outcome.accuracy.kept
    assert off < run.outcome.accuracy.promised
