"""Densities between the points of a lattice."""

import numpy as np
import pytest

from mfpde.geometry import Lattice
from mfpde.measure import GridDensity, Panel, interpolation
from mfpde.transform.high_differences import largest_differences

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


def bump(x):
    return 1 / np.cosh(x) ** 2


@pytest.mark.parametrize("cells", [36, 48, 72])
def test_the_error_between_points_is_estimated(cells):
    axis = np.linspace(-9.0, 9.0, cells)
    panel = Panel(Lattice.of([axis]), bump(axis), averages=False)
    x = np.linspace(-3.0, 3.0, 999)
    off = np.abs(GridDensity([panel]).evaluate(x[:, None]) - bump(x)).max()
    assert 0.5 * off < panel.interpolant.error < 10 * off


@pytest.mark.parametrize("cells", [20, 28])
def test_the_error_at_ends_is_estimated(cells):
    """Of averages of 1 + sin 6x on cells of [0, 1]."""
    faces = np.linspace(0.0, 1.0, cells + 1)
    averages = np.diff(faces - np.cos(6 * faces) / 6) * cells
    panel = Panel(Lattice.of([0.5 * (faces[1:] + faces[:-1])]), averages, edges=True)
    x = np.linspace(0.001, 0.999, 999)
    off = np.abs(GridDensity([panel]).evaluate(x[:, None]) - 1 - np.sin(6 * x)).max()
    assert off < 30 * panel.interpolant.error + 1e-12


def test_nothing_is_negative_or_outside_of_the_cells():
    axis = np.linspace(-3, 3, 61)
    box = GridDensity.of([axis], (np.abs(axis) < 1.0).astype(float), averages=False)
    found = box.evaluate(np.linspace(-5, 5, 999)[:, None])
    assert found.min() == 0.0
    assert not found[np.abs(np.linspace(-5, 5, 999)) > 3.1].any()


def test_what_does_not_depend_on_the_points_is_made_once(monkeypatch, random):
    looks, error = [], interpolation._error
    monkeypatch.setattr(interpolation, "_error", lambda *given: looks.append(given) or error(*given))
    measure, points = panel_of(density, FRAME), random.standard_normal((20, 2))
    found = measure.evaluate(points)
    assert [measure.evaluate(points[k : k + 1])[0] for k in range(20)] == pytest.approx(found, rel=1e-14)
    assert len(looks) == 2  # at the density, and at its ratio to the Gaussian


def test_differences_of_high_order(random):
    """Of rows, with and without exponents, against NumPy's windows; those that are larger than `most` are cut."""
    values, exponents, factors = random.random((3, 20)), 3 * random.standard_normal((3, 20)), random.standard_normal(15)
    windows, levels = (np.lib.stride_tricks.sliding_window_view(each, 15, axis=1) for each in (values, exponents))
    for raised, most in ((np.zeros((3, 0)), 1.0), (exponents, 1.0), (exponents, 50.0)):
        rising = np.exp(np.minimum(levels - levels[..., [7]], most)) if raised.size else 1.0
        wanted = np.abs((windows * rising) @ factors)
        found = largest_differences(values, raised, factors, most)
        assert found == pytest.approx((wanted.max(), wanted[:, [0, -1]].max()), rel=1e-13)
