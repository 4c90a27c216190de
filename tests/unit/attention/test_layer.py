"""A layer of attention as a map of all its tokens: its derivative, and how fast it drives tokens apart."""

import numpy as np
import pytest
from kernel_examples import KINDS, laws, matrix, tokens

import mfpde
from mfpde.attention import linearisation
from mfpde.attention.singular_value import largest_singular_value

SPACES = {"space": None, "circle": mfpde.Circle(), "sphere": mfpde.Sphere()}


def example(kind, space):
    geometry = SPACES[space]
    measure = tokens(3, 11, 4, geometry)
    return laws(measure.ambient_dimension, 2.0)[kind], measure


def columns(measure):
    """A basis of the directions in which the tokens can move, `(directions, n, components)`."""
    basis = np.eye(measure.points.size).reshape(-1, *measure.points.shape)
    if measure.geometry is None or measure.points.shape[1] == 1:
        return basis
    return np.array([measure.geometry.tangent(measure.points, direction) for direction in basis])


def moved(measure, direction, step):
    """Tokens after that step along geodesics."""
    x = measure.points
    if measure.geometry is None or x.shape[1] == 1:
        points = x + step * direction
    else:
        speed = np.linalg.norm(direction, axis=1, keepdims=True)
        unit = np.divide(direction, speed, out=np.zeros_like(direction), where=speed > 0)
        points = x * np.cos(step * speed) + unit * np.sin(step * speed)
    return mfpde.Particles(points, measure.weights, measure.geometry, measure.positions)


