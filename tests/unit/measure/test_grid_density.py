"""Densities on grids: averages and point values, frames, panels."""

import numpy as np
import pytest

from mfpde import GridDensity, Lattice, Line, Normal, Panel, Plane, ProblemError
from mfpde.measure.point_values import point_values

FRAME = np.array([[0.9, -0.3], [0.4, 1.1]])


def lattice(dimension, count=81, half=9.0, origin=None, matrix=None):
    return Lattice.of([np.linspace(-half, half, count + 2 * k) for k in range(dimension)], origin, matrix)


def panel(law, where, averages, position=None, share=1.0):
    values = law.cell_averages(where) if averages else law.evaluate(where.points()).reshape(where.shape)
    return Panel(where, share * values, averages, position)


LAWS = {
    "line": (Normal(0.3, 1.2, Line()), lattice(1, 101, 12.0)),
    "moved line": (Normal(100.3, 1e-8, Line()), lattice(1, origin=[100.3], matrix=[[1e-4]])),
    "plane": (Normal([0.3, -0.2], [[1, 0.3], [0.3, 0.8]], Plane()), lattice(2)),
    "frame": (Normal([0.3, -0.2], FRAME @ FRAME.T, Plane()), lattice(2, 61, origin=[0.3, -0.2], matrix=FRAME)),
}


@pytest.mark.parametrize(
    ("name", "averages"),
    # points near 100 do not show a width of 1e-4 to roundoff, so that values at them are not known
    [*((name, True) for name in LAWS), *((name, False) for name in LAWS if name != "moved line")],
)
def test_a_normal_law_on_a_grid(name, averages):
    law, where = LAWS[name]
    density = GridDensity([panel(law, where, averages)])
    scale = np.sqrt(np.diag(law.covariance))
    assert density.mass == pytest.approx(1, abs=1e-14)
    assert density.geometry == law.geometry
    np.testing.assert_allclose(
        (density.mean - law.mean) / scale, 0, atol=2e-14 * max(1, np.abs(law.mean / scale).max() / 10)
    )
    np.testing.assert_allclose((density.covariance - law.covariance) / np.outer(scale, scale), 0, atol=2e-13)
    w = np.random.default_rng(1).standard_normal((5, scale.size)) / scale
    value, gradient = density.log_laplace(w, gradient=True)
    exact = law.log_laplace(w, gradient=True)
    noise = 1e-15 * np.abs(w @ law.mean).max()
    np.testing.assert_allclose(value, exact[0], rtol=0, atol=2e-12 + noise)
    np.testing.assert_allclose((gradient - exact[1]) / scale, 0, atol=2e-12 + 2e-16 * np.abs(law.mean / scale).max())
    points, weights = density.nodes()
    assert weights.min() >= 0
    np.testing.assert_allclose(weights @ ((points - law.mean) / scale) ** 4, 3, rtol=1e-9)


@pytest.mark.parametrize("averages", [True, False], ids=["averages", "values"])
def test_lattices_of_tilts_in_every_frame(averages):
    law, where = LAWS["frame"]
    parts = [panel(law, where, averages, share=0.7), panel(LAWS["plane"][0], LAWS["plane"][1], averages, share=0.3)]
    density = GridDensity(parts)
    w = Lattice.of([np.linspace(-1, 1, 7), np.linspace(-1.5, 1, 9)], [0.1, -0.2], [[1, 0.4], [-0.3, 0.8]])
    value, gradient = density.log_laplace(w, gradient=True)
    scattered = density.log_laplace(w.points(), gradient=True)
    np.testing.assert_allclose(value.ravel(), scattered[0], rtol=0, atol=2e-13)
    np.testing.assert_allclose(gradient.reshape(2, -1).T, scattered[1], rtol=0, atol=2e-12)
    exact = [law.log_laplace(w), LAWS["plane"][0].log_laplace(w)]
    np.testing.assert_allclose(value, np.logaddexp(np.log(0.7) + exact[0], np.log(0.3) + exact[1]), rtol=0, atol=1e-11)
    np.testing.assert_array_equal(density.log_laplace(w), value)


