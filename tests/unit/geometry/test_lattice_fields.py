"""Fields on a grid at the points of a lattice."""

import numpy as np

from mfpde.geometry.lattice import Lattice

SLANTED = np.array([0.4, 1.1]), np.array([[0.6, 0.25], [-0.2, 0.7]])


def slanted(rows, columns):
    """On uneven axes."""
    axes = np.cumsum(np.linspace(0.5, 1.5, rows)), np.cumsum(np.linspace(1.4, 0.6, columns))
    return Lattice.of(axes, *SLANTED)


def test_ends_are_those_of_all_points():
    for lattice in (slanted(7, 5), Lattice.of([[1.0, 2.0, 4.0]], [0.5], [[-2.0]])):
        points = lattice.points()
        np.testing.assert_allclose(lattice.ends(), np.stack([points.min(axis=0), points.max(axis=0)], axis=1))


def test_waves_are_interpolated():
    lattice = slanted(9, 150)  # rows longer than a block of points
    (low, _), (across, _) = lattice.ends()
    start = np.floor([low, across]) - 8
    first, second = start[:, None] + np.arange(140)
    fields = np.stack(
        [np.cos(0.5 * first)[:, None] * np.sin(0.3 * second + 1), np.exp(-0.05 * first)[:, None] + 0 * second]
    )
    x, y = lattice.points().T
    found = lattice.interpolated(fields, start)
    np.testing.assert_allclose(found, [np.cos(0.5 * x) * np.sin(0.3 * y + 1), np.exp(-0.05 * x)], atol=1e-11)
