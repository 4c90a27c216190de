"""Rates of stationary states against other discretisations of the linearised equation, and against its definition."""

import numpy as np
import pytest
from reference import linearised

import mfpde
from mfpde.bifurcation.multipliers import degree_multipliers
from mfpde.bifurcation.spectrum import leading_rates
from mfpde.bifurcation.states import Model
from mfpde.bifurcation.stationary import StationaryState, state_from_moments

CIRCLE, SPHERE = {"kind": "circle"}, {"kind": "sphere"}


def pulls(state, count):
    """`kappa`, the multipliers h_k for k = 0 .. count, and the moments c_k, padded with zeros."""
    multipliers = state.state.model.multipliers
    values, moments = np.zeros(count + 1), np.zeros(count + 1)
    values[: min(count, multipliers.top) + 1] = multipliers.values[: count + 1]
    found = state.state.moments(min(count, state.state.rule.count - 1))
    moments[: found.size] = found
    return state.kappa, values, moments


def fourier_galerkin(state, modes):
    """`c_k' = -k^2/kappa c_k + k sum_j j W_j c_j c_{k-j}`, linearised at the state, all of c_{-n} .. c_n."""
    kappa, values, moments = pulls(state, 2 * modes)
    order = np.array([k for k in range(-modes, modes + 1) if k])
    apart = order[:, None] - order
    matrix = order[:, None] * moments[np.abs(apart)] * (order * values[np.abs(order)] + apart * values[np.abs(apart)])
    return np.sort(np.linalg.eigvals(matrix - np.diag(order**2) / kappa).real)[::-1]


@pytest.mark.parametrize(
    ("beta", "kappa", "mode", "modes"),
    [(0, 4.0, 1, 40), (5, 0.25, 1, 48), (5, 0.4, 2, 48), (5, 0.7, 3, 60), (2, 6.0, 2, 60)],
)
def test_circle_against_fourier_galerkin(beta, kappa, mode, modes):
    state = mfpde.stationary_state(CIRCLE, {"kind": "unnormalized", "beta": beta}, kappa=kappa, mode=mode)
    expected = fourier_galerkin(state, modes)[:10]
    np.testing.assert_allclose(state.rates[:10], expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())
    assert state.unstable == (expected > 1e-8).sum()
    assert (state.rates == 0).sum() == 1  # the rotation, exactly


def right_hand_side(density, beta, kappa, normalised):
    """`-d_theta(mu v) + mu''/kappa` by FFT; the drift of softmax or unnormalised attention by a double sum."""
    count = density.size
    theta = 2 * np.pi * np.arange(count) / count
    share = density * (2 * np.pi / count)
    distance = theta[:, None] - theta
    kernel = np.exp(beta * np.cos(distance))
    speed = (-np.sin(distance) * kernel) @ share / (kernel @ share if normalised else 1.0)
    order = np.fft.rfftfreq(count, 1 / count)
    diffused = np.fft.irfft(-(order**2) / kappa * np.fft.rfft(density), count)
    return diffused - np.fft.irfft(1j * order * np.fft.rfft(density * speed), count)


@pytest.mark.parametrize(
    ("kind", "beta", "kappa", "mode"), [("softmax", 3, 6.0, 1), ("softmax", 2, 12.0, 2), ("unnormalized", 3, 1.2, 1)]
)
def test_circle_against_differences_of_the_right_hand_side(kind, beta, kappa, mode):
    state = mfpde.stationary_state(CIRCLE, {"kind": kind, "beta": beta}, kappa=kappa, mode=mode)
    count = 96
    theta = 2 * np.pi * np.arange(count) / count
    density = state.measure.evaluate(theta)
    normalised = kind == "softmax"
    assert np.abs(right_hand_side(density, beta, kappa, normalised)).max() < 1e-10
    step = 1e-6
    waves = [np.cos(k * theta) for k in range(1, 40)] + [np.sin(k * theta) for k in range(1, 40)]
    columns = [
        (
            right_hand_side(density + step * wave, beta, kappa, normalised)
            - right_hand_side(density - step * wave, beta, kappa, normalised)
        )
        / (2 * step)
        for wave in waves
    ]
    matrix = 2 / count * np.array(waves) @ np.array(columns).T
    expected = np.sort(np.linalg.eigvals(matrix).real)[::-1][:8]
    np.testing.assert_allclose(state.rates[:8].real, expected, rtol=1e-6, atol=1e-6)
    assert state.unstable == (expected > 1e-5).sum()


@pytest.mark.parametrize(
    ("beta", "kappa", "mode", "side"), [(2, 3.0, 1, None), (2, 9.0, 2, "oblate"), (1, 13.0, 2, "upper")]
)
def test_sphere_against_legendre_galerkin(beta, kappa, mode, side):
    """Order 0: `-K (C^-1 / kappa - D)` in Legendre moments, K stiffness and C covariance under the state."""
    state = mfpde.stationary_state(SPHERE, {"kind": "unnormalized", "beta": beta}, kappa=kappa, mode=mode, side=side)
    x, weights = np.polynomial.legendre.leggauss(160)
    count = 26
    degree = np.arange(1, count + 1)
    points = np.stack([np.sqrt(1 - x * x), 0 * x, x], axis=1)
    share = 2 * np.pi * weights * state.measure.evaluate(points)
    assert share.sum() == pytest.approx(1, abs=1e-13)
    values = np.polynomial.legendre.legvander(x, count)[:, 1:] * np.sqrt(2 * degree + 1)
    slopes = np.stack(
        [np.polynomial.legendre.legval(x, np.polynomial.legendre.legder(np.eye(count + 1)[k])) for k in degree], axis=1
    ) * np.sqrt((2 * degree + 1) * (1 - x * x)[:, None])
    centred = values - share @ values
    covariance = centred.T @ (centred * share[:, None])
    stiffness = slopes.T @ (slopes * share[:, None])
    multipliers = np.zeros(count)
    known = state.state.model.multipliers.values[1 : count + 1]
    multipliers[: known.size] = known
    matrix = -stiffness @ (np.linalg.inv(covariance) / kappa - np.diag(multipliers))
    expected = np.sort(np.linalg.eigvals(matrix).real)[::-1][:4]
    own = [mode.rate for mode in state.modes if mode.order == 0][:4]
    np.testing.assert_allclose(own, expected[: len(own)], rtol=1e-6)
    assert len(own) > 1


