"""Gauss rules integrate tilts as promised, and graded ones what has edges."""

import numpy as np
import pytest

from mfpde.errors import ProblemError
from mfpde.geometry.gauss import gauss_legendre
from mfpde.measure.adaptive_plane_quadrature import Rectangles, graded_twice, outer_extent
from mfpde.measure.adaptive_quadrature import graded, split
from mfpde.measure.bessel import log_phi
from mfpde.measure.edge_search import crossings
from mfpde.measure.hermite import normal_nodes
from mfpde.measure.rules import TILTS, legendre_count, of_ball, of_box, of_sphere, sphere_degree


def log_sum(points, weights, w):
    return np.log(np.exp(points @ w - np.linalg.norm(w)) @ weights) + np.linalg.norm(w)


@pytest.mark.parametrize("count", [1, 2, 7, 64, 153])
def test_gauss_legendre(count):
    points, weights = gauss_legendre(count)
    reference, shares = np.polynomial.legendre.leggauss(count)
    np.testing.assert_allclose(points, reference, atol=2e-16)
    np.testing.assert_allclose(weights, shares / 2, rtol=1e-9)  # those of numpy are not better
    assert weights.sum() == pytest.approx(1, abs=4e-16)
    degree = min(2 * count - 1, 40) // 2 * 2
    assert weights @ points**degree == pytest.approx(1 / (degree + 1), rel=1e-14)


def test_the_count_is_enough_and_not_much_more():
    for tilt in (1.0, 30.0, 200.0):
        exact = np.log(-np.expm1(-2 * tilt) / (2 * tilt)) + tilt
        errors = []
        for count in (legendre_count(tilt, 1e-14), int(0.6 * legendre_count(tilt, 1e-14))):
            points, weights = gauss_legendre(count)
            errors.append(abs(log_sum(points[:, None], weights, np.array([tilt])) - exact))
        assert errors[0] < 5e-14 * max(1, tilt / 10)
        assert errors[1] > 10 * errors[0]


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_rules_of_boxes_balls_and_spheres_stand_their_tilts(dimension):
    tilt = TILTS[dimension]
    for direction in np.eye(dimension)[:1], np.ones((1, dimension)) / np.sqrt(dimension):
        w = tilt * direction[0]
        box = sum(np.log(-np.expm1(-2 * a) / (2 * a)) + a for a in w if a)
        assert log_sum(*of_box(dimension, 1e-14), w) == pytest.approx(box, abs=1e-15 * tilt + 5e-13)
        ball = float(log_phi(dimension / 2, np.array([tilt]))[0]) + tilt
        assert log_sum(*of_ball(dimension, 1e-14), w) == pytest.approx(ball, abs=1e-15 * tilt + 1e-12)
        if dimension > 1:
            sphere = float(log_phi(dimension / 2 - 1, np.array([tilt]))[0]) + tilt
            rule = of_sphere(dimension, sphere_degree(tilt, 1e-14))
            assert log_sum(*rule, w) == pytest.approx(sphere, abs=1e-15 * tilt + 1e-13)


def test_nodes_of_the_normal_law_stand_eight_deviations():
    for dimension, accuracy in ((1, 1e-14), (2, 1e-14), (3, 1e-7)):
        z, weights = normal_nodes(dimension, accuracy)
        assert weights @ z[:, 0] ** 2 == pytest.approx(1, rel=10 * accuracy)
        w = 8 * np.ones(dimension) / np.sqrt(dimension)
        assert np.log(np.exp(z @ w) @ weights) == pytest.approx(32, abs=5 * accuracy + 4e-14)
    with pytest.raises(ProblemError, match="rank 9"):
        normal_nodes(9, 1e-14)


def on_line(function, kinks, low, high, breaks=()):
    ends = np.array([low]), np.array([high])
    edges = crossings([lambda _item, t, kink=kink: kink(t) for kink in kinks], *ends, 64)[1]
    cuts = np.concatenate([edges, breaks])
    panels = split(*ends, np.zeros(cuts.size, dtype=int), cuts, np.arange(cuts.size) < edges.size)
    return graded(lambda _item, t: function(t), panels, 1e-15)


@pytest.mark.parametrize(
    ("function", "kinks", "exact", "most"),
    [
        (lambda t: np.exp(-np.abs(t - 0.1)), [lambda t: t - 0.1], 2.0, 1000),
        (lambda t: np.maximum(0, 1 - t * t), [lambda t: 1 - t * t], 4 / 3, 100),
        (lambda t: np.sqrt(np.maximum(0, 1 - t * t)), [lambda t: 1 - t * t], np.pi / 2, 200),
        (lambda t: np.where(np.abs(t) < 0.3, 1.0, 0.0), [lambda t: 0.3 - np.abs(t)], 0.6, 100),
    ],
    ids=["kink", "end", "root", "jump"],
)
def test_edges_are_found_and_cost_little(function, kinks, exact, most):
    _, t, weights = on_line(function, kinks, -40.0, 41.0)
    assert weights.sum() == pytest.approx(exact, rel=4e-15)
    assert t.size < most
    assert np.all(np.diff(t) > 0)


def test_a_zero_between_samples_is_found():
    narrow = 1e-3
    _, t, _, _ = crossings([lambda _item, t: (t - 0.5017) ** 2 - narrow**2], np.zeros(1), np.ones(1), 16)
    np.testing.assert_allclose(t, [0.5017 - narrow, 0.5017 + narrow], atol=1e-15)


def test_rounding_does_not_ask_for_ever_more_nodes():
    _, t, weights = on_line(lambda t: np.exp(-t - 200.0), [], 0.0, 30.0, np.arange(1.0, 30.0))
    assert t.size < 2000
    assert weights.sum() == pytest.approx(np.exp(-200.0) * -np.expm1(-30.0), rel=1e-13)


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_edges_in_the_plane(power):
    def density(_item, t, u):
        return np.maximum(0, 1 - t * t - 4 * u * u) ** power

    where = Rectangles(*(np.array([end]) for end in (-1.3, 1.4, -1.2, 1.3)), samples=64)
    kinks = [lambda _item, t, u: 1 - t * t - 4 * u * u]
    _, t, u, weights = graded_twice(density, kinks, where, 1e-13)
    assert weights.sum() == pytest.approx(np.pi / 2 / (power + 1), rel=1e-13)
    assert weights @ (t * t) == pytest.approx(np.pi / 4 / ((power + 1) * (power + 2)), rel=1e-13)
    assert np.abs(weights @ u) < 1e-15
    np.testing.assert_allclose(outer_extent(density, kinks, where), [-1, 1], atol=1e-15)
    np.testing.assert_allclose(
        outer_extent(lambda k, u, t: density(k, t, u), [lambda k, u, t: kinks[0](k, t, u)], where.swapped()),
        [-0.5, 0.5],
        atol=1e-15,
    )
