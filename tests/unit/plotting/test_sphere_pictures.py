"""Pictures of densities on spheres: what is where."""

import numpy as np
import pytest
from PIL import Image

import mfpde
from mfpde.geometry import Axis
from mfpde.plotting.run_plot import portrait_of
from mfpde.plotting.sphere_density_run import ProfileRun, SphereDensityRun
from mfpde.plotting.sphere_pixels import globe_points, half_points, map_points, projected, sampled, spectrum


def run_on(dimension):
    initial = {"kind": "von-mises", "direction": np.eye(dimension)[0].tolist(), "concentration": 3}
    return mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "sphere", "dimension": dimension},
                "noise": {"kappa": 4},
                "initial": initial,
                "solver": {"kind": "spectral", "tolerance": 1e-4},
                "time": {"until": 0.3, "save_every": 0.1},
                "observe": ["mass"],
            }
        )
    )


@pytest.mark.parametrize(("dimension", "portrait"), [(3, SphereDensityRun), (5, ProfileRun)])
def test_figures_and_movies(dimension, portrait, tmp_path):
    run = run_on(dimension)
    assert type(portrait_of(run)) is portrait
    figure = run.plot(tmp_path / "run.png")
    assert "degree" in [axes.get_xlabel() for axes in figure.axes]
    run.animate(tmp_path / "run.gif")
    with Image.open(tmp_path / "run.gif") as movie:
        assert (movie.n_frames, movie.size) == (4, (960, 540))


def test_the_map_is_equal_in_area_and_goes_both_ways():
    points = map_points(400)
    inside = ~np.isnan(points[0])
    assert inside.mean() == pytest.approx(np.pi / 4, rel=5e-3)
    north = (points[0] < np.pi / 3) & inside
    assert north.sum() / inside.sum() == pytest.approx(0.25, rel=1e-2)
    y, x = np.mgrid[-1:1:400j, -2:2:800j] * np.sqrt(2)
    there = np.array(projected(points[0][inside], points[1][inside]))
    assert np.abs(there - [x[inside], y[inside]]).max() < 1e-9


def test_halves_and_the_globe_show_what_they_say():
    for points, sign in ((half_points(80, False), 1), (half_points(80, True), -1)):
        known = points[0][~np.isnan(points[0])]
        assert (sign * np.cos(known) > -1e-12).all()
    colatitude, longitude = globe_points(81, 0.7, 0.4)[:, 40, 40]
    assert (colatitude, longitude) == pytest.approx((np.pi / 2 - 0.4, 0.7))


def test_a_density_is_found_where_it_is(random):
    colatitudes, longitudes = Axis.of_colatitudes(64).values, 2 * np.pi / 128 * np.arange(128)
    values = 2 + np.outer(np.sin(colatitudes), np.cos(longitudes - 1))
    points = np.array([np.arccos(random.uniform(-1, 1, 50)), random.uniform(-7, 7, 50)])
    expected = 2 + np.sin(points[0]) * np.cos(points[1] - 1)
    assert np.abs(sampled(values, colatitudes, points) - expected).max() < 3e-3


def test_the_spectrum_is_by_degree():
    z = np.cos(Axis.of_colatitudes(16).values)[:, None] * np.ones((1, 32))
    found = spectrum((1 + 0.5 * z) / (4 * np.pi))
    assert found[:2] == pytest.approx([1, 0.5 / np.sqrt(3)])
    assert found[2:].max() < 1e-14