def test_sphere_by_symmetry():
    """A weak state is nearly uniform: degree l has its rate for every azimuthal order, near `l(l+1)(h_l - 1/kappa)`."""
    multipliers = degree_multipliers([0.0, 1.0], 3)
    model = Model(multipliers, 4.0 * multipliers.scale)
    weak = state_from_moments(model, np.array([1.0, 0.0, 1e-7]))
    rates = np.repeat([mode.rate for mode in leading_rates(weak)], [mode.multiplicity for mode in leading_rates(weak)])
    expected = sorted([*[6 * (0.2 - 0.25)] * 5, *[-2 / 4] * 3, *[-12 / 4] * 7], reverse=True)
    kept = rates[np.abs(rates) > 0]  # the rotation is told as zero, whatever the measure
    np.testing.assert_allclose(kept[:3], expected[:3], atol=1e-5)
    assert StationaryState(weak, 2).unstable == 0


def test_uniform_rates():
    state = mfpde.stationary_state(CIRCLE, {"kind": "unnormalized", "beta": 5}, kappa=0.25, mode="uniform")
    values = state.state.model.multipliers.values
    expected = np.sort([k * k * (values[k] - 4.0) for k in range(1, 12) for _ in range(2)])[::-1]
    np.testing.assert_allclose(state.rates, expected[: state.rates.size], rtol=1e-13)
    assert state.unstable == 2
    np.testing.assert_allclose(state.measure.evaluate(np.array([0.0, 2.0])), 1 / (2 * np.pi), rtol=1e-15)


@pytest.mark.parametrize(
    ("space", "kind", "beta", "mode", "side", "ratio"),
    [
        ("circle", "unnormalized", 4.0, 1, "lower", 0.95),
        ("circle", "softmax", 4.0, 1, "upper", 2.0),
        ("sphere", "unnormalized", 4.0, 1, "lower", 0.93),
        ("sphere", "unnormalized", 4.0, 2, "oblate", 2.0),
        ("sphere", "unnormalized", 2.0, 2, "lower", 0.93),
        ("sphere", "softmax", 0.7, 2, "lower", 0.93),
        ("sphere", "softmax", 4.0, 1, "upper", 2.0),
    ],
)
def test_every_direction_counts(space, kind, beta, mode, side, ratio):
    """State, rates with multiplicity, and growing directions, those that break the axis included, by an independent
    Galerkin program that knows no symmetry and no sqrt(mu)."""
    law = linearised.Law(2 if space == "circle" else 3, beta, kind == "softmax", degrees=32)
    kappa = ratio * beta / law.levels[mode] * (law.levels[0] if law.softmax else 1)
    state = mfpde.stationary_state({"kind": space}, {"kind": kind, "beta": beta}, kappa=kappa, mode=mode, side=side)
    moments, residual = linearised.stationary(law, kappa, state.moments)
    assert residual < 1e-14
    np.testing.assert_allclose(state.moments[:24], moments[:24], atol=1e-12)
    expected = linearised.rates(law, kappa, moments, top=36, orders=6)
    scale = np.abs(expected[:12]).max()
    np.testing.assert_allclose(state.rates[:12].real, expected[:12].real, atol=1e-9 * scale)
    assert state.unstable == (expected.real > 1e-8 * scale).sum()


@pytest.mark.parametrize(
    ("space", "kind", "beta", "mode", "ratio"),
    [("circle", "unnormalized", 4.0, 1, 1.2), ("circle", "softmax", 2.0, 2, 1.5), ("sphere", "softmax", 2.0, 2, 1.2)],
)
def test_eigenfunctions(space, kind, beta, mode, ratio):
    """Those of the independent program, order by order; the rotation is the derivative of the state."""
    law = linearised.Law(2 if space == "circle" else 3, beta, kind == "softmax", degrees=32)
    kappa = ratio * beta / law.levels[mode] * (law.levels[0] if law.softmax else 1)
    state = mfpde.stationary_state({"kind": space}, {"kind": kind, "beta": beta}, kappa=kappa, mode=mode, side="upper")
    moments, _ = linearised.stationary(law, kappa, state.moments)
    theta, _ = linearised.nodes(law.dimension)
    blocks = list(linearised.operators(law, kappa, moments, top=36, orders=4))
    compared = 0
    for found, values in state.eigenfunctions(theta, 6):
        waves, matrix, _ = blocks[found.order if law.dimension == 3 else 0]
        rates, vectors = np.linalg.eig(matrix)
        near = np.flatnonzero(np.abs(rates - found.rate) < 1e-7 * np.abs(rates[np.abs(rates) < 50 / kappa]).max())
        if near.size != 1:
            continue  # of several together any combination will do
        expected = waves @ vectors[:, near[0]]
        expected /= expected[np.argmax(np.abs(values))]
        np.testing.assert_allclose(values, expected, atol=2e-7)
        compared += 1
    assert compared >= 4
