"""Compiled stages of exactly integrated noise against the formulas that `exact_stages.py` names."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import hyp1f1

from mfpde.solvers.kernels import exact_modes
from mfpde.solvers.kernels.exact_modes import ModeStart, ModeStep
from mfpde.solvers.steppers.gif853 import LARGEST_DECAY

LENGTH = 0.3


def start_of(random, rows, columns, terms=1):
    """Two panels whose modes decay by up to a few hundred in a step, the first one not at all."""
    across = -np.arange(rows) * (1.0 if rows > 1 else 0.0)
    along = -1.5 * np.arange(columns)
    size = 1 if rows == 1 else 2
    polynomial = random.standard_normal((terms, 2, rows, columns))
    given = random.standard_normal((2, rows, columns))
    return ModeStart(given, polynomial, 1.0 + 10.0 * random.random((2, size)), across, along, LARGEST_DECAY)


def rates_of(conductivities, start):
    across = conductivities[:, 0, None, None] * start.across[:, None]
    return across + conductivities[:, -1, None, None] * start.along


def integrals_of(time, rates, powers):
    """`int_0^t e^{(t - s) L} s^k ds = t^{k + 1} / (k + 1) 1F1(1; k + 2; t L)` for powers k."""
    return [time ** (k + 1) / (k + 1) * hyp1f1(1.0, k + 2.0, time * rates) for k in range(powers)]


@pytest.mark.parametrize(("rows", "columns"), [(1, 23), (13, 18)])
@pytest.mark.parametrize("terms", [1, 4])
def test_stages(rows, columns, terms, random):
    """Conductivities change within a step only where the polynomial is a constant."""
    start, count, node = start_of(random, rows, columns, terms), 3, 0.7
    scaled, weights = random.standard_normal((count, 2, rows, columns)), random.standard_normal(count)
    changes = 0.1 if terms == 1 else 0.0
    spread = start.conductivities * (1.0 + changes * random.random((count, *start.conductivities.shape)))
    weights *= node * LENGTH / weights.sum()
    decay, out = np.empty_like(start.given), np.empty_like(start.given)
    stages = ModeStep(scaled, spread, np.empty((2, columns)))
    exact_modes.carry_modes(node * LENGTH, weights, start, stages, decay, out)
    exponents = rates_of(np.tensordot(weights, spread, axes=1), start)
    assert exponents.min() < -10.0
    rates = rates_of(start.conductivities, start)
    steady = rates == 0.0
    wanted = np.exp(exponents) * (start.given + np.tensordot(weights, scaled, axes=1))
    integrated = np.where(steady, node * LENGTH, np.expm1(exponents) / np.where(steady, 1.0, rates))
    wanted += integrated * start.polynomial[0]
    for integral, coefficients in zip(integrals_of(node * LENGTH, rates, terms)[1:], start.polynomial[1:], strict=True):
        wanted += integral * coefficients
    assert_allclose(decay, np.exp(exponents), rtol=1e-13)
    assert_allclose(out, wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_integrals_of_powers(power, random):
    """Each of them to all digits, where modes decay slowly and fast."""
    start = start_of(random, 13, 18, 4)
    polynomial = np.zeros_like(start.polynomial)
    polynomial[power] = 1.0
    start = start._replace(given=np.zeros_like(start.given), polynomial=polynomial)
    decay, out = np.empty_like(start.given), np.empty_like(start.given)
    stages = ModeStep(np.zeros((1, *start.given.shape)), start.conductivities[None], np.empty((2, 18)))
    rates = rates_of(start.conductivities, start)
    assert ((rates < 0.0) & (0.01 * rates > -1.0)).sum() > 10 < (0.3 * rates < -1.0).sum()
    for time in (0.01, 0.3):
        exact_modes.carry_modes(time, np.array([time]), start, stages, decay, out)
        wanted = integrals_of(time, rates, power + 1)[power]
        assert_allclose(out, wanted, rtol=3e-13)


@pytest.mark.parametrize(("rows", "columns"), [(1, 23), (13, 18)])
@pytest.mark.parametrize("terms", [1, 4])
def test_changes_of_transport(rows, columns, terms, random):
    start, transport, time = start_of(random, rows, columns, terms), random.standard_normal((2, rows, columns)), 0.2
    conductivities, decay = 1.2 * start.conductivities, 0.1 + random.random((2, rows, columns))
    change, scaled = transport.copy(), np.empty_like(transport)
    exact_modes.take_change(time, LENGTH, conductivities, start, decay, change, scaled)
    rates = rates_of(start.conductivities, start)
    share = np.where(rates == 0.0, 1.0, rates_of(conductivities, start) / np.where(rates == 0.0, 1.0, rates))
    slow = -LENGTH * rates <= LARGEST_DECAY
    assert slow.any()
    assert rows == 1 or not slow.all()
    wanted = transport - share * start.polynomial[0]
    wanted -= sum(time**k * start.polynomial[k] for k in range(1, terms))
    assert_allclose(change, wanted, rtol=1e-12, atol=1e-13)
    assert_allclose(scaled, np.where(slow, wanted / decay, 0.0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1, 2])
def test_conductivities(size, random):
    matrix = np.eye(size) + 0.3 * random.standard_normal((3, size, size))
    along, mixed = np.empty((3, size)), np.empty((3, size, size))
    exact_modes.conduct(0.4, matrix, np.empty((size, size)), along, mixed)
    inverse = np.linalg.inv(matrix)
    wanted = 0.4 * inverse @ inverse.transpose(0, 2, 1)
    assert_allclose(along, wanted.diagonal(axis1=1, axis2=2), rtol=1e-13)
    assert_allclose(mixed, wanted * (1.0 - np.eye(size)), rtol=1e-12, atol=1e-14)


def test_what_flows_in_and_what_is_cleared(random):
    across, along = random.standard_normal((2, 5, 6)), random.standard_normal((2, 4, 7))
    found = np.empty((2, 4, 6))
    exact_modes.gain(across, along, found)
    assert_allclose(found, -np.diff(across, axis=1) - np.diff(along, axis=2), rtol=1e-13, atol=1e-15)
    scale, kept = 0.5 + random.random((4, 6)), np.empty_like(found)
    found[0, 1, 1] = -50.0  # no peak
    exact_modes.clear(found, scale, 0.2, kept)
    floor = 0.2 * (found / scale).max(axis=(1, 2), keepdims=True) * scale
    assert np.array_equal(kept, np.where(found < floor, 0.0, found))


def test_small_densities_go_on_as_the_gaussian_does(random):
    """As far from the peak as they are known; then with the last ratio, in rows that have none with those before."""
    z = np.linspace(-3.0, 3.0, 13)
    scale = np.exp(-0.25 * (z[:9, None] ** 2 + z**2))
    ratio = 1.0 + random.random((1, 9, 13))
    known = ratio * scale**2
    known[0, :2], known[0, 2:, :3], known[0, 4, 11:] = 0.0, 0.0, 0.0
    found = known.copy()
    exact_modes.continue_tails(scale, found)
    wanted = ratio.copy()
    wanted[0, 2:, :3] = ratio[0, 2:, 3:4]
    wanted[0, 4, 11:] = ratio[0, 4, 10]
    wanted[0, :2] = wanted[0, 2]
    assert_allclose(found, wanted * scale**2, rtol=1e-13)
