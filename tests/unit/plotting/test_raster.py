"""What a picture shows is the density: each pixel is held against its average, computed by other means."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.ndimage import maximum_filter, minimum_filter
from scipy.special import erf

from mfpde.geometry import Lattice
from mfpde.measure import GridDensity, Normal, Panel
from mfpde.plotting.plane_run import Picture
from mfpde.plotting.raster import pixels_on_line, pixels_on_plane
from mfpde.plotting.subcells import refined

ORIGIN = np.array([0.1, -0.2])
LOW, HIGH, COUNT = np.array([-3.9, -3.6]), np.array([4.1, 4.4]), 96


def turn(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


FRAMES = {
    "as it is": np.eye(2),
    "rounding": np.array([[1, 1e-18], [-1e-18, 1]]),
    "almost unturned": turn(1e-12),
    "hardly turned": turn(1e-6),
    "a little turned": turn(1e-3),
    "turned": turn(0.7),
    "a quarter turn": turn(np.pi / 2),
    "sheared": np.array([[1, 0.8], [0, 0.5]]),
    "reflected": np.array([[0.0, 1.0], [1.0, 0.0]]),
    "turned, reflected": turn(0.3) @ np.diag([1, -0.6]),
}
every_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())


def panel(frame, cells, averages, origin=ORIGIN):
    """A panel on [-6, 6]^2 in its own coordinates, from averages per area there."""
    axis = (np.arange(cells) + 0.5) / cells * 12 - 6
    return Panel(Lattice.of([axis, axis], origin, frame), averages / abs(np.linalg.det(frame)))


def gaussian(frame, cells, origin=ORIGIN):
    share = np.diff(erf(np.linspace(-6, 6, cells + 1) / np.sqrt(2))) / 2 * cells / 12
    return panel(frame, cells, np.outer(share, share), origin)


def box(frame, cells, half):
    ends = np.linspace(-6, 6, cells + 1)
    share = np.diff(np.clip(ends, -half, half)) * cells / 12 / (2 * half)
    return panel(frame, cells, np.outer(share, share))


def averaged(density, frame, parts=12):
    """Mean of a density in the frame's coordinates over pixels, from many points in each."""
    places = (np.arange(COUNT * parts) + 0.5) / (COUNT * parts)
    x, y = np.meshgrid(*(low + places * (high - low) for low, high in zip(LOW, HIGH, strict=True)), indexing="ij")
    z = np.linalg.solve(frame, np.stack([x.ravel(), y.ravel()]) - ORIGIN[:, None])
    values = density(*z) / abs(np.linalg.det(frame))
    return values.reshape(COUNT, parts, COUNT, parts).mean(axis=(1, 3))


def away_from_edges(exact, pixels):
    """Pixels around which the density is the same in so many directions."""
    near = {"size": 2 * pixels + 1, "mode": "nearest"}
    return maximum_filter(exact, **near) == minimum_filter(exact, **near)


def bell(u, v):
    return np.exp(-(u**2 + v**2) / 2) / (2 * np.pi)


@every_frame
@pytest.mark.parametrize("cells", [48, 128, 300])
def test_a_gaussian_is_shown_as_it_is(frame, cells):
    shown = pixels_on_plane(GridDensity([gaussian(frame, cells)]), LOW, HIGH, COUNT)
    exact = averaged(bell, frame)
    assert np.abs(shown - exact).max() < 0.01 * exact.max()
    assert shown.min() >= 0


@every_frame
@pytest.mark.parametrize("cells", [60, 240])  # the box ends where cells do, which are wider or narrower than pixels
def test_a_box_has_no_rim(frame, cells):
    shown = pixels_on_plane(GridDensity([box(frame, cells, 2.0)]), LOW, HIGH, COUNT)
    exact = averaged(lambda u, v: (np.maximum(np.abs(u), np.abs(v)) < 2) / 16, frame)
    plateau = exact.max()
    assert shown.max() < plateau * (1 + 1e-9)
    assert np.abs(shown - exact)[away_from_edges(exact, 1)].max() < 1e-9 * plateau
    assert np.abs(shown - exact).max() < 0.05 * plateau  # what twelve points a side leave open at its edges


@every_frame
def test_a_disc_has_no_rim(frame):
    fine = (np.arange(128 * 16) + 0.5) / (128 * 16) * 12 - 6
    inside = (fine[:, None] ** 2 + fine**2 < 4).reshape(128, 16, 128, 16).mean(axis=(1, 3)) / (4 * np.pi)
    shown = pixels_on_plane(GridDensity([panel(frame, 128, inside)]), LOW, HIGH, COUNT)
    assert shown.max() < inside.max() / abs(np.linalg.det(frame)) * (1 + 1e-9)
    exact = averaged(lambda u, v: (u**2 + v**2 < 4) / (4 * np.pi), frame)
    assert np.abs(shown - exact)[away_from_edges(exact, 3)].max() < 1e-9 * exact.max()
    cell = np.linalg.norm(frame, axis=0).max() * 12 / 128
    assert np.abs(shown - exact).sum() / exact.sum() < 0.3 * cell  # an edge is known to a share of a cell


