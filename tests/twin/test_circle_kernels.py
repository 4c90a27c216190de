"""Compiled kernels of the circle against NumPy of a few lines."""

import numpy as np
import pytest

import mfpde
from mfpde.attention import Interaction, Softmax, Unnormalized
from mfpde.geometry import Circle
from mfpde.measure import CircleDensity
from mfpde.solvers.kernels import circle as loop
from mfpde.solvers.kernels import exponential_step, fast_fourier, zonal_slope
from mfpde.solvers.kernels.degree_sizes import LASTING_WEIGHT
from mfpde.solvers.spectral.circle import external_modes
from mfpde.solvers.spectral.degree_limits import Limits, width_under
from mfpde.solvers.steppers.base import OrdinarySystem, combined_error
from mfpde.solvers.steppers.gif853 import LARGEST_DECAY, STAGES, Gif853
from mfpde.solvers.stepping.controller import ERROR_FLOOR, Controller
from mfpde.solvers.stepping.step_ends import next_end


def smooth_modes(random, count, width=0.35):
    order = np.arange(count)
    modes = np.exp(-width * order) * (random.standard_normal(count) + 1j * random.standard_normal(count)) * 0.3
    modes[0] = 1
    return modes


def padded(modes, offset):
    rows = np.zeros((2, modes.size + 2 * offset))
    rows[0, offset : offset + modes.size], rows[1, offset : offset + modes.size] = modes.real, modes.imag
    return rows


def external(zonal):
    modes = external_modes(zonal)
    return np.array([modes.real, modes.imag])


def multipliers(zonal):
    return np.array([zonal.multipliers.real, zonal.multipliers.imag])


def convolved(zonal, modes):
    outside, count = external(zonal), modes.size
    offset = max(zonal.potential.size, outside.shape[1]) + 4
    slope = np.full((2, count), np.nan)
    drift = np.zeros((2, offset))
    reach = max(min(count, zonal.potential.size), outside.shape[1])
    rows = padded(modes, offset)
    zonal_slope.convolution_slope(rows, offset, multipliers(zonal), outside, count, reach, drift, slope)
    return slope[0] + 1j * slope[1]


def on_a_grid(zonal, modes, length):
    offset, count = zonal.potential.size + 4, modes.size
    slope, normaliser = np.full((2, count), np.nan), np.zeros(0) if zonal.normaliser is None else zonal.normaliser
    grids = [np.zeros((2, length)) for _ in range(3)]
    room = zonal_slope.GridRoom(*grids, fast_fourier.roots_of_unity(length))
    rows, outside = padded(modes, offset), external(zonal)
    zonal_slope.grid_slope(rows, offset, multipliers(zonal), normaliser, outside, zonal.bound, count, room, slope)
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
    "law",
    [
        Unnormalized(beta=0),
        Unnormalized(beta=3),
        Unnormalized(A=-2, V=0.5),
        Interaction(coefficients=[0.3, -1]),
        Interaction(expression="cosine**3", external="sin(theta) + 0.2*cos(5*theta)"),
        Interaction(external="exp(cos(theta - 1))"),
        Interaction(expression="sin(angle + 0.4) + cosine**2", external="sin(theta)"),
    ],
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
    system = OrdinarySystem.of(lambda _time, u: convolved(zonal, u) - rates * u, -rates)
    expected = Gif853().step(system, 0.0, modes, step)
    assert np.abs(stage_state - rows(expected.end)).max() < 1e-13
    for compiled, written in zip(errors, expected.differences, strict=True):
        assert np.abs(compiled - rows(written)).max() < 1e-13


def test_steps_are_on_a_ladder():
    for step in np.geomspace(1e-90, 1e3, 400):
        rung = exponential_step.ladder_step(step)
        assert rung <= step < rung * 2 ** (1 / 8) * (1 + 1e-12)
        assert abs(8 * np.log2(rung) - round(8 * np.log2(rung))) < 1e-6


def test_a_rung_is_the_nearest():
    for step in np.geomspace(1e-9, 1e3, 200):
        assert abs(np.log2(exponential_step.nearest_rung(step) / step)) <= 1 / 16 + 1e-12