def test_panels_add_up():
    laws = [Normal(-2.0, 0.1, Line()), Normal(3.0, 0.5, Line())]
    where = [lattice(1, origin=law.mean, matrix=np.sqrt(law.covariance)) for law in laws]
    density = GridDensity([panel(law, w, True, share=s) for law, w, s in zip(laws, where, (0.25, 0.75), strict=True)])
    assert density.mean[0] == pytest.approx(1.75, abs=1e-14)
    assert density.covariance[0, 0] == pytest.approx(0.4 + 0.25 * 0.75 * 25, rel=1e-13)
    x = np.array([-2.1, 2.5, 40.0])
    exact = 0.25 * laws[0].evaluate(x) + 0.75 * laws[1].evaluate(x)
    np.testing.assert_allclose(density.evaluate(x), exact, rtol=0, atol=1e-6)
    draws = density.sample(40000, seed=2)
    np.testing.assert_array_equal(density.sample(9, seed=2), draws[:9])
    assert draws.mean() == pytest.approx(1.75, abs=0.06)
    assert draws.var() == pytest.approx(density.covariance[0, 0], rel=0.03)


def test_positions_come_from_the_panels():
    law, where = LAWS["line"]
    density = GridDensity([panel(law, where, True, position=s, share=0.5) for s in (0.25, 0.75)])
    assert density.positions.shape == density.nodes()[1].shape
    assert sorted(set(density.positions)) == [0.25, 0.75]
    assert GridDensity([panel(law, where, True)]).positions is None
    with pytest.raises(ProblemError, match="all or none: panel 1 has none"):
        GridDensity([panel(law, where, True, position=0.5), panel(law, where, True)])


def test_interpolation_is_of_high_order():
    errors = []
    for count in (21, 41):
        where = lattice(1, count, 6.0)
        density = GridDensity([panel(Normal(0.0, 1.0, Line()), where, True)])
        x = np.linspace(-5, 5, 301)
        errors.append(np.abs(density.evaluate(x) - Normal(0.0, 1.0, Line()).evaluate(x)).max())
    assert errors[1] < errors[0] / 40
    assert errors[1] < 1e-4


@pytest.mark.parametrize("width", [3.0, 4.0, 6.0])
def test_point_values_of_averages(width):
    x = np.arange(-60, 61.0)
    law = Normal(0.2, width**2, Line())
    averages = law.cell_averages(Lattice.of([x]))
    exact = law.evaluate(x)
    tolerance = {3.0: 1e-10, 4.0: 2e-13, 6.0: 1e-14}[width]
    np.testing.assert_allclose(point_values(averages), exact, rtol=0, atol=tolerance * exact.max())


def test_point_values_keep_mass_and_sign():
    rough = np.zeros((12, 9))
    rough[4:7, 3:6] = 1.0
    rough[5, 4] = 7.0
    values = point_values(rough)
    assert values.min() >= 0
    assert values.sum() == pytest.approx(rough.sum(), rel=1e-15)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Panel(lattice(1, 5), np.ones(4)), r"shape of the lattice, \(5,\), not \(4,\)"),
        (lambda: Panel(lattice(1, 3), np.array([1, -1e-3, 1])), r"not negative, not -0.001 at \[1\]"),
        (lambda: Panel(lattice(1, 3), np.array([1, np.nan, 1])), r"finite.*nan at \[1\]"),
        (lambda: Panel(lattice(1, 3), np.array([1, np.inf, 1])), r"finite.*inf at \[1\]"),
        (lambda: Panel(Lattice.of([[0.0, 1.0, 3.0]]), np.ones(3)), "evenly spaced"),
        (lambda: Panel(Lattice.of([[0.0]]), np.ones(1)), "two points a side"),
        (lambda: GridDensity([]), "at least one"),
        (lambda: GridDensity.of([np.arange(3.0)], np.zeros(3)), "positive mass"),
        (lambda: GridDensity.of([np.arange(3.0)], np.ones(3)).log_laplace(lattice(2, 3)), "lattice in R\\^2"),
        (lambda: GridDensity.of([np.arange(3.0)], np.ones(3)).log_laplace([[1.0, 2.0]]), r"\(m, 1\), not \(1, 2\)"),
        (lambda: GridDensity.of([np.arange(3.0)], np.ones(3)).cell_averages(lattice(2, 3)), "cells of R\\^2"),
    ],
)
def test_what_is_no_density_is_refused(make, message):
    with pytest.raises(ProblemError, match=message):
        make()
