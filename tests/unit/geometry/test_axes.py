"""Harmonics by degree, and axes that grow."""

import h5py
import numpy as np
import pytest
from scipy import special

from mfpde.geometry import Axis, Circle, Constant, Field, Layout
from mfpde.geometry.axis import GaussNodes
from mfpde.geometry.harmonics import Harmonics
from mfpde.geometry.layout import axis_weights
from mfpde.store.layouts import _create_axis, _read_axis

COSINES = np.concatenate([[-1.0, 0.0, 1.0], np.random.default_rng(5).uniform(-1, 1, 40)])


@pytest.mark.parametrize("dimension", [2, 3, 4, 5, 9])
def test_zonal_functions_are_those_of_scipy(dimension):
    values = Harmonics(dimension).zonal(COSINES, 30)
    slopes = Harmonics(dimension).slopes(COSINES, 30)
    half = 0.5 * dimension - 1
    for k in range(31):
        if dimension == 2:
            expected, slope = special.eval_chebyt(k, COSINES), k * special.eval_chebyu(k - 1, COSINES)
        else:
            scale = special.eval_gegenbauer(k, half, 1.0)
            expected = special.eval_gegenbauer(k, half, COSINES) / scale
            slope = 2 * half * special.eval_gegenbauer(k - 1, half + 1, COSINES) / scale if k else 0 * COSINES
        np.testing.assert_allclose(values[k], expected, atol=2e-13)
        np.testing.assert_allclose(slopes[k], slope, atol=1e-11 * max(1, k**2))


@pytest.mark.parametrize("dimension", [2, 3, 4, 7])
def test_multiplicities_are_traces(dimension):
    """`int P_k^2 = 1 / N_k` over the uniform measure, and the gradient squared is the eigenvalue times that."""
    harmonics, degree = Harmonics(dimension), 12
    t, weights = special.roots_jacobi(40, 0.5 * (dimension - 3), 0.5 * (dimension - 3))
    weights = weights / weights.sum()
    square = harmonics.zonal(t, degree) ** 2 @ weights
    np.testing.assert_allclose(1 / square, harmonics.multiplicities(degree), rtol=1e-12)
    gradient = ((1 - t**2) * harmonics.slopes(t, degree) ** 2) @ weights
    np.testing.assert_allclose(gradient / square, harmonics.eigenvalues(degree), rtol=1e-11, atol=1e-13)
    worst = np.sqrt(1 - COSINES**2) * np.abs(harmonics.slopes(COSINES, degree))
    assert (worst.max(axis=1) <= harmonics.largest_slopes(degree) * (1 + 1e-12)).all()


def test_multiplicities_in_many_dimensions():
    assert Harmonics(3).multiplicities(4).tolist() == [1, 3, 5, 7, 9]
    assert Harmonics(4).multiplicities(4).tolist() == [1, 4, 9, 16, 25]
    assert Harmonics(1000).multiplicities(2).tolist() == [1, 1000, 500 * 1001 - 1]


@pytest.mark.parametrize(("dimension", "area"), [(2, 2 * np.pi), (3, 4 * np.pi), (4, 2 * np.pi**2), (6, np.pi**3)])
@pytest.mark.parametrize("count", [4, 17, 96])
def test_colatitudes_integrate_exactly(dimension, area, count):
    axis = Axis.of_colatitudes(count, dimension)
    assert axis.size == count
    assert (np.diff(axis.values) > 0).all()
    cosines, half = np.cos(axis.values), 0.5 * (dimension - 1)
    for power in range(0, 2 * count, 2):
        moment = special.beta(half, 0.5 * (power + 1)) / special.beta(half, 0.5)
        assert axis.weights @ cosines**power == pytest.approx(area * moment, rel=1e-12)
        assert abs(axis.weights @ cosines ** (power + 1)) < 1e-12 * area
    if count == 4:  # and no more than exactly
        moment = special.beta(half, count + 0.5) / special.beta(half, 0.5)
        assert abs(axis.weights @ cosines ** (2 * count) / (area * moment) - 1) > 1e-3
    shares = np.diff(special.betainc(half, half, 0.5 * (1 - np.cos(axis.bounds))), axis=1)[:, 0]
    np.testing.assert_allclose(shares * area, axis.weights, rtol=1e-8)
    assert ((axis.bounds[:, 0] < axis.values) & (axis.values < axis.bounds[:, 1])).all()


@pytest.mark.parametrize("dimension", [2, 3, 4, 7])
def test_profiles_are_carried_through_their_polynomial(dimension):
    few, many = Axis.of_colatitudes(12, dimension), Axis.of_colatitudes(40, dimension)
    assert few.joined(many) is many
    assert many.joined(few) is many
    profile = lambda axis: np.cos(axis.values) ** 11 - 0.3 * np.cos(axis.values) ** 4 + 1  # noqa: E731
    old, new = (Layout("sphere", (axis,), fields={"density": Field(("colatitude",), "")}) for axis in (few, many))
    carried = old.carry("density", np.stack([profile(few), 2 * profile(few)]), new)
    np.testing.assert_allclose(carried, np.stack([profile(many), 2 * profile(many)]), atol=1e-12)
    too_fine = few.growth.carry(np.cos(few.values) ** 14, 0, few, many, None) - np.cos(many.values) ** 14
    assert np.abs(too_fine).max() > 1e-6


def sphere(latitudes):
    axes = (Axis.of_colatitudes(latitudes, 3, "longitude"), Axis.of_angles("longitude", 2 * latitudes, "longitude"))
    weight = Constant(Field(("colatitude", "longitude"), ""), axis_weights(axes))
    field = Field(("colatitude", "longitude"), "")
    return Layout("sphere", axes, fields={"density": field}, constants={"weight": weight})


def test_functions_on_the_sphere_are_carried_by_harmonics():
    """Every harmonic of degree 9 and below: odd wave numbers have the sine of the colatitude in them."""
    few, many = sphere(10), sphere(23)
    both = few.joined(many)
    assert both.axes == many.axes
    assert many.weight.sum() == pytest.approx(4 * np.pi, rel=1e-14)
    for degree in range(10):
        for order in range(degree + 1):
            shown = [
                special.sph_harm_y(degree, order, *np.meshgrid(*(axis.values for axis in each.axes), indexing="ij"))
                for each in (few, many)
            ]
            for part in (np.real, np.imag):
                np.testing.assert_allclose(few.carry("density", part(shown[0]), many), part(shown[1]), atol=1e-12)
            power = (np.abs(shown[0]) ** 2 * few.weight).sum()
            assert power == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("layout", [sphere(6), Circle().layout(8)])
def test_files_tell_how_axes_grow(layout, tmp_path):
    with h5py.File(tmp_path / "axes.h5", "w") as file:
        for axis in layout.axes:
            _create_axis(file, axis)
        axes = tuple(_read_axis(file, axis.name) for axis in layout.axes)
    assert [axis.growth for axis in axes] == [axis.growth for axis in layout.axes]
    assert axes == layout.axes


def test_profiles_need_no_longitude():
    alone, together = Axis.of_colatitudes(5), Axis.of_colatitudes(5, 3, "longitude")
    np.testing.assert_allclose(alone.weights, 2 * np.pi * together.weights, rtol=1e-15)
    assert together.growth == GaussNodes(3, "longitude")
