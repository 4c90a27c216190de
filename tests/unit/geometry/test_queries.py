"""Points and lattices are one notion: what is asked of either is the same at the same places."""

import numpy as np
import pytest

import mfpde
from mfpde.geometry import Scattered
from mfpde.measure import GridDensity, Normal, Panel
from mfpde.measure.damping import Damping
from mfpde.registry import members
from mfpde.solvers.finite_volume.gaussian_closure import ClosedDensity, Closure, Outside

AXES = [np.linspace(-1, 1, 5), np.linspace(0, 2, 7)]
LATTICE = mfpde.Lattice.of(AXES, [0.3, -0.2], [[1.0, 0.2], [-0.4, 0.8]])
POINTS = Scattered(LATTICE.points())
MATRIX = np.array([[0.5, 0.1], [-0.2, 0.7]])


def closed(lattice):
    """A density whose cells hold a part of it, and the tails beyond them."""
    law = Normal(lattice.origin, lattice.matrix @ lattice.matrix.T)
    panel = Panel(lattice, law.evaluate(lattice.points()).reshape(lattice.shape), averages=False)
    widths = np.array([axis[1] - axis[0] for axis in lattice.axes])
    return ClosedDensity([panel], [(lattice, Closure(0.9, Outside.of(lattice.axes, widths, np.zeros(2), np.eye(2))))])


GRID = mfpde.Lattice.of([np.linspace(-2, 2, 33)] * 2, [0.1, 0.2], [[0.9, 0.1], [0.0, 0.8]])
MEASURES = {
    "particles": mfpde.Particles(np.random.default_rng(0).standard_normal((50, 2)), geometry=mfpde.Plane()),
    "normal": Normal([0.1, 0.2], [[0.5, 0.1], [0.1, 0.4]], mfpde.Plane()),
    "mixture": mfpde.Mixture(
        components=[mfpde.Gaussian(mean=[0, 0], covariance=0.5), mfpde.Uniform(ball={"center": [1, 0], "radius": 1})]
    ).on(mfpde.Plane()),
    "grid": GridDensity([Panel(GRID, np.exp(-(GRID.points() ** 2).sum(axis=1)).reshape(GRID.shape))]),
    "tails": closed(GRID),
}


@pytest.mark.parametrize("about", [None, np.array([1.0, 2.0])])
def test_maps_and_products(about):
    offset, vector = np.array([3.0, -1.0]), np.array([2.0, 0.5])
    one, other = (queries.mapped(MATRIX, offset, about) for queries in (LATTICE, POINTS))
    expected = (LATTICE.points() - (0 if about is None else about)) @ MATRIX.T + offset
    for mapped in (one, other):
        np.testing.assert_allclose(mapped.points(), expected, atol=1e-14)
        np.testing.assert_allclose(mapped.along(vector).ravel(), expected @ vector, atol=1e-14)
        np.testing.assert_allclose(mapped.vectors().reshape(2, -1).T, expected, atol=1e-14)
        np.testing.assert_allclose(
            mapped.part(slice(1, 3)).points(), expected.reshape(*mapped.shape, 2)[1:3].reshape(-1, 2)
        )
    assert np.all(one.sizes() >= np.abs(expected).max(axis=0) - 1e-14)
    np.testing.assert_allclose(other.sizes(), np.abs(expected).max(axis=0))


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("factors", [None, Damping(np.array([[0.3, 0.1]]))], ids=["alone", "damped"])
def test_tilts_of_a_lattice_are_those_at_its_points(name, factors):
    (value, mean), (there, means) = (MEASURES[name].tilt(queries, MATRIX, factors) for queries in (LATTICE, POINTS))
    assert value.shape == LATTICE.shape
    assert mean.shape == (2, *LATTICE.shape)
    np.testing.assert_allclose(value.ravel(), there, atol=2e-13)
    np.testing.assert_allclose(mean.reshape(2, -1), means, atol=2e-13)


def test_damping_is_the_same_function_at_nodes():
    law, factors = MEASURES["normal"], Damping(np.array([[0.3, 0.1], [0.0, 0.6]]))
    at_nodes = law.tilt(POINTS, MATRIX, factors.at(law.nodes()[0]))
    for closed_form, summed in zip(law.tilt(POINTS, MATRIX, factors), at_nodes, strict=True):
        np.testing.assert_allclose(closed_form, summed, atol=1e-13)


@pytest.mark.parametrize("kind", [name for name in members("attention") if name != "masked"])
def test_drifts_on_a_lattice_are_those_at_its_points(kind):
    made = members("attention")[kind]
    given = {"l2": {"Q": 0.8, "K": 0.6}, "multi-head": {"heads": [mfpde.Softmax(A=0.5), mfpde.Linear(A=0.3)]}}
    law = made(**given.get(kind, {"A": 0.5}))
    for name, measure in MEASURES.items():
        if kind != "sinkhorn" or name == "particles":
            there = law.drift(measure, LATTICE.points())
            np.testing.assert_allclose(law.drift(measure, LATTICE).reshape(2, -1).T, there, atol=1e-12, err_msg=name)


def test_distances_are_lengths_of_the_shortest_way():
    assert mfpde.Circle().distance([[0.1]], [[6.2]]) == pytest.approx(0.1 + 2 * np.pi - 6.2)
    ends = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    np.testing.assert_allclose(mfpde.Sphere().distance(*ends), [np.pi / 2, np.pi])
    np.testing.assert_allclose(mfpde.Plane().distance([[0.0, 0.0]], [[3.0, 4.0]]), [5.0])


def test_steps_off_the_sphere_come_back_and_fields_go_on():
    sphere, x = mfpde.Sphere(), np.array([[0.0, 0.0, 2.0]])
    np.testing.assert_allclose(sphere.retract(x), [[0.0, 0.0, 1.0]])
    np.testing.assert_allclose(sphere.extend(x, np.array([[1.0, 0.0, 0.0]])), [[2.0, 0.0, 0.0]])
    np.testing.assert_allclose(mfpde.Circle().retract([[7.0]]), [[7.0 - 2 * np.pi]])


def test_a_space_counts_as_what_it_is_derived_from():
    class Strip(mfpde.Plane):
        """A plane under another name."""

        kind: str = "strip"  # type: ignore[assignment]

    assert Strip().counts_as("strip", "line")
    assert Strip().counts_as("plane")
    assert not Strip().counts_as("circle")