def test_the_compiled_controller_is_the_plain_one(random):
    """For errors of all sizes, steps that were cut short, rejections, and numbers that are none."""
    plain, numbers = Controller(0.1), Controller(0.1).numbers
    rejected = grown = 0
    for _ in range(3000):
        length = plain.length * random.choice([1.0, 0.995, 0.5])
        error = random.choice([10 ** random.uniform(-6, 2), 0.0, np.inf, np.nan], p=[0.94, 0.02, 0.02, 0.02])
        before = plain.length
        accepted = plain.judge(length, error, 8)
        assert exponential_step.judge(numbers, length, error, 8, ERROR_FLOOR) == accepted
        np.testing.assert_allclose(numbers, plain.numbers, rtol=1e-14)
        numbers[:] = plain.numbers
        rejected, grown = rejected + (not accepted), grown + (plain.length > before)
        if not 1e-30 < plain.length < 1e30:
            plain.length = numbers[0] = 1.0
    assert min(rejected, grown) > 500


def test_the_compiled_rule_for_ends_is_the_plain_one(random):
    for time, length, left in random.uniform(0, 1, (500, 3)) * [10, 1, 2]:
        assert exponential_step.next_end(time, length, time + left) == next_end(time, length, [time + left, 99.0])
    assert exponential_step.next_end(1.0, 0.5, 1.5 + 1e-13) == next_end(1.0, 0.5, [1.5 + 1e-13]) == 1.5 + 1e-13


def plain_loop(modes, zonal, diffusion, limits, allowed, watched, controller, until):
    """The loop of the circle for a number of modes that stays: its times, and the state at the end."""
    rates = diffusion * np.arange(modes.size) ** 2.0
    system = OrdinarySystem.of(lambda _time, u: convolved(zonal, u) - rates * u, -rates)
    time, times = 0.0, []
    while time < until:
        length = exponential_step.ladder_step(min(controller.length, LARGEST_DECAY / rates[-1]))
        end = next_end(time, length, [until])
        length = length if end == time + length else end - time
        tried = Gif853().step(system, time, modes, length)
        here, steps = np.abs(tried.end.real) + np.abs(tried.end.imag), len(times)

        def size(error, here=here, steps=steps):
            parts = (np.abs(error.real) + np.abs(error.imag))[1:]
            excited = here[1:].sum()
            weight = max(1.0, min(steps, LASTING_WEIGHT / excited))
            relative = parts[: watched - 1] / (here[1:watched] / weight + limits[loop.FLOOR] * min(1.0, excited))
            return max(parts.sum() / (0.5 + excited), np.sqrt(2 * np.sum(parts**2)), relative.max(initial=0.0))

        error = combined_error([size(each) for each in tried.differences]) / allowed(size(tried.end - modes))
        accepted = controller.judge(length, error, 8)
        controller.length = exponential_step.nearest_rung(controller.length)
        if accepted:
            time, modes = end, tried.end
            times.append((time, error))
    return times, modes


@pytest.mark.parametrize(
    ("text", "tolerance", "until"),
    [("exp(cos(theta)) + 0.3*sin(2*theta) + 1", 1e-11, 0.4), ("1 + 1e-6*(cos(theta) + sin(theta)**3)", 1e-11, 1.0)],
)
def test_the_compiled_loop_is_the_plain_one(text, tolerance, until):
    """Step for step, while the number of modes stays."""
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "circle"},
            "attention": {"kind": "unnormalized", "beta": 2},
            "noise": {"kappa": 5},
            "initial": {"kind": "density", "expression": text},
            "solver": {"kind": "spectral", "tolerance": tolerance},
            "time": {"until": until},
        }
    )
    run, zonal = problem.solver.start(problem.posed()), problem.equation.law.convolution(Circle())
    limits, watched = run._limits, run._work.watched
    start, controller = run.modes(), Controller(0.0)
    controller.restore(run._numbers[: loop.CONTROLLER])
    width = width_under(zonal, 1 / 5)
    allowed = Limits.of(tolerance, width).allowed
    times, modes = plain_loop(start, zonal, 1 / 5, limits, allowed, watched, controller, until)
    seen = []
    while run.time < until:
        before = run.time
        run._step(until, 1)
        if run.time > before:
            seen.append(run.time)
    assert run.modes().size == start.size
    np.testing.assert_allclose(seen, [time for time, _ in times], rtol=1e-12)
    assert len(seen) > 8
    assert np.abs(run.modes() - modes).max() < 1e-12
    np.testing.assert_allclose(run._numbers[: loop.CONTROLLER], controller.numbers, rtol=1e-5)
