"""The spectral solver on spheres against closed forms and a program without harmonics."""

import mpmath
import numpy as np
import pytest
from reference.sphere import CLUSTERS, STRENGTHS, WITHOUT_AXIS, about_axis, bumps, carried, clusters, without_axis
from reference.sphere import solve as solve_without_harmonics
from scipy.integrate import solve_ivp

import mfpde
from mfpde.attention import Softmax, Unnormalized
from mfpde.contracts import State
from mfpde.equation import InitialValueProblem
from mfpde.geometry import Sphere
from mfpde.solvers.spectral import sphere
from mfpde.solvers.spectral.degree_limits import Limits
from mfpde.solvers.spectral.sphere_shown import AboutAxis


def solved(expression, until, *, law=None, kappa=None, tolerance=1e-8, **more):
    data = {
        "geometry": {"kind": "sphere"},
        "initial": {"kind": "density", "expression": expression},
        "solver": {"kind": "spectral", "tolerance": tolerance},
        "time": {"until": until, "save": False},
        **more,
    }
    if law is not None:
        data["attention"] = law
    if kappa is not None:
        data["noise"] = {"kappa": kappa}
    return mfpde.solve(mfpde.Problem.from_dict(data))


def places(count=12):
    axis = mfpde.geometry.Axis.of_colatitudes(count).values
    colatitude, longitude = (each.ravel() for each in np.meshgrid(axis, np.linspace(0, 6, 7), indexing="ij"))
    side = np.sin(colatitude)
    return np.column_stack([side * np.cos(longitude), side * np.sin(longitude), np.cos(colatitude)])


def test_heat_decays_degree_by_degree():
    run = solved("1 + 0.5*z + 0.2*x*y + 0.3*(x**2 - y**2)*z", 0.4, kappa=2)
    x, y, z = points = places().T
    decay = np.exp(-0.5 * 0.4 * np.array([2, 6, 12]))
    expected = 1 + decay[0] * 0.5 * z + decay[1] * 0.2 * x * y + decay[2] * 0.3 * (x**2 - y**2) * z
    assert np.abs(4 * np.pi * run.measure(-1).evaluate(points.T) - expected).max() < 1e-14


def growth(dimension, degree, beta, kappa, softmax):
    """Section 5: `l (l + d - 2) (g_l / beta - 1 / kappa)`, or with g_l / (beta g_0), `g_l = Gamma(d/2) (2/beta)^{d/2-1}
    I_{l+d/2-1}(beta)`."""
    order = mpmath.mpf(dimension) / 2 - 1

    def eigenvalue(k):
        return mpmath.gamma(order + 1) * (2 / mpmath.mpf(beta)) ** order * mpmath.besseli(k + order, beta)

    share = eigenvalue(degree) / (beta * (eigenvalue(0) if softmax else 1))
    return float(degree * (degree + dimension - 2) * (share - 1 / mpmath.mpf(kappa)))


@pytest.mark.parametrize("law", [Unnormalized(beta=2.5), Softmax(beta=2.5)])
@pytest.mark.parametrize("dimension", [3, 4, 8, 64])
def test_every_degree_grows_as_it_should(law, dimension):
    """The mean of a perturbation and its opposite has no part of second order."""
    convolution, kappa, until, size = law.convolution(Sphere(dimension=dimension)), 3.0, 0.05, 2e-5
    axis = np.eye(dimension)[-1]
    for degree in range(1, 13):
        found = []
        for sign in (1, -1):
            shown = AboutAxis(axis, False)
            stepping = shown.stepping(convolution, 1 / kappa, Limits.of(1e-9), 24)
            state = np.zeros(17)
            state[0], state[degree] = 1.0, sign * size
            stepping.lay(*shown.laid(16, 24, state))
            stepping.first_step(1e-9)
            assert stepping.advance(until, 1000) is State.REACHED
            found.append(stepping.state[0, degree])
        rate = np.log((found[0] - found[1]) / (2 * size)) / until
        expected = growth(dimension, degree, 2.5, kappa, isinstance(law, Softmax))
        assert rate == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("attention", ["unnormalized", "softmax"])
