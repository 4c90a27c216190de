"""What every kind of attention owes: its drift is its specification, on every space, and the published formula."""

import numpy as np
import pytest
from kernel_examples import KINDS, laws, matrix, reference, tokens

import mfpde
from mfpde.registry import members

UNMASKED = [kind for kind in KINDS if kind != "masked"]
WITH_REFERENCE = [kind for kind in UNMASKED if kind != "sinkhorn"]
SPACES = {"circle": mfpde.Circle(), "sphere": mfpde.Sphere(), "S^4": mfpde.Sphere(dimension=5)}


def agree(found, expected, tolerance=1e-12):
    scale = max(1.0, float(np.abs(expected).max()))
    assert np.abs(found - expected).max() < tolerance * scale


def test_every_kind_has_an_example():
    assert set(KINDS) == set(members("attention"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("queries", [3, 120])
def test_drift_is_its_specification(kind, dimension, queries):
    measure, points = tokens(dimension, 400, 1), tokens(dimension, queries, 2)
    law, positions = laws(dimension, 8.0)[kind], points.positions
    agree(law.drift(measure, points.points, positions), law.drift_by_quadrature(measure, points.points, positions))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", SPACES)
def test_drift_is_its_specification_on_curved_spaces(kind, space):
    geometry = SPACES[space]
    measure, points = tokens(0, 300, 1, geometry), tokens(0, 80, 2, geometry)
    law = laws(geometry.ambient_dimension, 5.0)[kind]
    found = law.drift(measure, points.points, points.positions)
    agree(found, law.drift_by_quadrature(measure, points.points, points.positions))
    if space != "circle":
        assert np.abs(np.sum(found * points.points, axis=1)).max() < 1e-13


@pytest.mark.parametrize("kind", WITH_REFERENCE)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_drift_is_the_formula(kind, dimension):
    """Long double sums, up to |A| L^2 = 200 for tokens in a box; A transposed does not agree."""
    measure, points = tokens(dimension, 700, 3), tokens(dimension, 60, 4).points
    for size in (1.0, 40.0, 200.0 / dimension):
        law = laws(dimension, size)[kind]
        expected = reference(law, points, measure.points, measure.weights)
        assert np.abs(law.drift(measure, points) - expected).max() < 1e-12 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("kind", ["softmax", "unnormalized", "sinkhorn", "linear", "relu", "sigmoid"])
def test_a_multiplies_the_query(kind):
    measure, A, V = tokens(2, 200, 5), matrix(2, 3.0, 6), matrix(2, 1.0, 7)
    made = members("attention")[kind]
    drift, transposed = (made(A=m, V=V).drift(measure, measure.points) for m in (A, A.T))
    assert np.abs(drift - transposed).max() > 0.02 * np.abs(drift).max()
    agree(made(Q=matrix(2, 1, 8)[:1], K=matrix(2, 2, 9)[:1], V=V).drift(measure, measure.points),
          made(A=np.outer(matrix(2, 2, 9)[0], matrix(2, 1, 8)[0]), V=V).drift(measure, measure.points))  # fmt: skip


@pytest.mark.parametrize("kind", WITH_REFERENCE)
def test_few_point_masses_and_singular_matrices(kind):
    measure = mfpde.Particles([[1.0, 0.5], [-1.0, 0.3], [0.1, -1.0]], [0.5, 1e-8, 0.5])
    points = np.array([[0.9, -0.9], [-1.0, -1.0], [0.0, 0.0]] * 3000)
    singular = np.array([[1.0, 2.0], [0.5, 1.0]])
    if kind in ("multi-head", "l2"):
        law = mfpde.L2(Q=9 * singular, K=[[6.0, -6.0]] * 2, V=matrix(2))
    else:
        law = members("attention")[kind](A=60 * singular, V=singular)
    expected = reference(law, points[:3], measure.points, measure.weights)
    found = law.drift(measure, points)
    assert np.abs(found[:3] - expected).max() < 1e-12 * max(1.0, np.abs(expected).max())
    np.testing.assert_array_equal(found[:3], found[-3:])


@pytest.mark.parametrize("kind", UNMASKED)
@pytest.mark.parametrize("dimension", [1, 2])
def test_grids_are_sums_over_their_points(kind, dimension):
    axis = np.linspace(-1.5, 1.4, 21)
    random = np.random.default_rng(9)
    density = mfpde.GridDensity.of([axis] * dimension, random.random((21,) * dimension), averages=False)
    law = laws(dimension, 6.0)[kind]
    lattice = mfpde.Lattice.of([axis[:9]] * dimension, np.full(dimension, 0.1), 0.5 * np.eye(dimension) + 0.1)
    found = law.drift(density, lattice)
    assert found.shape == (dimension, *(9,) * dimension)
    nodes, weights = density.nodes()
    share = weights.sum()
    as_particles = law.drift_by_quadrature(mfpde.Particles(nodes, weights), lattice.points())
    if kind in ("unnormalized", "linear", "relu", "sigmoid"):
        as_particles = as_particles * share  # a grid keeps its mass
    elif kind == "multi-head":
        return
    agree(found.reshape(dimension, -1).T, as_particles, 1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_the_jacobian_is_the_slope_and_the_divergence_its_trace(kind):
    measure, points = tokens(2, 300, 1), tokens(2, 6, 2)
    law, x, step = laws(2, 4.0)[kind], points.points, 1e-5
    slopes = np.stack(
        [
            law.drift(measure, x + step * e, points.positions) - law.drift(measure, x - step * e, points.positions)
            for e in np.eye(2)
        ],
        axis=-1,
    ) / (2 * step)
    agree(law.jacobian(measure, x, points.positions), slopes, 1e-8)
    agree(law.divergence(measure, x, points.positions), np.trace(slopes, axis1=1, axis2=2), 1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_the_divergence_on_curved_spaces(kind):
    circle, sphere = SPACES["circle"], SPACES["sphere"]
    step, law = 1e-5, laws(2, 3.0)[kind]
    measure, points = tokens(0, 200, 1, circle), tokens(0, 9, 2, circle)
    ahead, behind = (law.drift(measure, points.points + s, points.positions) for s in (step, -step))
    agree(law.divergence(measure, points.points, points.positions), (ahead - behind)[:, 0] / (2 * step), 1e-8)
    law = laws(3, 3.0)[kind]
    measure, points = tokens(0, 200, 1, sphere), tokens(0, 5, 2, sphere)
    x, total = points.points, 0.0
    first = np.cross(x, [0.36, 0.48, 0.8])
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    for along in (first, np.cross(x, first)):
        ends = [x * np.cos(step) + s * along * np.sin(step) for s in (1, -1)]
        ahead, behind = (law.drift(measure, end, points.positions) for end in ends)
        total = total + np.sum((ahead - behind) * along, axis=1) / (2 * step)
    agree(law.divergence(measure, x, points.positions), total, 1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_reads_back_from_its_file(kind, tmp_path):
    problem = mfpde.Problem(geometry=mfpde.Plane(), attention=laws(2)[kind])
    path = tmp_path / "p.yaml"
    path.write_text(problem.to_yaml(), encoding="utf-8")
    assert mfpde.Problem.from_yaml(path) == problem
