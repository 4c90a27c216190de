"""Solutions and stationary states of written interactions, by closed forms and by plain NumPy and SciPy."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import dawsn

import mfpde


def run(**blocks):
    return mfpde.solve(mfpde.Problem.from_dict(blocks))


def directions(count=40, seed=1):
    x = np.random.default_rng(seed).standard_normal((count, 3))
    return x / np.linalg.norm(x, axis=1)[:, None]


# -- stationary states
# ----------------------------------------------------------------------------------------------------------------------


def maier_saupe_order(kappa):
    """`S = <P_2>` of `e^{m z^2}`, m = 3 kappa S / 2: `<z^2> = (1 / (sqrt(m) D(sqrt m)) - 1 / m) / 2`, D Dawson's."""

    def defect(order):
        root = math.sqrt(1.5 * kappa * order)
        return 0.75 * (1 / (root * dawsn(root)) - 1 / root**2) - 0.5 - order

    return brentq(defect, 0.5, 0.999, xtol=1e-15, rtol=1e-15)


@pytest.mark.parametrize("law", [{"coefficients": [0, 1]}, {"expression": "(3*cosine**2 - 1)/2"}])
def test_maier_saupes_order(law):
    for kappa in (5, 8, 20):
        state = mfpde.stationary_state({"kind": "sphere"}, interaction=law, kappa=kappa, mode=2)
        assert state.moments[2] == pytest.approx(maier_saupe_order(kappa), abs=1e-12)


def test_maier_saupes_order_is_reached():
    initial = {"kind": "von-mises", "direction": [0.6, 0, 0.8], "concentration": 2}
    ended = run(
        geometry={"kind": "sphere"},
        interaction={"coefficients": [0, 1]},
        noise={"kappa": 8},
        initial=initial,
        solver={"kind": "spectral", "tolerance": 1e-10},
        time={"until": 40, "save": False},
        observe=["nematic-order"],
    )
    assert ended["nematic-order"][-1] == pytest.approx(maier_saupe_order(8), abs=1e-10)


def onsager_order(kappa):
    """By the angle to the axis, `|sin|` summed over turns about it: 1500 colatitudes, 400 turns; damped iteration."""
    nodes, weights = np.polynomial.legendre.leggauss(300)
    turns = 2 * np.pi * (np.arange(400) + 0.5) / 400
    sines = np.sqrt(1 - nodes**2)
    kernel = np.zeros((300, 300))
    for turn in turns:
        cosines = np.outer(nodes, nodes) + np.outer(sines, sines) * math.cos(turn)
        kernel += np.sqrt(np.maximum(1 - cosines**2, 0)) / turns.size
    density = np.exp(3 * nodes**2)
    for _ in range(400):
        density /= weights @ density
        density = np.exp(-kappa * kernel @ (weights * density))
    density /= weights @ density
    return weights @ (density * (1.5 * nodes**2 - 0.5))


def test_onsagers_order_and_transition():
    law = {"expression": "-sqrt(1 - cosine**2)"}
    state = mfpde.stationary_state({"kind": "sphere"}, interaction=law, kappa=12, mode=2, side="upper")
    assert state.moments[2] == pytest.approx(onsager_order(12), abs=2e-5)
    rates = mfpde.Interaction(**law).convolution(mfpde.Sphere()).growth_rates()
    assert 6 / rates[2] == pytest.approx(32 / math.pi, rel=1e-13)  # 6 W_2 = 6 / kappa