def test_conformal_maps_of_the_uniform_measure(attention):
    """beta = 0 without noise: `f = ((1 - r^2) / |x - r a|^2)^2`, `r' = (1 - r^2) |m| / 2`."""
    start, until = 0.2, 0.8
    z, w = np.polynomial.legendre.leggauss(200)

    def mean(r):
        return 0.5 * w @ (z * ((1 - r * r) / (1 - 2 * r * z + r * r)) ** 2)

    r = solve_ivp(lambda _, r: 0.5 * (1 - r * r) * mean(r[0]), (0, until), [start], rtol=1e-12, atol=1e-13).y[0, -1]
    direction = np.array([2.0, -1.0, 2.0]) / 3
    run = solved(
        f"(1 - 2*{start}*(2*x - y + 2*z)/3 + {start**2})**(-2)",
        until,
        law={"kind": attention, "beta": 0},
        tolerance=1e-9,
    )
    expected = ((1 - r * r) / (1 - 2 * r * places() @ direction + r * r)) ** 2
    assert np.abs(4 * np.pi * run.measure(-1).evaluate(places()) - expected).max() < 1e-8 * expected.max()


BOTH = (("unnormalized", False), ("softmax", True))
#: each strength with one law; the others, and the strongest, take long
PAIRED = {(1.0, "softmax"), (-3.0, "softmax"), (4.0, "unnormalized")}


@pytest.mark.parametrize(
    ("beta", "kappa", "until", "degree", "kind", "normalised"),
    [
        pytest.param(*strength, *law, marks=() if (strength[0], law[0]) in PAIRED else pytest.mark.long)
        for strength in (*STRENGTHS, (18.0, None, None, 26))
        for law in BOTH
    ],
)
def test_data_without_an_axis_agree_with_another_method(kind, normalised, beta, kappa, until, degree):
    """Tests with polynomials and dense kernels; at all output times."""
    if kappa is None:
        kappa, until = (190.0, 0.3) if normalised else (5.2e-6, 4e-7)
    times, count = [0.0, until / 2, until], degree + (2 if degree < 20 else 10)
    points, expected = solve_without_harmonics(without_axis, times, beta, kappa, normalised, degree, count)
    for tolerance in (1e-4, 1e-7, 1e-11):
        run = solved(
            WITHOUT_AXIS,
            until,
            law={"kind": kind, "A": beta},
            kappa=kappa,
            tolerance=tolerance,
            time={"until": until, "save_at": times},
        )
        for k, density in enumerate(expected):
            error = np.abs(run.measure(k).evaluate(points) - density).max() / density.max()
            assert error < max(10 * tolerance, 1e-10)


@pytest.mark.parametrize(("kind", "normalised"), [("unnormalized", False), ("softmax", True)])
@pytest.mark.parametrize(("beta", "count"), [(-3.0, 16), (4.0, 18), pytest.param(18.0, 34, marks=pytest.mark.long)])
def test_data_without_an_axis_and_noise_move_with_their_tokens(kind, normalised, beta, count):
    """Densities where tokens are, by sums over nodes that move: no harmonics, no kernel degree by degree."""
    level = 1.0 if normalised else np.sinh(beta) / beta
    times = [0.0, 0.15 / level, 0.3 / level]
    expected = carried(without_axis, places(6), times, beta, normalised, count)
    for tolerance in (1e-4, 1e-7, 1e-11):
        law, time = {"kind": kind, "A": beta}, {"until": times[-1], "save_at": times}
        run = solved(WITHOUT_AXIS, times[-1], law=law, tolerance=tolerance, time=time)
        for k, (x, density) in enumerate(expected):
            peak = np.max(run.density[k])
            assert np.abs(run.measure(k).evaluate(x) - density).max() / peak < max(10 * tolerance, 1e-10)


