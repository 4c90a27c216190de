"""Densities between the points of a lattice."""

import numpy as np
import pytest

from mfpde.geometry import Lattice
from mfpde.measure import GridDensity, Panel, interpolation

FRAME = np.array([[1.0, 0.4], [-0.3, 0.7]])


def density(points):
    """A correlated Gaussian, in the coordinates of the points."""
    return np.exp(-0.5 * np.einsum("ni,ij,nj->n", points, np.array([[1.0, 0.6], [0.6, 1.3]]), points))


def panel_of(function, frame, cells=32, reach=8.0):
    axis = np.linspace(-reach, reach, cells)
    lattice = Lattice.of([axis, axis], [0.5, -1.0], frame)
    return GridDensity([Panel(lattice, function(lattice.points()).reshape(lattice.shape), averages=False)])


def test_gaussians_are_exact_on_few_cells(random):
    points = 0.5 * random.standard_normal((500, 2))
    found = panel_of(density, FRAME).evaluate(points)
    assert np.abs(found - density(points)).max() < 1e-13


@pytest.mark.parametrize(("cells", "allowed"), [(48, 2e-4), (96, 1e-7)])
def test_what_is_no_gaussian_converges(cells, allowed, random):
    def bumps(points):
        return np.exp(-np.sum((points - 1.5) ** 2, axis=1)) + 1 / np.cosh(np.hypot(points[:, 0] + 2, 1.0)) ** 4

    points = 2.0 * random.standard_normal((500, 2))
    points = points[np.abs(points).max(axis=1) < 6]
    assert np.abs(panel_of(bumps, np.eye(2), cells).evaluate(points) - bumps(points)).max() < allowed


def test_nothing_is_negative_or_outside_of_the_cells():
    axis = np.linspace(-3, 3, 61)
    box = GridDensity.of([axis], (np.abs(axis) < 1.0).astype(float), averages=False)
    found = box.evaluate(np.linspace(-5, 5, 999)[:, None])
    assert found.min() == 0.0
    assert not found[np.abs(np.linspace(-5, 5, 999)) > 3.1].any()


def test_what_does_not_depend_on_the_points_is_made_once(monkeypatch, random):
    looks, bends = [], interpolation._bends
    monkeypatch.setattr(interpolation, "_bends", lambda *given: looks.append(given) or bends(*given))
    measure, points = panel_of(density, FRAME), random.standard_normal((20, 2))
    found = measure.evaluate(points)
    assert [measure.evaluate(points[k : k + 1])[0] for k in range(20)] == pytest.approx(found, rel=1e-14)
    assert len(looks) == 2  # at the density, and at its ratio to the Gaussian