def test_onsagers_diagram():
    diagram = mfpde.bifurcate(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "sphere"},
                "interaction": {"expression": "-sin(angle)"},
                "bifurcation": {"parameter": "kappa", "range": [8.5, 11], "branches": ["uniform", 2]},
            }
        )
    )
    special = {point.kind: point for branch in diagram.branches for point in branch.special}
    assert special["branch-point"].parameter == pytest.approx(32 / math.pi, rel=1e-12)
    assert special["branch-point"].type == "transcritical"
    fold = special["fold"].parameter
    amplitude = abs(special["fold"].moments[2])
    assert onsager_order(fold * 1.002) > amplitude  # the stable side is there above the fold, and not below
    assert onsager_order(fold * 0.99) < 0.1


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("0.5*cos(theta) + 0.3*sin(2*theta)", lambda t: 0.5 * np.cos(t) + 0.3 * np.sin(2 * t)),
        ("0.2*exp(cos(theta - 1))", lambda t: 0.2 * np.exp(np.cos(t - 1))),
    ],
)
def test_noise_in_a_field_on_the_circle(text, plain):
    """`mu = e^{kappa U} / norm`, free energy `-log <e^{kappa U}> / kappa + <U>`."""
    ended = run(
        geometry={"kind": "circle"},
        interaction={"external": text},
        noise={"kappa": 1.5},
        initial={"kind": "uniform"},
        time={"until": 80, "save": False},
        observe=["free-energy", "energy", "dissipation"],
    )
    theta = 2 * np.pi / 256 * np.arange(256)
    weights = np.exp(1.5 * plain(theta))
    np.testing.assert_allclose(ended.measure(-1).evaluate(theta), weights / weights.mean() / (2 * np.pi), atol=1e-8)
    excess = plain(theta).mean() - np.log(weights.mean()) / 1.5
    assert ended["free-energy"][-1] == pytest.approx(excess, abs=1e-9)
    assert ended["energy"][-1] == pytest.approx((plain(theta) * weights).mean() / weights.mean(), abs=1e-8)
    assert ended["dissipation"][-1] < 1e-12


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("0.5*z + cos(colatitude)**2", lambda *p: 0.5 * p[2] + p[2] ** 2),
        ("0.5*z*x + y - 0.3*z**3", lambda x, y, z: 0.5 * z * x + y - 0.3 * z**3),
        ("sin(colatitude)**3*sin(3*longitude)", lambda *p: 3 * p[0] ** 2 * p[1] - p[1] ** 3),
    ],
)
@pytest.mark.parametrize(
    "initial", [{"kind": "uniform"}, {"kind": "von-mises", "direction": [0, 0, 1], "concentration": 2}]
)
def test_noise_in_a_field_on_the_sphere(text, plain, initial):
    ended = run(
        geometry={"kind": "sphere"},
        interaction={"external": text},
        noise={"kappa": 2},
        initial=initial,
        time={"until": 60, "save": False},
        observe=["free-energy"],
    )
    nodes, weights = np.polynomial.legendre.leggauss(64)
    turns = 2 * np.pi / 128 * np.arange(128)
    side = np.sqrt(1 - nodes**2)
    field = plain(np.outer(side, np.cos(turns)), np.outer(side, np.sin(turns)), np.outer(nodes, np.ones(128)))
    mean = float(weights @ np.exp(2 * field).mean(axis=1)) / 2
    x = directions()
    np.testing.assert_allclose(ended.measure(-1).evaluate(x), np.exp(2 * plain(*x.T)) / (4 * np.pi * mean), atol=1e-8)
    excess = 0.5 * float(weights @ field.mean(axis=1)) - math.log(mean) / 2
    assert ended["free-energy"][-1] == pytest.approx(excess, abs=1e-8)


# -- solutions
# ----------------------------------------------------------------------------------------------------------------------


def test_charges_on_a_ring_spread_in_a_field():
    """`W = log(1 - cosine)`, no noise: at rest `W * mu + U` is constant, `-c_k / k + U_k = 0`."""
    ended = run(
        geometry={"kind": "circle"},
        interaction={"expression": "log(1 - cosine)", "external": "0.6*cos(theta) + 0.1*sin(2*theta)"},
        initial={"kind": "density", "expression": "2 + cos(theta - 1)"},
        solver={"kind": "spectral", "max_modes": 64},
        time={"until": 20, "save": False},
        observe=["free-energy"],
    )
    theta = np.linspace(0, 6, 40)
    exact = (1 + 0.6 * np.cos(theta) + 0.2 * np.sin(2 * theta)) / (2 * np.pi)
    np.testing.assert_allclose(ended.measure(-1).evaluate(theta), exact, atol=1e-7)
    assert ended["free-energy"][-1] == pytest.approx(-(0.3**2 + 2 * 0.05**2), abs=1e-7)


