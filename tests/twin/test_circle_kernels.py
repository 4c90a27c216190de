"""Compiled kernels of the circle against NumPy of a few lines."""

import numpy as np
import pytest

from mfpde.attention import Interaction, Softmax, Unnormalized
from mfpde.geometry import Circle
from mfpde.measure import CircleDensity
from mfpde.solvers.kernels import exponential_step, fast_fourier, zonal_slope
from mfpde.solvers.steppers.gif853 import STAGES, Gif853


def smooth_modes(random, count, width=0.35):
    order = np.arange(count)
    modes = np.exp(-width * order) * (random.standard_normal(count) + 1j * random.standard_normal(count)) * 0.3
    modes[0] = 1
    return modes


def padded(modes, offset):
    rows = np.zeros((2, modes.size + 2 * offset))
    rows[0, offset : offset + modes.size], rows[1, offset : offset + modes.size] = modes.real, modes.imag
    return rows


def convolved(zonal, modes):
    offset, count = zonal.potential.size + 4, modes.size
    slope = np.full((2, count), np.nan)
    drift = np.zeros((2, zonal.potential.size + 4))
    reach = min(count, zonal.potential.size)
    zonal_slope.convolution_slope(padded(modes, offset), offset, zonal.potential, count, reach, drift, slope)
    return slope[0] + 1j * slope[1]


def on_a_grid(zonal, modes, length):
    offset, count = zonal.potential.size + 4, modes.size
    slope, normaliser = np.full((2, count), np.nan), np.zeros(0) if zonal.normaliser is None else zonal.normaliser
    grids = [np.zeros((2, length)) for _ in range(3)]
    room = zonal_slope.GridRoom(*grids, fast_fourier.roots_of_unity(length))
    zonal_slope.grid_slope(padded(modes, offset), offset, zonal.potential, normaliser, zonal.bound, count, room, slope)
    return slope[0] + 1j * slope[1]


def by_definition(law, modes, length=2048):
    """-i k int e^{-ik theta} v dmu with v from the specification of the drift, on many points."""
    theta = 2 * np.pi / length * np.arange(length)
    measure = CircleDensity.of(modes)
    flux = measure.evaluate(theta) * law.drift_by_quadrature(measure, theta)
    order = np.arange(modes.size)
    return -1j * order * (np.fft.fft(flux)[: modes.size] * 2 * np.pi / length)


@pytest.mark.parametrize("length", [16, 32, 64, 128, 512, 2048])
def test_transform_is_numpys(length, random):
    data = random.standard_normal((2, length))
    expected = np.fft.fft(data[0] + 1j * data[1])
    fast_fourier.forward(data, np.empty_like(data), fast_fourier.roots_of_unity(length))
    assert np.abs(data[0] + 1j * data[1] - expected).max() < 1e-13 * np.sqrt(length) * 8


@pytest.mark.parametrize(
    "law", [Unnormalized(beta=0), Unnormalized(beta=3), Unnormalized(A=-2, V=0.5), Interaction(coefficients=[0.3, -1])]
)
@pytest.mark.parametrize("count", [16, 40, 41])
def test_slopes_of_gradient_flows_agree(law, count, random):
    modes, zonal = smooth_modes(random, count), law.convolution(Circle())
    expected = by_definition(law, modes)
    scale = np.abs(expected).max()
    assert np.abs(convolved(zonal, modes) - expected).max() < 1e-12 * scale
    assert np.abs(on_a_grid(zonal, modes, 256) - expected).max() < 1e-12 * scale


@pytest.mark.parametrize("beta", [0, 0.5, 5, 60])
def test_slope_of_softmax_is_its_definition(beta):
    modes = CircleDensity.of(np.array([1, 0.3 - 0.1j, 0.05j])).harmonics(23).coefficients
    law = Softmax(beta=beta)
    expected = by_definition(law, modes)
    assert (
        np.abs(on_a_grid(law.convolution(Circle()), modes, 256) - expected).max() < 1e-13 * np.abs(expected).max() * 24
    )


def test_transposed_signs_are_noticed(random):
    modes, zonal = smooth_modes(random, 16), Unnormalized(beta=3).convolution(Circle())
    assert np.abs(convolved(zonal, modes.conj()) - convolved(zonal, modes)).max() > 1e-2


def test_one_step_is_the_steppers(random):
    count, step = 24, 0.03
    modes, zonal = smooth_modes(random, count), Unnormalized(beta=2).convolution(Circle())
    rates = 0.4 * np.arange(count) ** 2.0
    table, scaled = np.zeros((3, STAGES, count)), np.zeros((STAGES + 1, 2, count))
    rows = lambda values: np.stack([values.real, values.imag])  # noqa: E731
    exponential_step.fill_table(table, step, rates, count)
    state, start, stage_state = rows(modes), rows(convolved(zonal, modes)), np.zeros((2, count))
    for stage in range(1, STAGES + 1):
        exponential_step.advance_stage(stage, state, start, scaled, table, step, stage_state, 0, count)
        slope = rows(convolved(zonal, stage_state[0] + 1j * stage_state[1]))
        exponential_step.scale_difference(stage, slope, start, scaled, table, count)
    errors = np.zeros((2, 2, count))
    exponential_step.step_errors(scaled, table, step, errors, count)
    expected, expected_errors = Gif853.step(modes, step, -rates, lambda u: convolved(zonal, u))
    assert np.abs(stage_state - rows(expected)).max() < 1e-13
    for compiled, written in zip(errors, expected_errors, strict=True):
        assert np.abs(compiled - rows(written)).max() < 1e-13


def test_steps_are_on_a_ladder():
    for step in np.geomspace(1e-90, 1e3, 400):
        rung = exponential_step.ladder_step(step)
        assert rung <= step < rung * 2 ** (1 / 8) * (1 + 1e-12)
        assert abs(8 * np.log2(rung) - round(8 * np.log2(rung))) < 1e-6
