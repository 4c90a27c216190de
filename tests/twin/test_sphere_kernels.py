"""Compiled slopes on spheres against sums over many points, and one step against the stepper."""

import numpy as np
import pytest

from mfpde.attention import Interaction, Softmax, Unnormalized
from mfpde.geometry import Harmonics, Sphere, SphereSeries
from mfpde.geometry.gauss import gauss_legendre, gauss_on_sphere
from mfpde.solvers.kernels.exponential_step import fill_table
from mfpde.solvers.spectral.degree_limits import Limits
from mfpde.solvers.spectral.sphere_axis import AxisBasis, AxisStepping
from mfpde.solvers.spectral.sphere_basis import SphereBasis
from mfpde.solvers.spectral.sphere_data import gauss_points
from mfpde.solvers.steppers.gif853 import STAGES
from mfpde.transform import threads
from mfpde.transform.legendre import RingTransform

LAWS = [Unnormalized(beta=0), Unnormalized(beta=3), Softmax(beta=3), Softmax(A=-2)]


def slope_of(basis, law_convolution, state):
    work = basis.work(law_convolution, min(law_convolution.degree, basis.degree), np.ones_like(state))
    basis.attempt(work, state, np.zeros((3, STAGES, 0)), 0.0)
    return np.array(work.start)


def smooth_state(basis, random, width=0.7):
    state = random.standard_normal((2, basis.orders.size)) * np.exp(-width * basis.degrees) * 0.4 * (basis.copies > 0)
    state[1, basis.copies == 1] = 0.0
    state[:, 0] = [1, 0]
    return state


def by_definition(convolution, basis, state, count=64):
    """`int grad conj(Y) . v dmu` on a grid that is far too fine."""
    transform = RingTransform(basis.degree, *gauss_legendre(count), 2 * count)
    table = np.zeros((basis.degree + 1, basis.degree + 1), dtype=complex)
    for row, order in enumerate(basis.orders.order.astype(int)):
        start = basis.orders.first[row]
        column = state[:, start : start + basis.degree + 1 - order]
        table[order:, order] = column[0] + 1j * column[1]
    points = gauss_points(count)
    velocity = convolution.drift(points, SphereSeries(table.T.copy()))
    x, y, z = points.T
    side = np.hypot(x, y)
    south, east = np.stack([x * z / side, y * z / side, -side], 1), np.stack([-y / side, x / side, 0 * x], 1)
    density = transform.synthesize(transform.packed(table))
    flux = np.array([density * (velocity * each).sum(axis=1).reshape(density.shape) for each in (south, east)])
    return transform.listed(transform.divergence(flux))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("degree", "period"), [(12, 1), (12, 2), (34, 1)])
def test_slopes_on_the_sphere_are_their_definition(law, degree, period, random):
    convolution = law.convolution(Sphere())
    bandwidth = 24 if convolution.normaliser is not None else convolution.degree
    basis = SphereBasis(degree, bandwidth, period)
    state = smooth_state(basis, random, 8.0 / degree if convolution.normaliser is None else 0.7)
    found, expected = slope_of(basis, convolution, state), by_definition(convolution, basis, state)
    for row, order in enumerate(basis.orders.order.astype(int)):
        here = slice(basis.orders.first[row], basis.orders.first[row] + degree + 1 - order)
        difference = found[0, here] + 1j * found[1, here] - expected[order:, order]
        assert np.abs(difference).max() < 1e-12 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("law", [*LAWS, Interaction(coefficients=[0.3, -1.0])])
@pytest.mark.parametrize("dimension", [3, 4, 8, 64])
def test_slopes_about_an_axis_are_their_definition(law, dimension, random):
    basis, convolution = AxisBasis(12, 24, dimension), law.convolution(Sphere(dimension=dimension))
    state = np.zeros((2, 13))
    state[0] = random.standard_normal(13) * np.exp(-0.7 * np.arange(13)) * 0.4
    state[0, 0] = 1.0
    harmonics, (x, weights) = Harmonics(dimension), gauss_on_sphere(80, dimension)
    scale = np.sqrt(harmonics.multiplicities(12))[:, None]
    values, slopes = scale * harmonics.zonal(x, 12), scale * harmonics.slopes(x, 12)
    shown = min(12, convolution.degree) + 1
    pull = (convolution.potential[:shown] * state[0, :shown]) @ slopes[:shown]
    if convolution.normaliser is not None:
        pull /= (convolution.normaliser[:shown] * state[0, :shown]) @ values[:shown]
    expected = slopes @ (weights * (1 - x**2) * (state[0, :13] @ values) * pull)
    stepping = AxisStepping(basis, convolution, 0.0, Limits.of(1e-11), 511, even=False)
    stepping.lay(basis, state)
    assert np.abs(stepping.slope()[0] - expected).max() < 1e-12 * np.abs(expected).max()


def test_a_step_without_drift_is_the_decay(random):
    """Exact for every step: the flow of the linear part."""
    basis = SphereBasis(9, 0)
    state, rates = smooth_state(basis, random), 0.3 * basis.degrees * (basis.degrees + 1.0)
    convolution = Unnormalized(A=1, V=0).convolution(Sphere())
    work, table = basis.work(convolution, 1, np.ones_like(state)), np.empty((3, STAGES, state.shape[1]))
    fill_table(table, 0.7, rates, state.shape[1])
    basis.attempt(work, state, table, 0.0)
    basis.attempt(work, state, table, 0.7)
    assert np.abs(work.stage - state * np.exp(-0.7 * rates)).max() < 1e-15


def test_steps_are_made_by_one_thread(random, monkeypatch):
    """However many there may be: blocks of rings are too few and too short to be shared out."""
    asked = []
    monkeypatch.setattr(threads, "thread_count", lambda: asked.append(1) or 2)
    basis = SphereBasis(127, 20)
    slope_of(basis, Unnormalized(beta=3.0).convolution(Sphere()), smooth_state(basis, random))
    assert not asked
