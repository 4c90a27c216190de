"""Drifts on the circle: fast paths against their specification, that against plain loops (physics.md, section 2)."""

import math

import numpy as np
import pytest

import mfpde
from mfpde.measure import CircleDensity

CIRCLE = mfpde.Circle()
ANGLES = np.linspace(0, 2 * np.pi, 37)
MEASURES = {
    "uniform": mfpde.Uniform(),
    "wave": mfpde.Density(expression="1 + 0.5*cos(theta) - 0.2*sin(3*theta)"),
    "broad": mfpde.VonMises(direction=1, concentration=2),
    "narrow": mfpde.VonMises(direction=4, concentration=500),
    "mixture": mfpde.Mixture(
        components=[
            mfpde.VonMises(direction=0.5, concentration=30),
            mfpde.VonMises(direction=3, concentration=8, weight=2),
        ]
    ),
    "particles": mfpde.Particles([0.1, 1.0, 2.5, 2.6], [0.1, 0.2, 0.3, 0.4], CIRCLE),
}
SCALES = [0.0, 1e-12, 1.0, 5.0, 50.0, 200.0, -1.0, -30.0]


def agree(law, measure, angles=ANGLES, tolerance=1e-12) -> None:
    expected = law.drift_by_quadrature(measure, angles)
    np.testing.assert_allclose(
        law.drift(measure, angles), expected, rtol=0, atol=tolerance * np.abs(expected).max() + 1e-300
    )


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", [name for name in MEASURES if name != "uniform"])
@pytest.mark.parametrize("kind", [mfpde.Softmax, mfpde.Unnormalized])
def test_drift_is_its_quadrature(kind, name, scale):
    # Far from a concentrated measure a softmax normaliser has lost digits to cancellation, up to a factor of 1000.
    agree(kind(A=scale, V=-1.5), MEASURES[name], tolerance=5e-12 if kind is mfpde.Softmax else 1e-12)


@pytest.mark.parametrize("kind", [mfpde.Softmax, mfpde.Unnormalized])
def test_the_uniform_measure_moves_nothing(kind):
    for beta in (0.0, 1.0, 50.0):
        law = kind(beta=beta)
        assert np.abs(law.drift(MEASURES["uniform"], ANGLES)).max() == 0
        assert np.abs(law.drift_by_quadrature(MEASURES["uniform"], ANGLES)).max() < 1e-14 * math.exp(beta)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("coefficients", [[1.0], [0.0, 1.0], [0.5, -0.25, 0.0, 2.0]])
def test_interaction_is_its_quadrature(name, coefficients):
    law = mfpde.Interaction(coefficients=coefficients)
    expected = law.drift_by_quadrature(MEASURES[name], ANGLES)
    np.testing.assert_allclose(law.drift(MEASURES[name], ANGLES), expected, atol=1e-13)


@pytest.mark.parametrize("beta", [0.0, 1e-12, 2.0, 20.0])
def test_interaction_with_the_modes_of_a_kernel_is_unnormalized_attention(beta):
    kernel = mfpde.Unnormalized(beta=beta)
    modes = kernel.convolution(CIRCLE).potential
    law = mfpde.Interaction(coefficients=2 * modes[1:])
    expected = kernel.drift(MEASURES["mixture"], ANGLES)
    np.testing.assert_allclose(
        law.drift(MEASURES["mixture"], ANGLES), expected, rtol=0, atol=1e-13 * np.abs(expected).max()
    )
    np.testing.assert_allclose(law.convolution(CIRCLE).potential, modes, rtol=1e-15)