WELLS = "(cosine + 0.2)**2*(1.4 - cosine)"  # two wells: at angle 0, and where tokens are far apart


def dense_circle(initial, force, field, kappa, until, count=96):
    """`d rho / dt = d^2 rho / kappa - d (rho v)`, v by a dense matrix of forces, derivatives by a dense matrix, and
    SciPy's DOP853."""
    theta = 2 * np.pi / count * np.arange(count)
    apart = theta[:, None] - theta
    waves = np.exp(1j * np.outer(theta, np.fft.fftfreq(count, 1 / count)))
    order = np.fft.fftfreq(count, 1 / count)
    order[count // 2] = 0
    derive = (waves @ np.diag(1j * order) @ waves.conj().T / count).real
    forces = force(apart) * 2 * np.pi / count

    def slope(_time, density):
        velocity = forces @ density + field(theta)
        return derive @ (derive @ density / kappa - density * velocity)

    solved = solve_ivp(slope, (0, until), initial(theta), method="DOP853", rtol=1e-11, atol=1e-13)
    return theta, solved.y[:, -1]


def test_two_wells_against_dense_quadrature():
    def force(a):
        t = np.cos(a)
        return -np.sin(a) * (2 * (t + 0.2) * (1.4 - t) - (t + 0.2) ** 2)

    def initial(t):
        return (1 + 0.3 * np.cos(t) + 0.2 * np.sin(2 * t)) / (2 * np.pi)

    theta, expected = dense_circle(initial, force, lambda t: 0.3 * np.cos(t), 6.0, 1.5)
    ended = run(
        geometry={"kind": "circle"},
        interaction={"expression": WELLS, "external": "0.3*sin(theta)"},
        noise={"kappa": 6},
        initial={"kind": "density", "expression": "1 + 0.3*cos(theta) + 0.2*sin(2*theta)"},
        solver={"kind": "spectral", "tolerance": 1e-10},
        time={"until": 1.5, "save": False},
    )
    np.testing.assert_allclose(ended.measure(-1).evaluate(theta), expected, atol=1e-9)


@pytest.mark.parametrize("geometry", [{"kind": "circle"}, {"kind": "sphere"}])
def test_characteristics_solve_the_same_equation(geometry):
    """Without noise: nodes that are moved by pairs, and harmonics."""
    initial = {"kind": "von-mises", "direction": 0.4, "concentration": 1}
    if geometry["kind"] == "sphere":
        initial["direction"] = [0.6, 0, 0.8]
    blocks = {
        "geometry": geometry,
        "interaction": {"expression": "-0.5*exp(cosine) + 0.2*cosine**3", "external": "0.4*x"},
        "initial": initial,
        "time": {"until": 0.5, "save": False},
    }
    ended = run(**blocks, solver={"kind": "spectral", "tolerance": 1e-9})
    other = run(**blocks, solver={"kind": "characteristics", "tolerance": 1e-8})
    np.testing.assert_allclose(ended.measure(-1).mean, other.measure(-1).mean, atol=1e-8)
    points = directions(6) if geometry["kind"] == "sphere" else np.linspace(0, 6, 6)
    np.testing.assert_allclose(ended.measure(-1).evaluate(points), other.measure(-1).evaluate(points), atol=1e-7)


def test_tokens_with_a_kinked_attraction_against_scipy():
    angles = np.array([0.1, 0.5, 0.55, 2.0, 2.2, 5.0])
    ended = run(
        geometry={"kind": "circle"},
        interaction={"expression": "maximum(0, 1 - angle**2)**2", "external": "0.1*sin(3*theta)"},
        initial={"kind": "points", "values": angles.tolist()},
        solver={"kind": "particles", "tolerance": 1e-9},
        time={"until": 1.0, "save": False},
        observe=["energy"],
    )

    def slope(_time, x):
        apart = np.mod(x[:, None] - x + np.pi, 2 * np.pi) - np.pi
        return (-4 * apart * np.maximum(0, 1 - apart**2)).mean(axis=1) + 0.3 * np.cos(3 * x)

    expected = solve_ivp(slope, (0, 1), angles, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(ended.positions[-1, :, 0], np.mod(expected, 2 * np.pi), atol=1e-7)
    assert ended["energy"][-1] > ended["energy"][0]


def test_growth_rates_of_a_written_interaction():
    """Degree l of the uniform state grows at `l (l + d - 2) (w_l / N_l - 1/kappa)`."""
    for dimension in (3, 5):
        law = {"expression": "exp(cosine)"}
        known = mfpde.Unnormalized(A=1, V=1).convolution(mfpde.Sphere(dimension=dimension)).growth_rates()
        ended = run(
            geometry={"kind": "sphere", "dimension": dimension},
            interaction=law,
            noise={"kappa": 10},
            initial={"kind": "von-mises", "direction": [0] * (dimension - 1) + [1], "concentration": 1e-4},
            solver={"kind": "spectral", "tolerance": 1e-11},
            time={"until": 1, "save": False},
            observe=["mean"],
        )
        rate = math.log(ended["mean"][-1, -1] / ended["mean"][0, -1])
        assert rate == pytest.approx(known[1] - (dimension - 1) / 10, abs=3e-8)


# -- flat spaces
# ----------------------------------------------------------------------------------------------------------------------


def test_tokens_in_the_plane_against_scipy():
    def slope(_time, flat):
        x = flat.reshape(-1, 2)
        apart = x[:, None] - x
        square = np.sum(apart**2, axis=2, keepdims=True)
        pull = (-2 * apart / (1 + square) + 0.3 * apart * np.exp(-square / 2)).mean(axis=1)
        field = np.column_stack([-x[:, 0] - 0.3 * x[:, 1] ** 2, -0.6 * x[:, 0] * x[:, 1]])
        return (pull + field).ravel()

    start = np.random.default_rng(0).standard_normal((9, 2))
    ended = run(
        geometry={"kind": "plane"},
        interaction={"expression": "-log(1 + r**2) - 0.3*exp(-r**2/2)", "external": "-x**2/2 - 0.3*x*y**2"},
        initial={"kind": "points", "values": start.tolist()},
        solver={"kind": "particles", "tolerance": 1e-9},
        time={"until": 2, "save": False},
        observe=["energy"],
    )
    expected = solve_ivp(slope, (0, 2), start.ravel(), method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(ended.positions[-1].ravel(), expected, atol=1e-8)
    distance = np.linalg.norm(start[:, None] - start, axis=2)
    inside = -np.log(1 + distance**2) - 0.3 * np.exp(-(distance**2) / 2)
    outside = -(start[:, 0] ** 2) / 2 - 0.3 * start[:, 0] * start[:, 1] ** 2
    assert ended["energy"][0] == pytest.approx(0.5 * inside.mean() + outside.mean(), rel=1e-12)


def test_a_density_on_the_line_contracts():
    """`W = -r^2 / 2`, `U = -x^2 / 4`: the mean decays at the rate 1/2, distances from it at 3/2."""
    ended = run(
        geometry={"kind": "line"},
        interaction={"expression": "-r**2/2", "external": "-0.25*x**2"},
        initial={"kind": "gaussian", "mean": [1], "covariance": [[0.5]]},
        solver={"kind": "characteristics"},
        time={"until": 1, "save": False},
    )
    mean, variance = math.exp(-0.5), 0.5 * math.exp(-3)
    measure = ended.measure(-1)
    assert measure.mean[0] == pytest.approx(mean, rel=1e-11)
    assert measure.covariance[0, 0] == pytest.approx(variance, rel=1e-10)
    density = math.exp(-((0.5 - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    assert measure.evaluate([0.5])[0] == pytest.approx(density, rel=1e-9)
