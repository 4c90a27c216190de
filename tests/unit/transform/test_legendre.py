"""Transforms between harmonics of S^2 and Gauss rings: against scipy's harmonics, closed forms, and back again."""

import numpy as np
import pytest
from scipy.special import sph_harm_y

from mfpde.geometry.gauss import gauss_legendre
from mfpde.transform.legendre import RingTransform
from mfpde.transform.ring_fourier import ring_length, ring_roots, transform_rings


def random_table(random, degree, period=1):
    table = random.standard_normal((degree + 1, degree + 1)) + 1j * random.standard_normal((degree + 1, degree + 1))
    table = np.tril(table) * (np.arange(degree + 1) % period == 0)
    table[:, 0] = table[:, 0].real
    return table


def transform_for(degree, period=1):
    rings = -(-(degree + 1) // 2) * 2
    return RingTransform(degree, *gauss_legendre(rings), ring_length(2 * degree // period + 2), period)


def by_scipy(table, colatitude, longitude):
    """`sum c_lm Y_lm` with the uniform measure of mass 1 and no alternating signs."""
    total = np.zeros(np.broadcast(colatitude, longitude).shape)
    for degree, order in zip(*np.nonzero(table), strict=True):
        wave = np.sqrt(4 * np.pi) * (-1) ** order * sph_harm_y(degree, order, colatitude, longitude)
        total += (1 if order == 0 else 2) * (table[degree, order] * wave).real
    return total


@pytest.mark.parametrize("length", [4, 8, 12, 20, 48, 60, 100, 180, 256, 300])
def test_rings_are_transformed_as_numpy_does(length, random):
    data = random.standard_normal((2, length * 8))
    expected = np.fft.fft((data[0] + 1j * data[1]).reshape(length, 8), axis=0).ravel()
    spare = np.empty_like(data)
    found = spare if transform_rings(data, spare, ring_roots(length), 8) else data
    assert np.abs(found[0] + 1j * found[1] - expected).max() < 1e-13 * np.sqrt(length) * 4


@pytest.mark.parametrize(("degree", "period"), [(1, 1), (6, 1), (13, 1), (12, 3)])
def test_values_are_scipys(degree, period, random):
    transform, table = transform_for(degree, period), random_table(random, degree, period)
    colatitude = np.arccos(gauss_legendre(2 * transform.pairs)[0][::-1])[:, None]
    longitude = 2 * np.pi / period / transform.longitudes * np.arange(transform.longitudes)
    expected = by_scipy(table, colatitude, longitude)
    assert np.abs(transform.synthesize(transform.packed(table)) - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize(("degree", "bound"), [(2, 1e-14), (31, 1e-13), (127, 3e-13), (511, 1e-12)])
def test_coefficients_come_back(degree, bound, random):
    transform, table = transform_for(degree), random_table(random, degree)
    found = transform.listed(transform.analyze(transform.synthesize(transform.packed(table))))
    assert np.abs(found - table).max() < bound


def test_gradient_of_coordinates_is_their_projection(random):
    """`f = <a, x>` has the gradient `a - <a, x> x`."""
    transform, direction = transform_for(7), random.standard_normal(3)
    colatitude = np.arccos(gauss_legendre(2 * transform.pairs)[0][::-1])[:, None]
    longitude = 2 * np.pi / transform.longitudes * np.arange(transform.longitudes)
    sin, cos = np.sin(colatitude), np.cos(colatitude)
    a, b, c = direction
    south = a * cos * np.cos(longitude) + b * cos * np.sin(longitude) - c * sin
    east = np.broadcast_to(b * np.cos(longitude) - a * np.sin(longitude), south.shape)
    function = a * sin * np.cos(longitude) + b * sin * np.sin(longitude) + c * cos
    found = transform.gradient(transform.analyze(function))
    assert np.abs(found - np.array([south, east])).max() < 1e-13


@pytest.mark.parametrize("degree", [3, 40, 127])
def test_divergence_of_a_gradient_is_the_laplacian(degree, random):
    transform, table = transform_for(degree), random_table(random, degree)
    found = transform.listed(transform.divergence(transform.gradient(transform.packed(table))))
    order = np.arange(degree + 1.0)[:, None]
    assert np.abs(found - order * (order + 1) * table).max() < 1e-14 * degree**3


def test_a_curl_has_no_divergence(random):
    """Gradients turned by a right angle."""
    transform = transform_for(20)
    south, east = transform.gradient(transform.packed(random_table(random, 20)))
    assert np.abs(transform.divergence(np.array([-east, south]))).max() < 1e-11