@pytest.mark.parametrize("kind", [mfpde.Softmax, mfpde.Unnormalized])
@pytest.mark.parametrize("A", [1.0, 4.0, -2.0, [[1, 0.5], [-0.3, 2]]])
@pytest.mark.parametrize("V", [1.0, -0.5, [[0, 1], [-1, 0.5]]])
def test_specification_is_the_formula(kind, A, V):
    """A plain loop over angles and tokens, with unit vectors and a projection."""
    particles = MEASURES["particles"]
    query, value = (np.asarray(m) if np.ndim(m) else m * np.eye(2) for m in (A, V))
    theta, weights = particles.nodes()
    for angle in (0.0, 1.3, 4.0):
        x, tangent = np.array([math.cos(angle), math.sin(angle)]), np.array([-math.sin(angle), math.cos(angle)])
        output, total = np.zeros(2), 0.0
        for t, w in zip(theta[:, 0], weights, strict=True):
            y = np.array([math.cos(t), math.sin(t)])
            k = w * math.exp((query @ x) @ y)
            output, total = output + k * (value @ y), total + k
        expected = tangent @ output / (total if kind is mfpde.Softmax else 1.0)
        assert kind(A=A, V=V).drift(particles, [angle])[0] == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_far_from_a_cluster_softmax_still_points_to_it():
    """All of e^{beta cos} lies below roundoff there; the sum of modes alone would return noise or infinity."""
    cluster = mfpde.Particles([0.0], geometry=CIRCLE)
    angles = np.array([1.0, 3.0, np.pi + 0.5])
    for beta in (50.0, 200.0, 5000.0):
        np.testing.assert_allclose(mfpde.Softmax(beta=beta).drift(cluster, angles), -np.sin(angles), rtol=1e-12)
    series = CircleDensity.of(mfpde.VonMises(direction=0, concentration=500).harmonics(199).coefficients)
    for beta in (50.0, 200.0, 5000.0):
        drift = mfpde.Softmax(beta=beta).drift(series, angles)
        assert np.isfinite(drift).all()
        assert np.abs(drift).max() <= 1


@pytest.mark.parametrize(
    "law", [mfpde.Softmax(beta=3), mfpde.Unnormalized(A=-2, V=3), mfpde.Interaction(coefficients=[1, 2])], ids=str
)
def test_bound_and_growth_rates(law):
    convolution = law.convolution(CIRCLE)
    for measure in MEASURES.values():
        assert np.abs(law.drift(measure, ANGLES)).max() <= convolution.bound * (1 + 1e-12)
    k, size = 2, 1e-6
    measure = CircleDensity.of(np.array([1, 0, size]))
    # d_t rho = -(rho v)': mode 2 grows at rate -i k v_k / (rho amplitude)
    drift = law.drift(measure, [np.pi / 8])[0]
    rate = -drift * k / (2 * size * math.sin(-k * np.pi / 8)) * -1
    assert rate == pytest.approx(convolution.growth_rates()[k], rel=1e-5)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize(
    "law",
    [
        mfpde.Linear(A=2, V=-1.5, weight=0.5),
        mfpde.MultiHead(
            heads=[mfpde.Unnormalized(beta=3), mfpde.Linear(A=-1), mfpde.Unnormalized(A=-2, V=0.5)], weight=-2
        ),
    ],
    ids=["linear", "multi-head"],
)
def test_other_convolutions(law, name):
    convolution = law.convolution(CIRCLE)
    assert np.abs(law.drift(MEASURES[name], ANGLES)).max() <= convolution.bound * (1 + 1e-12)
    by_modes = convolution.drift(ANGLES[:, None], MEASURES[name].harmonics(convolution.degree))[:, 0]
    np.testing.assert_allclose(
        by_modes, law.drift_by_quadrature(MEASURES[name], ANGLES), atol=1e-12 * convolution.bound
    )
    assert mfpde.Linear(A=[[1, 0], [0, 2]]).convolution(CIRCLE) is None
    assert mfpde.MultiHead(heads=[mfpde.Softmax(beta=1)]).convolution(CIRCLE) is None


def test_drift_has_the_shape_of_its_points():
    law, measure = mfpde.Softmax(beta=1), MEASURES["broad"]
    flat = law.drift(measure, ANGLES)
    assert flat.shape == ANGLES.shape
    assert law.drift(measure, ANGLES[:, None]).shape == (37, 1)
    vectors = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    np.testing.assert_allclose(law.drift(measure, vectors)[:, 0], flat, atol=1e-14)
    np.testing.assert_allclose(law.drift_by_quadrature(measure, vectors)[:, 0], flat, atol=1e-13)


def test_overflow_is_refused_and_softmax_is_not():
    with pytest.raises(mfpde.ProblemError, match="700"):
        mfpde.Unnormalized(beta=701).drift(MEASURES["broad"], [0.0])
    assert np.isfinite(mfpde.Softmax(beta=1e5).drift(MEASURES["broad"], ANGLES)).all()
