"""Densities on the pixels of a picture."""

import numpy as np

from mfpde.geometry import Lattice
from mfpde.measure import GridDensity, Panel
from mfpde.plotting.raster import pixels_on_plane


def turned(angle, cells, values):
    axis = (np.arange(cells) + 0.5) / cells * 4 - 2
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    lattice = Lattice.of([axis, axis], [0.1, -0.2], turn)
    return GridDensity([Panel(lattice, values(*np.meshgrid(axis, axis, indexing="ij")), averages=True)])


def test_a_constant_density_in_a_turned_frame_is_constant():
    """Parts of cells and pixels do not go into each other; a picture must not show it."""
    flat = turned(0.05, 97, lambda x, _: 0.3 + 0 * x)
    shown = pixels_on_plane(flat, np.array([-1.5, -1.5]), np.array([1.5, 1.5]), 73)
    assert np.abs(shown / 0.3 - 1).max() < 1e-12


def test_masses_are_kept():
    bump = turned(0.4, 64, lambda x, y: np.exp(-4 * (x**2 + y**2)))
    low, high, count = np.array([-3.0, -3.0]), np.array([3.0, 3.0]), 80
    shown = pixels_on_plane(bump, low, high, count)
    assert abs(shown.sum() * (6 / count) ** 2 / bump.mass - 1) < 2e-3
