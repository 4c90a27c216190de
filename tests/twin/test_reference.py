"""The reference programs of tests/reference against closed forms and against each other; mfpde is not involved."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import mpmath
import numpy as np
import pytest
from reference.circle import (
    Array,
    Density,
    FixedNodes,
    Kind,
    equispaced,
    interpolate,
    moments,
    normalised,
    solve_by_characteristics,
    solve_by_quadrature,
)
from reference.closed_forms import (
    critical_kappa,
    extrapolated_midpoint,
    growth_rate,
    kuramoto_order_parameter,
    moebius_density,
    poisson_order_parameter,
    stationary_moments,
)
from scipy.integrate import solve_ivp

KINDS: tuple[Kind, ...] = ("unnormalized", "softmax")
ANGLES = np.linspace(0.1, 6.1, 23)


def lopsided(theta: Array) -> Array:
    """No symmetry at all: wrong signs and reflections cannot hide."""
    return 1 + 0.5 * np.cos(theta) + 0.2 * np.sin(2 * theta)


def relative_error(found: Array, expected: Array) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def test_quadrature_without_noise_follows_the_moebius_flow() -> None:
    found = solve_by_quadrature(
        lopsided, [1.0, 2.5], 0.0, np.inf, "unnormalized", 192, angles=ANGLES, integrator="Radau", tolerance=1e-12
    )
    for row, time in zip(found, (1.0, 2.5), strict=True):
        assert relative_error(row, moebius_density(ANGLES, time, lopsided)) < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_characteristics_follow_the_moebius_flow(kind: Kind) -> None:
    # At beta = 0 softmax divides by the mass, so both kinds are Kuramoto.
    found = solve_by_characteristics(lopsided, [1.0, 3.0], 0.0, kind, 160, angles=ANGLES)
    for row, time in zip(found, (1.0, 3.0), strict=True):
        assert relative_error(row, moebius_density(ANGLES, time, lopsided)) < 1e-12


def test_moebius_flow_keeps_poisson_kernels() -> None:
    start, time = 0.3, 2.0
    centre = 0.7

    def poisson(r: float) -> Callable[[Array], Array]:
        return lambda theta: (1 - r**2) / (1 - 2 * r * np.cos(theta - centre) + r**2) / (2 * np.pi)

    expected = poisson(poisson_order_parameter(start, time))(ANGLES)
    assert relative_error(moebius_density(ANGLES, time, poisson(start)), expected) < 1e-14


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", [1.0, 6.0])
def test_quadrature_agrees_with_characteristics(kind: Kind, beta: float) -> None:
    time = 1.0 if kind == "softmax" else 1.2 * np.exp(-0.6 * beta)
    moving = solve_by_characteristics(lopsided, [time], beta, kind, 256, angles=ANGLES)
    fixed = solve_by_quadrature(
        lopsided, [time], beta, np.inf, kind, 256, angles=ANGLES, integrator="Radau", tolerance=1e-12
    )
    still = normalised(lopsided)(ANGLES)
    assert relative_error(still, moving[0]) > 0.1  # or the comparison would say nothing
    assert relative_error(fixed, moving) < 2e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("mode", "beta", "kappa"), [(1, 0.0, 3.0), (1, 4.0, 0.3), (2, 4.0, 2.0), (3, 8.0, 5.0)])
def test_small_perturbations_grow_at_the_linear_rate(kind: Kind, mode: int, beta: float, kappa: float) -> None:
    size, rate = 1e-5, float(growth_rate(mode, beta, kappa, kind))
    time = 0.7 / abs(rate)

    def perturbed(theta: Array) -> Array:
        return 1 + size * np.cos(mode * theta - 0.4)

    density = solve_by_quadrature(perturbed, [time], beta, kappa, kind, 48)
    amplitude = 2 * moments(density, mode)[0, mode - 1]
    # Corrections are quadratic in the size.
    assert np.log(abs(amplitude) / size) / time == pytest.approx(rate, rel=1e-7)
    assert np.angle(amplitude) == pytest.approx(-0.4, abs=1e-7)


@pytest.mark.parametrize(("mode", "beta", "kappa"), [(1, 0.0, 4.0), (1, 2.0, 1.5), (2, 4.0, 0.8)])
def test_stationary_states_stay(mode: int, beta: float, kappa: float) -> None:
    state = [float(value) for value in stationary_moments(beta, kappa, mode, points=64, count=48)]

    def density(theta: Array) -> Array:
        return 1 + 2 * sum((m * np.cos(k * (theta - 0.5)) for k, m in enumerate(state[1:], start=1)), np.zeros(()))

    start = normalised(density)(equispaced(96))
    end = solve_by_quadrature(density, [0.5], beta, kappa, "unnormalized", 96)[0]
    assert relative_error(end, start) < 1e-11
    moved = solve_by_quadrature(density, [0.5], beta, 1.1 * kappa, "unnormalized", 96)[0]
    assert relative_error(moved, start) > 1e-3


def test_noisy_kuramoto_settles_at_the_known_order_parameter() -> None:
    end = solve_by_quadrature(lopsided, [60.0], 0.0, 4.0, "softmax", 64)
    assert abs(moments(end, 1)[0, 0]) == pytest.approx(float(kuramoto_order_parameter(4.0)), abs=1e-11)


def test_kuramoto_order_parameter_solves_its_equation() -> None:
    with mpmath.workdps(40):
        r = kuramoto_order_parameter(4.0)
        assert abs(mpmath.besseli(1, 4 * r) / mpmath.besseli(0, 4 * r) - r) < mpmath.mpf("1e-29")
        found = stationary_moments(0.0, 4.0, 1, points=40)
        assert abs(found[1] - r) < mpmath.mpf("1e-29")
        assert abs(found[2] - mpmath.mpf(1) / 2) < mpmath.mpf("1e-29")  # m_2 = 1 - 2/kappa on the branch
    assert kuramoto_order_parameter(2.0) == 0
    near = float(kuramoto_order_parameter(2.0002))
    assert near == pytest.approx(np.sqrt(2 * (2.0002 / 2 - 1)), rel=1e-3)  # physics.md, section 6: c_2 = 1/2


def test_upper_and_lower_states_exist_between_the_fold_and_the_critical_noise() -> None:
    beta = 6.0  # beyond the change-over at 2.4469: first order
    kappa = 0.95 * critical_kappa(1, beta, "unnormalized")
    upper = stationary_moments(beta, kappa, 1, points=48)
    lower = stationary_moments(beta, kappa, 1, side="lower", points=48)
    assert upper[1] > lower[1] + 0.1 > 0.1


def finite_differences(initial: Density, time: float, beta: float, kappa: float, cells: int) -> Array:
    """Softmax attention by conservative centred differences of second order."""
    width = 2 * np.pi / cells
    centre = equispaced(cells)
    edge = centre + width / 2
    kernel = np.exp(beta * np.cos(edge[:, None] - centre[None, :]))
    pull = kernel * np.sin(centre[None, :] - edge[:, None])

    def rate(_time: float, density: Array) -> Array:
        drift = (pull @ density) / (kernel @ density)
        right = np.roll(density, -1)
        flux = drift * (density + right) / 2 - (right - density) / (width * kappa)
        return np.asarray((np.roll(flux, 1) - flux) / width, dtype=np.float64)

    path = solve_ivp(rate, (0.0, time), normalised(initial)(centre), method="DOP853", rtol=1e-11, atol=1e-13)
    return np.asarray(path.y[:, -1])


def test_softmax_agrees_with_extrapolated_finite_differences() -> None:
    beta, kappa, time = 2.0, 5.0, 1.0
    levels = [
        interpolate(finite_differences(lopsided, time, beta, kappa, cells), ANGLES) for cells in (40, 80, 160, 320)
    ]
    for power in (4, 16, 64):  # errors are even in the width: eliminate its squares one by one
        levels = [fine + (fine - coarse) / (power - 1) for coarse, fine in itertools.pairwise(levels)]
    found = solve_by_quadrature(lopsided, [time], beta, kappa, "softmax", 96, angles=ANGLES)[0]
    assert relative_error(found, levels[0]) < 1e-8


@pytest.mark.parametrize("kind", KINDS)
def test_integrators_and_resolutions_agree(kind: Kind) -> None:
    def solve(points: int, **options: object) -> Array:
        return solve_by_quadrature(lopsided, [0.3], 4.0, 4.0, kind, points, angles=ANGLES, **options)  # type: ignore[arg-type]

    expected = solve(192)
    assert relative_error(solve(240), expected) < 2e-12
    assert relative_error(solve(192, integrator="Radau", tolerance=1e-12), expected) < 2e-12
    assert relative_error(solve(192, integrator="extrapolation", steps=250), expected) < 2e-12


def test_extrapolation_has_its_high_order() -> None:
    # y' = y (1 - y) to t = 1 in one step: only an order near 16 comes this close.
    end = extrapolated_midpoint(lambda y: y * (1 - y), np.array([0.25], dtype=np.longdouble), 1.0, 1)
    assert float(abs(end[0] - 1 / (1 + 3 * np.exp(np.longdouble(-1))))) < 1e-15


@pytest.mark.parametrize("kind", KINDS)
def test_jacobian_is_the_derivative(kind: Kind) -> None:
    nodes = FixedNodes(24, 3.0, 4.0, kind)  # a wrong one would only slow Radau down, and nothing else would show it
    excess = normalised(lopsided)(equispaced(24)) - 1 / (2 * np.pi)
    direction = np.cos(3 * equispaced(24)) + 0.3 * np.sin(equispaced(24))
    ahead, behind = nodes.rhs(0.0, excess + 1e-5 * direction), nodes.rhs(0.0, excess - 1e-5 * direction)
    assert relative_error(nodes.jacobian(0.0, excess) @ direction, (ahead - behind) / 2e-5) < 1e-8


def test_interpolation_is_exact_for_trigonometric_polynomials_and_at_nodes() -> None:
    nodes = equispaced(20)
    angles = np.concatenate([ANGLES, nodes[3:5], nodes[7:8] + 1e-13])

    def wave(theta: Array) -> Array:
        return np.cos(7 * theta - 1) + np.sin(theta)

    assert relative_error(interpolate(wave(nodes), angles), wave(angles)) < 1e-12


def test_table_is_complete_and_consistent() -> None:
    table = json.loads((Path(__file__).parents[1] / "reference" / "circle.json").read_text())["problems"]
    assert len(table) >= 20
    for problem in table:
        density = np.array(problem["density"])
        assert density.shape == (len(problem["times"]), 64)
        assert problem["accuracy"] < 1e-10
        if np.abs(problem["moments"]).max() < 0.9:  # few enough modes for 64 angles to resolve the density
            continue
        assert (density <= 1.0000001 * np.array(problem["peak"])[:, None]).all()
