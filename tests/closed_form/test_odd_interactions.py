"""Interactions on the circle that are odd, or have an odd part, in the angle between two tokens: tokens turn."""

import math

import numpy as np
import pytest
from reference.circle import differentiation_matrices, equispaced
from scipy.integrate import solve_ivp

import mfpde
from mfpde.errors import ProblemError

CIRCLE = {"kind": "circle"}
WRITTEN = {"expression": "sin(angle + 0.3) + 0.2*sin(2*angle)*exp(cosine)", "external": "0.3*sin(theta)"}
LISTED = {"coefficients": [math.sin(0.3), 0.4], "sine_coefficients": [math.cos(0.3), 0, -0.2]}


def written_force(a):
    """W' of the written one, a the angle from the token that pulls to the one that is pulled."""
    return np.cos(a + 0.3) + 0.2 * np.exp(np.cos(a)) * (2 * np.cos(2 * a) - np.sin(2 * a) * np.sin(a))


def listed_force(a):
    even = -math.sin(0.3) * np.sin(a) - 0.8 * np.sin(2 * a)
    return even + math.cos(0.3) * np.cos(a) - 0.6 * np.cos(3 * a)


CASES = [
    (WRITTEN, written_force, lambda t: 0.3 * np.cos(t)),
    (LISTED, listed_force, lambda t: 0.0 * t),
]


def run(**blocks):
    return mfpde.solve(mfpde.Problem.from_dict({"geometry": CIRCLE, **blocks}))


def dense(force, field, kappa, until, points=96):
    theta = equispaced(points)
    first, second = differentiation_matrices(points)
    forces = force(theta[:, None] - theta) * (2 * np.pi / points)

    def change(_time, density):
        return second @ density / kappa - first @ (density * (forces @ density + field(theta)))

    start = (1 + 0.4 * np.cos(theta) + 0.3 * np.cos(2 * theta)) / (2 * np.pi)
    return theta, solve_ivp(change, (0, until), start, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]


@pytest.mark.parametrize("spin", [0.0, 0.5])
@pytest.mark.parametrize(("law", "force", "field"), CASES)
def test_densities_against_dense_quadrature(law, force, field, spin):
    """A spin takes the path of general laws."""
    theta, expected = dense(force, lambda t: field(t) + spin, 4.0, 1.5)
    ended = run(
        interaction=law,
        noise={"kappa": 4},
        initial={"kind": "density", "expression": "1 + 0.4*cos(theta) + 0.3*cos(2*theta)"},
        solver={"kind": "spectral", "tolerance": 1e-10},
        time={"until": 1.5, "save": False},
        **({"drift": {"kind": "constant", "value": spin}} if spin else {}),
    )
    np.testing.assert_allclose(ended.measure(-1).evaluate(theta), expected, atol=1e-9)


@pytest.mark.parametrize("mode", [1, 2, 3])
def test_modes_of_the_uniform_state_grow_and_turn(mode):
    """At `k^2 ((w_k - i s_k) / 2 - 1/kappa)`."""
    ended = run(
        interaction=LISTED,
        noise={"kappa": 5},
        initial={"kind": "density", "expression": f"1 + 1e-6*cos({mode}*theta)"},
        solver={"kind": "spectral", "tolerance": 1e-11},
        time={"until": 1, "save": False},
        observe=["spectral-gap"],
    )
    before, after = (ended.measure(at).harmonics(mode).coefficients[mode] for at in (0, -1))
    cosines, sines = [math.sin(0.3), 0.4, 0], [math.cos(0.3), 0, -0.2]
    rates = [k * k * ((w - 1j * s) / 2 - 0.2) for k, w, s in zip((1, 2, 3), cosines, sines, strict=True)]
    assert abs(np.log(after / before) - rates[mode - 1]) < 2e-9
    assert ended["spectral-gap"][0] == pytest.approx(-max(rate.real for rate in rates), abs=1e-5)


@pytest.mark.parametrize(("law", "force", "field"), CASES)
def test_tokens_against_scipy(law, force, field):
    angles = np.array([0.1, 0.5, 0.55, 2.0, 2.2, 5.0])
    ended = run(
        interaction=law,
        initial={"kind": "points", "values": angles.tolist()},
        solver={"kind": "particles", "tolerance": 1e-9},
        time={"until": 1.0, "save": False},
    )

    def slope(_time, x):
        return force(x[:, None] - x).mean(axis=1) + field(x)

    expected = solve_ivp(slope, (0, 1), angles, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    apart = ended.positions[-1, :, 0] - expected
    np.testing.assert_allclose(np.exp(1j * apart), 1, atol=1e-7)


@pytest.mark.parametrize(("law", "force", "field"), CASES)
def test_drifts_and_divergences_are_their_plain_sums(law, force, field):
    made, circle = mfpde.Interaction(**law), mfpde.Circle()
    tokens, x = mfpde.Particles([0.3, 1.0, 4.0], geometry=circle), np.array([0.3, 2.0, 4.5])
    expected = force(x[:, None] - np.array([0.3, 1.0, 4.0])).mean(axis=1) + field(x)
    np.testing.assert_allclose(made.drift(tokens, x), expected, atol=1e-13)
    np.testing.assert_allclose(made.drift_by_quadrature(tokens, x), expected, atol=1e-13)
    step = 1e-5
    slopes = (made.drift(tokens, x + step) - made.drift(tokens, x - step)) / (2 * step)
    np.testing.assert_allclose(made.divergence(tokens, x), slopes, atol=1e-8)


def test_characteristics_solve_the_same_equation():
    blocks = {
        "interaction": WRITTEN,
        "initial": {"kind": "von-mises", "direction": 0.4, "concentration": 1},
        "time": {"until": 0.5, "save": False},
    }
    ended = run(**blocks, solver={"kind": "spectral", "tolerance": 1e-9})
    other = run(**blocks, solver={"kind": "characteristics", "tolerance": 1e-8})
    points = np.linspace(0, 6, 6)
    np.testing.assert_allclose(ended.measure(-1).evaluate(points), other.measure(-1).evaluate(points), atol=1e-7)


def test_on_spheres_angles_have_no_sign():
    found = mfpde.Interaction(expression="sin(angle)").convolution(mfpde.Sphere())
    assert found.sines is None
    assert found.gradient_flow


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ({"interaction": {"expression": "1 - angle"}}, "is -2.14159 at angle pi and 4.14159 at -pi"),
        ({"geometry": {"kind": "sphere"}, "interaction": {"sine_coefficients": [1]}}, "are of the circle"),
        ({"interaction": LISTED, "observe": ["energy"]}, "ascends no energy"),
        ({"interaction": LISTED, "observe": ["free-energy"]}, "ascends no energy"),
        ({"interaction": LISTED, "observe": ["dissipation"]}, "ascends no energy"),
        ({"interaction": {"sine_coefficients": [0, 0]}}, "not all zero"),
        (
            {"interaction": {"expression": "sin(angle)*abs(cosine)"}, "solver": {"kind": "particles", "count": 9}},
            "is not even and has a kink",
        ),
    ],
)
def test_what_is_refused(blocks, message):
    base = {"geometry": CIRCLE, "initial": {"kind": "uniform"}, "noise": {"kappa": 2}, "time": {"until": 1}}
    with pytest.raises(ProblemError, match=message):
        mfpde.solve(mfpde.Problem.from_dict({**base, **blocks}))


def test_there_are_no_stationary_states_to_follow():
    with pytest.raises(ProblemError, match="turns, and is followed by no stationary states"):
        mfpde.stationary_state(CIRCLE, interaction=LISTED, kappa=10, mode=2)