@pytest.mark.parametrize("tilted", [False, True])
@pytest.mark.parametrize(("kind", "beta", "kappa", "until"), CLUSTERS)
def test_strong_attention_agrees_with_another_method(kind, beta, kappa, until, tilted, monkeypatch):
    """About the polar axis as a profile, about another one by all harmonics."""
    axis = np.array([0.48, -0.6, 0.64]) if tilted else np.array([0.0, 0.0, 1.0])
    if tilted:
        monkeypatch.setattr(sphere, "profile_of", lambda *_: None)
        monkeypatch.setattr(sphere, "axis_of", lambda *_: None)
    times = [0.0, until / 3, until]
    expected = about_axis(bumps, times, beta, kappa, kind == "softmax")
    data = {
        "geometry": {"kind": "sphere"},
        "attention": {"kind": kind, "A": beta},
        "noise": {"kappa": kappa},
        "initial": clusters(axis),
        "time": {"until": until, "save_at": times},
    }
    colatitude = np.linspace(0, np.pi, 200)
    side = np.cross(axis, [0.6, 0.8, 0.0]) / np.linalg.norm(np.cross(axis, [0.6, 0.8, 0.0]))
    points = np.outer(np.cos(colatitude), axis) + np.outer(np.sin(colatitude), side)
    for tolerance in (1e-4, 1e-7, 1e-10):
        run = mfpde.solve(mfpde.Problem.from_dict({**data, "solver": {"kind": "spectral", "tolerance": tolerance}}))
        for k, density in enumerate(expected):
            exact = density(np.cos(colatitude))
            error = np.abs(4 * np.pi * run.measure(k).evaluate(points) - exact)
            assert error.max() / exact.max() < 10 * tolerance
            assert (np.sin(colatitude) * error).mean() * np.pi / 2 < 10 * tolerance


def test_a_normaliser_that_is_only_rounding_makes_no_speed():
    """Far from a narrow density `Z` is less than the rounding of its peak: any number, and sometimes exactly 0."""
    for dimension in (3, 8):
        narrow = {"kind": "von-mises", "direction": np.eye(dimension)[-1].tolist(), "concentration": 500}
        data = {
            "geometry": {"kind": "sphere", "dimension": dimension},
            "attention": {"kind": "softmax", "beta": 20},
            "initial": narrow,
            "solver": {"kind": "spectral", "tolerance": 1e-8},
            "time": {"until": 0.02, "save": False},
        }
        problem = mfpde.Problem.from_dict(data)
        run, spread = mfpde.solve(problem), (dimension - 1) / 500
        assert run.outcome.kind == "finished"
        integration = problem.solver.start(InitialValueProblem(problem.equation, 0.02))
        while integration.advance(0.02, 10**6).state is State.UNDER_WAY:
            pass
        assert integration.statistics()["rejected"] < 10
        mean = np.linalg.norm(run.measure(-1).mean)
        assert 1 - mean == pytest.approx(
            0.5 * spread * np.exp(-2 * 0.02), rel=0.05
        )  # SA: a cluster shrinks like e^{-t}


def test_maier_saupe_comes_to_its_stationary_order():
    """`W = w P_2`: `log mu = kappa w m_2 P_2`, m_2 = <P_2>."""
    weight, kappa = 2.0, 6.0
    z, w = np.polynomial.legendre.leggauss(100)
    shape, order = 0.5 * (3 * z**2 - 1), 0.6
    for _ in range(400):
        density = w * np.exp(kappa * weight * order * shape)
        order = density @ shape / density.sum()
    run = solved("1 + 0.6*x**2", 12.0, kappa=kappa, interaction={"coefficients": [0, weight]})
    found = run.measure(-1).covariance[0, 0] + run.measure(-1).mean[0] ** 2
    assert 0.5 * (3 * found - 1) == pytest.approx(order, abs=1e-7)
