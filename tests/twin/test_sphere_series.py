"""Series on S^2 on many rings, where they go by recurrences, against tables of Legendre functions."""

import tracemalloc

import numpy as np
import pytest

from mfpde.geometry import sphere_series
from mfpde.geometry.sphere_series import SphereSeries


def random_series(degree: int, random: np.random.Generator) -> SphereSeries:
    size = (degree + 1, degree + 1)
    coefficients = np.triu(random.standard_normal(size) + 1j * random.standard_normal(size))
    coefficients[0] = coefficients[0].real
    return SphereSeries(coefficients)


@pytest.mark.parametrize(("latitudes", "degree"), [(24, 20), (25, 24), (31, 20), (14, 20)])
def test_recurrences_are_tables(latitudes, degree, random, monkeypatch):
    """Even and odd numbers of rings, lengths that have no fast transform, rings that do not show all orders."""
    series = random_series(degree, random)
    by_tables = series.on_grid(latitudes), series.slopes_on_grid(latitudes)
    density = random.standard_normal((latitudes, 2 * latitudes))
    coefficients = SphereSeries.of_grid(density, degree).coefficients
    monkeypatch.setattr(sphere_series, "_TABLE_ENTRIES", 0)
    assert np.allclose(series.on_grid(latitudes), by_tables[0], rtol=0, atol=1e-11)
    assert np.allclose(series.slopes_on_grid(latitudes), by_tables[1], rtol=0, atol=1e-10)
    found = SphereSeries.of_grid(density, degree).coefficients
    assert np.allclose(found, coefficients, rtol=0, atol=1e-12)


def test_many_rings_need_little_memory(random):
    """Tables of 256 rings would be three times 128 MiB."""
    series = random_series(255, random)
    series.on_grid(258)  # compiled code, Gauss nodes
    tracemalloc.start()
    density = series.on_grid(256)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**25
    assert np.abs(SphereSeries.of_grid(density / (4 * np.pi), 255).coefficients - series.coefficients).max() < 1e-11
