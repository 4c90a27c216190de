"""Measures on positions times a space."""

import numpy as np
import pytest

from mfpde import Circle, Density, Gaussian, Line, Mixture, Normal, Plane, Points, Positioned, ProblemError

PLACES = (0.25, 0.5, 1.0)


def test_a_density_in_s_is_cut_into_slices():
    law = Density(expression="(1 + s)*exp(-(x - s)**2/2)").over_positions(Line(), PLACES)
    assert [place for place, _, _ in law.slices] == list(PLACES)
    np.testing.assert_allclose([share for _, share, _ in law.slices], np.array([1.25, 1.5, 2]) / 4.75, rtol=1e-13)
    np.testing.assert_allclose([part.mean[0] for _, _, part in law.slices], PLACES, atol=1e-13)
    points, weights = law.nodes()
    assert law.positions.shape == weights.shape == (len(points),)
    for place, share, part in law.slices:
        assert weights[law.positions == place].sum() == pytest.approx(share, rel=1e-13)
        assert weights[law.positions == place] @ points[law.positions == place, 0] == pytest.approx(
            share * part.mean[0]
        )


def test_on_the_circle():
    law = Density(expression="1 + s*cos(theta)").over_positions(Circle(), PLACES)
    np.testing.assert_allclose([part.mean[0] for _, _, part in law.slices], np.array(PLACES) / 2, atol=1e-14)
    assert law.harmonics(1).coefficients[1] == pytest.approx(np.mean(PLACES) / 2)
    assert law.geometry == Circle()


def test_whatever_does_not_say_is_the_same_at_every_position():
    law = Gaussian(mean=[1, 0], covariance=2).over_positions(Plane(), PLACES)
    assert [share for _, share, _ in law.slices] == pytest.approx([1 / 3] * 3)
    np.testing.assert_allclose(law.mean, [1, 0], atol=1e-15)
    np.testing.assert_allclose(law.log_laplace([[1.0, 1.0]]), 3, rtol=1e-14)


def test_mixtures_take_the_shares_of_their_parts_along():
    rising = Density(expression="s*exp(-(x - 5)**2/2)", weight=3)
    law = Mixture(components=[rising, Gaussian(mean=0, covariance=1)]).over_positions(Line(), PLACES)
    moving = 0.75 * np.array(PLACES) / sum(PLACES)
    shares = moving + 0.25 / 3
    np.testing.assert_allclose([share for _, share, _ in law.slices], shares, rtol=1e-12)
    np.testing.assert_allclose([part.mean[0] for _, _, part in law.slices], 5 * moving / shares, rtol=1e-12)


def test_points_keep_their_own_positions():
    points = Points(values=[[0, 1], [2, 0], [4, 4]], weights=[1, 1, 2], positions=[1, 0, 1])
    particles = points.on(Plane())
    np.testing.assert_array_equal(particles.positions, [1, 0, 1])
    np.testing.assert_array_equal(points.positions, [1, 0, 1])
    law = points.over_positions(Plane(), PLACES)
    assert [(place, share) for place, share, _ in law.slices] == [(0, 0.25), (1, 0.75)]
    np.testing.assert_allclose(law.mean, particles.mean)
    assert Points(values=[1, 2]).over_positions(Line(), PLACES).slices[1][1] == pytest.approx(1 / 3)


def test_draws_come_with_their_positions():
    law = Positioned([0.0, 1.0], [Normal(-5.0, 0.01), Normal(5.0, 0.01)], [1, 3])
    draws, places = law.sample(4000, seed=3), law.sample_positions(4000, seed=3)
    np.testing.assert_array_equal(np.sign(draws[:, 0]), 2 * places - 1)
    assert places.mean() == pytest.approx(0.75, abs=0.03)
    np.testing.assert_array_equal(law.sample(7, seed=3), draws[:7])


def test_a_slice_without_tokens_is_left_out():
    law = Positioned([0.0, 0.5, 1.0], [Normal(0.0, 1.0)] * 3, [1, 0, 1])
    assert [place for place, _, _ in law.slices] == [0.0, 1.0]
    assert set(law.positions) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Positioned([0.0], [Normal(0.0, 1.0)] * 2), "must be 2 ascending numbers"),
        (lambda: Positioned([1.0, 0.0], [Normal(0.0, 1.0)] * 2), "ascending"),
        (lambda: Positioned([0.0, 1.0], [Normal(0.0, 1.0)] * 2, [1, -1]), "not negative"),
        (lambda: Density(expression="s*exp(-x**2)").over_positions(Line(), [0, 1]), r"mass 0.*\(at s = 0\)"),
        (lambda: Points(values=[0, 1], positions=[0]).on(Line()), r"initial.positions: must.*\(2,\).*not \(1,\)"),
    ],
)
def test_what_has_no_positions_is_refused(make, message):
    with pytest.raises(ProblemError, match=message):
        make()