def dense(law, measure, step=1e-5):
    """The derivative by finite differences, `(n c, directions)`."""
    slopes = []
    for direction in columns(measure):
        ahead, behind = (moved(measure, direction, s) for s in (step, -step))
        ends = [law.drift(m, m.points, m.positions) for m in (ahead, behind)]
        slope = (ends[0] - ends[1]) / (2 * step)
        if measure.points.shape[1] == 3 and measure.geometry is not None:
            slope = measure.geometry.tangent(measure.points, slope)
        slopes.append(slope.ravel())
    return np.array(slopes).T


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", SPACES)
def test_products_are_those_of_the_jacobian_and_of_its_transpose(kind, space):
    law, measure = example(kind, space)
    jacobian = dense(law, measure)
    random = np.random.default_rng(1)
    coordinates, covector = random.standard_normal(jacobian.shape[1]), random.standard_normal(measure.points.shape)
    direction = np.tensordot(coordinates, columns(measure), axes=1)
    if measure.points.shape[1] == 3 and measure.geometry is not None:
        covector = measure.geometry.tangent(measure.points, covector)
    product = law.jacobian_product(measure, direction)
    assert np.abs(product.ravel() - jacobian @ coordinates).max() < 1e-8 * np.abs(product).max()
    transposed = law.jacobian_product(measure, covector, transpose=True)
    assert np.sum(transposed * direction) == pytest.approx(np.sum(covector * product), rel=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", SPACES)
def test_the_lipschitz_constant_is_the_largest_singular_value(kind, space):
    law, measure = example(kind, space)
    root = np.repeat(np.sqrt(measure.weights), measure.points.shape[1])
    expected = np.linalg.svd(root[:, None] * dense(law, measure) / root, compute_uv=False)[0]
    found = law.lipschitz(measure)
    assert found == pytest.approx(expected, rel=2e-6)
    assert found.converged
    assert found.error < 1e-5 * expected
    assert law.lipschitz(measure) == found
    again = law.lipschitz(measure, seed=5, tolerance=1e-10)
    assert again == pytest.approx(expected, rel=1e-8)
    size = np.sqrt(measure.weights @ np.sum(found.direction**2, axis=1))
    stretched = law.jacobian_product(measure, found.direction)
    assert size == pytest.approx(1, rel=1e-12)
    assert np.sqrt(measure.weights @ np.sum(stretched**2, axis=1)) == pytest.approx(expected, rel=2e-6)


def test_blocks_change_nothing(monkeypatch):

    law, measure = laws(5, 3.0)["multi-head"], tokens(5, 90, 2)
    direction = np.random.default_rng(1).standard_normal((90, 5))
    whole = [law.jacobian_product(measure, direction, transpose=way) for way in (False, True)]
    monkeypatch.setattr(linearisation, "_PAIRS_PER_BLOCK", 700)
    for way in (False, True):
        np.testing.assert_allclose(
            law.jacobian_product(measure, direction, transpose=way), whole[way], atol=1e-12 * np.abs(whole[way]).max()
        )
    constant = law.lipschitz(measure)
    monkeypatch.setattr(linearisation, "_MIN_WORK_SINGLE_PRECISION", 0)  # single precision
    rough = law.lipschitz(measure)
    assert rough == pytest.approx(constant, rel=1e-5)
    assert rough != constant
    assert rough.error >= 1e-6 * rough


def test_tokens_without_weight_have_no_say():
    law, measure = laws(2, 2.0)["softmax"], tokens(2, 20, 2)
    more = np.vstack([measure.points, [[5.0, 5.0]]])
    with_idle = mfpde.Particles(more, np.append(measure.weights, 0.0))
    assert law.lipschitz(with_idle) == pytest.approx(law.lipschitz(measure), rel=1e-6)


def test_upper_and_lower_bounds():
    """Castin, Ablin, Peyre 2024: `sqrt(3) |V| (|A|^2 R^4 (4n+1) + n)^(1/2)`; for V = I, A = -gamma and tokens at R, -R
    at least `sqrt(n-1) / (1 + (n-1) e^{-2 R^2 gamma})`."""
    for count, size in ((30, 0.3), (200, 3.0)):
        measure = mfpde.Particles(tokens(3, count, 1).points)
        law, radius = (
            mfpde.Softmax(A=matrix(3, size), V=matrix(3, 1.0, 3)),
            np.linalg.norm(measure.points, axis=1).max(),
        )
        assert law.lipschitz(measure) <= np.sqrt(3 * (size**2 * radius**4 * (4 * count + 1) + count))
    count, radius = 50, 1.3
    worst = np.full((count, 1), -radius)
    worst[0] = radius  # a lone token that all others look at
    for gamma in (0.3, 1.0, 3.0):
        constant = mfpde.Softmax(A=-gamma).lipschitz(mfpde.Particles(worst))
        assert constant >= np.sqrt(count - 1) / (1 + (count - 1) * np.exp(-2 * radius**2 * gamma))


def test_the_basis_stays_orthogonal():
    """A long run towards singular values far apart: without care the largest would come back again and again."""
    random = np.random.default_rng(1)
    left, right = (np.linalg.qr(random.standard_normal((60, 60)))[0] for _ in range(2))
    map_ = (left * 0.6 ** np.arange(60)) @ right.T
    found = largest_singular_value(
        lambda u: map_ @ u, lambda v: map_.T @ v, random.standard_normal(60), tolerance=-1.0, most=50
    )
    assert found.iterations == 50
    assert found.value == pytest.approx(1, rel=1e-14)
    assert np.linalg.norm(found.direction) == pytest.approx(1, rel=1e-13)
    np.testing.assert_allclose(np.abs(found.direction @ right[:, 0]), 1, rtol=1e-13)


def test_many_iterations_are_not_made_for_nothing():
    law, measure = laws(6, 4.0)["softmax"], tokens(6, 300, 1)
    rough = law.lipschitz(measure, iterations=2)
    assert not rough.converged
    assert rough.iterations == 2
    fine = law.lipschitz(measure)
    assert rough <= fine * (1 + 1e-12)
    assert fine.iterations < 60


@pytest.mark.parametrize("kind", KINDS)
def test_the_matrix_shows_who_attends_to_whom(kind):
    law, measure = example(kind, "space")
    shown = law.matrix(measure)
    parts = shown if shown.ndim == 3 else shown[None]
    outputs = sum(part @ measure.points @ term.value.T for part, term in zip(parts, law.terms(3), strict=True))
    np.testing.assert_allclose(outputs, law.drift(measure, measure.points), atol=1e-12 * np.abs(outputs).max())
    if kind in ("softmax", "l2", "sinkhorn"):
        np.testing.assert_allclose(shown.sum(axis=1), 1, atol=1e-13)
    if kind == "sinkhorn":
        np.testing.assert_allclose(measure.weights @ shown, measure.weights, atol=1e-12)
    if kind == "masked":
        assert (shown[:, measure.positions[:, None] < measure.positions] == 0).all()


@pytest.mark.parametrize("directions", [np.zeros((3, 2)), np.zeros(11), np.full((11, 3), np.nan)])
def test_directions_must_fit(directions):
    law, measure = example("softmax", "space")
    with pytest.raises(
        mfpde.ProblemError, match=r"directions: must be finite and have the shape of the tokens, \(11, 3"
    ):
        law.jacobian_product(measure, directions)