@pytest.mark.parametrize("angle", [0.0, 1e-18, 1e-9, 0.4, np.pi / 2])
@pytest.mark.parametrize("thickness", [1e-3, 1e-8, 1e-30, -1e-30])
def test_what_is_narrower_than_a_pixel_keeps_its_mass(angle, thickness):
    frame = turn(angle) @ np.diag([1.0, thickness])
    low, high = ORIGIN - 7, ORIGIN + 7.1
    shown = pixels_on_plane(GridDensity([gaussian(frame, 64)]), low, high, 101)
    area = np.prod(high - low) / 101**2
    assert shown.sum() * area == pytest.approx(1, abs=1e-8)
    across = turn(angle)[:, 1]
    x, y = (a + (np.arange(101) + 0.5) * (b - a) / 101 for a, b in zip(low, high, strict=True))
    distance = (x - ORIGIN[0])[:, None] * across[0] + (y - ORIGIN[1]) * across[1]
    assert shown[np.abs(distance) > 0.3].max() < 1e-9 * shown.max()  # on the line and nowhere else


@pytest.mark.parametrize("thickness", [0.3, 1e-8, 1e-30])
def test_thin_frames_and_thin_cells_are_the_same(thickness):
    """A lattice is a frame times its axes: which of the two is thin makes no difference."""
    thin = gaussian(turn(0.4) @ np.diag([1.0, thickness]), 64)
    first, second = (axis.copy() for axis in thin.lattice.axes)
    cells = Panel(Lattice.of([first, thickness * second], ORIGIN, turn(0.4)), thin.values)
    shown, wanted = (pixels_on_plane(GridDensity([one]), LOW, HIGH, COUNT) for one in (cells, thin))
    assert_allclose(shown, wanted, rtol=0, atol=1e-9 * wanted.max())


def test_panels_add_up():
    frames = [turn(0.3), turn(1e-18) @ np.diag([0.5, 2.0]), np.array([[0.0, 0.4], [0.7, 0.1]])]
    panels = [gaussian(frame, 64) for frame in frames]
    shown = pixels_on_plane(GridDensity(panels), LOW, HIGH, COUNT)
    exact = sum(averaged(bell, frame) for frame in frames)
    assert np.abs(shown - exact).max() < 0.01 * exact.max()


@every_frame
def test_a_picture_agrees_with_the_measure(frame):
    """Against what `evaluate` says at the middles of pixels, which is another interpolation altogether."""
    grid = GridDensity([gaussian(frame, 96)])
    middles = [low + (np.arange(COUNT) + 0.5) / COUNT * (high - low) for low, high in zip(LOW, HIGH, strict=True)]
    density = grid.evaluate(Lattice.of(middles).points()).reshape(COUNT, COUNT)
    shown = pixels_on_plane(grid, LOW, HIGH, COUNT)
    assert np.abs(shown - density).max() < 0.02 * density.max()


def test_a_window_inside_of_the_panel_sees_its_part():
    frame = turn(0.9)
    low, high = np.array([0.3, 0.1]), np.array([0.9, 0.7])
    shown = pixels_on_plane(GridDensity([gaussian(frame, 64)]), low, high, 30)
    places = [a + (np.arange(30) + 0.5) / 30 * (b - a) for a, b in zip(low, high, strict=True)]
    exact = Normal(ORIGIN, np.eye(2)).evaluate(Lattice.of(places).points()).reshape(30, 30)
    assert np.abs(shown - exact).max() < 5e-3 * exact.max()
    nowhere = pixels_on_plane(GridDensity([gaussian(frame, 64)]), low + 50, high + 50, 30)
    assert not nowhere.any()


def test_relative_densities_are_relative_to_the_density():
    """A plateau is drawn at its share of the largest density, whatever the frame."""
    for frame in FRAMES.values():
        grid = GridDensity([box(frame, 60, 2.0), gaussian(0.5 * frame, 60)])
        picture = Picture.of(grid, (LOW, HIGH))
        x = (frame @ [1.9, 1.9]) + ORIGIN
        column, row = ((x - LOW) / (HIGH - LOW) * picture.density.shape[0]).astype(int)
        exact = grid.evaluate(ORIGIN[None])[0]
        assert picture.highest == pytest.approx(exact, rel=0.02)
        plateau = 1 / 16 / abs(np.linalg.det(frame))
        assert picture.density[row, column] == pytest.approx(plateau / exact, rel=0.05)


def test_parts_of_cells():
    step = np.array([0.0, 0, 1, 1, 1, 0.3, 0, 0])
    fine = refined(step, 7, 0)
    assert_allclose(fine.reshape(8, 7).mean(axis=1), step, atol=1e-15)
    assert fine.max() <= 1 + 1e-15
    assert fine.min() >= 0
    ends = np.linspace(-6, 6, 49)
    share = np.diff(erf(ends / np.sqrt(2))) / 2 * 4
    inner = np.linspace(-6, 6, 48 * 5 + 1)
    exact = np.diff(erf(inner / np.sqrt(2))) / 2 * 20
    assert np.abs(refined(share, 5, 0) - exact).max() < 2e-3
    both = refined(refined(np.outer(step, share), 5, 1), 7, 0)
    assert_allclose(both, np.outer(fine, refined(share, 5, 0)), atol=1e-15)


@pytest.mark.parametrize("stretch", [1.0, -1.0, 1e-4])
def test_pixels_on_the_line(stretch):
    axis = (np.arange(48) + 0.5) / 4 - 6
    ends = np.append(axis - 0.125, axis[-1] + 0.125)
    share = np.diff(erf(ends / np.sqrt(2))) / 2
    grid = GridDensity([Panel(Lattice.of([axis], [0.3], [[stretch]]), share * 4 / abs(stretch))])
    edges = np.linspace(-4, 5, 180)
    exact = np.diff(erf((edges - 0.3) / abs(stretch) / np.sqrt(2))) / 2 / np.diff(edges)
    assert np.abs(pixels_on_line(grid, edges) - exact).max() < 5e-3 * exact.max()
