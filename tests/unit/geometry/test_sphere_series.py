"""Spherical harmonics on S^2, against scipy's and against sums over axes."""

import numpy as np
import pytest
from scipy import special

import mfpde
from mfpde.geometry import SphereSeries, ZonalSeries
from mfpde.geometry.axis import Axis
from mfpde.geometry.sphere_series import associated_legendre, legendre_derivatives

DEGREE = 20


def directions(count, seed=3):
    points = np.random.default_rng(seed).standard_normal((count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


POINTS = np.concatenate([directions(12), [[0, 0, 1], [0, 0, -1], [1, 0, 0]]])


def test_associated_functions_are_those_of_scipy():
    angle = np.linspace(0, np.pi, 33)
    table = associated_legendre(np.cos(angle), DEGREE)
    downhill, sideways = legendre_derivatives(table)
    for m in range(DEGREE + 1):
        for k in range(m, DEGREE + 1):
            expected = (-1) ** m * np.sqrt(4 * np.pi) * special.sph_harm_y(k, m, angle, 0.0).real
            np.testing.assert_allclose(table[m, k], expected, atol=2e-13)
            assert (table[k + 1 :, k] == 0).all()
            step = 1e-5
            ends = [special.sph_harm_y(k, m, angle[1:-1] + h, 0.0).real for h in (-step, step)]
            slope = (-1) ** m * np.sqrt(4 * np.pi) * (ends[1] - ends[0]) / (2 * step)
            np.testing.assert_allclose(downhill[m, k, 1:-1], slope, atol=3e-6)
            np.testing.assert_allclose(sideways[m, k] * np.sin(angle), m * table[m, k], atol=1e-12)


def test_series_of_axes_are_sums_over_axes():
    axes, moments = directions(5), np.random.default_rng(4).standard_normal((5, DEGREE + 1))
    one, two = SphereSeries.of_zonal(axes, moments), ZonalSeries(axes, moments)
    potential, normaliser = np.random.default_rng(5).standard_normal((2, DEGREE + 1))
    scale = np.abs(moments).sum() * DEGREE**2
    for mine, theirs in zip(
        one.slopes_and_levels(POINTS, potential, normaliser),
        two.slopes_and_levels(POINTS, potential, normaliser),
        strict=True,
    ):
        np.testing.assert_allclose(mine, theirs, atol=1e-13 * scale)
    laplacians = one.laplacians(POINTS, potential[:7]), two.laplacians(POINTS, potential[:7])
    np.testing.assert_allclose(*laplacians, atol=1e-13 * scale)
    np.testing.assert_allclose(one.powers(), two.powers(), atol=1e-11)


@pytest.mark.parametrize("latitudes", [21, 40])
def test_grids_and_back(latitudes):
    series = SphereSeries.of_zonal(directions(5), np.random.default_rng(6).standard_normal((5, DEGREE + 1)))
    ratio = series.on_grid(latitudes)
    again = SphereSeries.of_grid(ratio / (4 * np.pi), DEGREE)
    np.testing.assert_allclose(again.coefficients, series.coefficients, atol=1e-12)
    colatitude = Axis.of_colatitudes(latitudes).values
    longitude = Axis.of_angles("longitude", 2 * latitudes, "").values
    theta, phi = np.meshgrid(colatitude, longitude, indexing="ij")
    points = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1).reshape(-1, 3)
    ones = np.ones(DEGREE + 1)
    slopes, levels = series.slopes_and_levels(points, ones, ones)
    unmoved, alone = series.slopes_and_levels(points, 0 * ones, ones)
    assert not unmoved.any()
    np.testing.assert_array_equal(alone, levels)
    np.testing.assert_allclose(ratio.ravel(), levels, atol=1e-11)
    south, east = (each.ravel() for each in series.slopes_on_grid(latitudes))
    np.testing.assert_allclose(south**2 + east**2, np.sum(slopes**2, axis=1), rtol=1e-9, atol=1e-8)
    southward = np.stack([np.cos(theta) * np.cos(phi), np.cos(theta) * np.sin(phi), -np.sin(theta)], axis=-1)
    np.testing.assert_allclose(south, np.sum(southward.reshape(-1, 3) * slopes, axis=1), atol=1e-10)


def test_a_grid_too_coarse_is_seen():
    series = SphereSeries.of_zonal(directions(5), np.ones((5, DEGREE + 1)))
    again = SphereSeries.of_grid(series.on_grid(16) / (4 * np.pi), DEGREE)
    assert np.abs(again.coefficients - series.coefficients).max() > 1e-3


def test_a_point_mass_has_the_powers_of_its_harmonics():
    series = mfpde.Particles(POINTS[:1], geometry=mfpde.Sphere()).harmonics(9)
    np.testing.assert_allclose(series.powers(), 2 * np.arange(10) + 1, rtol=1e-13)
