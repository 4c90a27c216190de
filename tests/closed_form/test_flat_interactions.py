"""Interactions on the line and the plane: exact Gaussians, plain programs of tokens, laws of moments and energies."""

import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm, solve_continuous_lyapunov

import mfpde
from mfpde.attention.lattice_sums import sums_of_nodes, sums_over_lattice
from mfpde.attention.pair_potential import PairPotential
from mfpde.attention.quadratic import quadratic_of
from mfpde.errors import ProblemError
from mfpde.geometry import Lattice
from mfpde.measure.expression import Expression


def run(**blocks):
    return mfpde.solve(mfpde.Problem.from_dict(blocks))


# -- exact Gaussians
# ----------------------------------------------------------------------------------------------------------------------

MEAN, COVARIANCE = np.array([1.0, 0.5]), np.array([[1.0, 0.3], [0.3, 0.5]])
WELL = np.array([[-1.0, 0.2], [0.2, -0.5]])  # second derivatives of -x**2/2 - y**2/4 + x*y/5
SPRINGS = {"expression": "1 - 0.5*(r**2 - 3)", "external": "-x**2/2 - y**2/4 + x*y/5 + 0.3*x"}


def ornstein_uhlenbeck(time, kappa):
    """`m' = b + H m`, `S' = B S + S B + 2/kappa`, `B = H - 1`, by matrix exponentials and a Lyapunov equation."""
    slope, decay = np.array([0.3, 0.0]), WELL - np.eye(2)
    rest = -np.linalg.solve(WELL, slope)
    limit = solve_continuous_lyapunov(decay, -2 / kappa * np.eye(2))
    flow = expm(decay * time)
    return rest + expm(WELL * time) @ (MEAN - rest), limit + flow @ (COVARIANCE - limit) @ flow.T


@pytest.mark.parametrize(("kind", "kappa", "tolerance"), [
    ("gaussian", 2.0, 1e-11), ("gaussian", math.inf, 1e-11), ("finite-volume", 2.0, 1e-8),
    ("finite-volume", math.inf, 1e-8), ("characteristics", math.inf, 1e-9),
])  # fmt: skip
def test_springs_in_a_well_keep_gaussians(kind, kappa, tolerance):
    settings = {"kind": kind, **({"cells": 48} if kind == "finite-volume" else {})}
    ended = run(
        geometry={"kind": "plane"},
        interaction=SPRINGS,
        noise={"kappa": kappa},
        initial={"kind": "gaussian", "mean": MEAN, "covariance": COVARIANCE},
        solver=settings,
        time={"until": 0.4, "save": False},
    )
    mean, covariance = ornstein_uhlenbeck(0.4, kappa)
    np.testing.assert_allclose(ended.measure(-1).mean, mean, atol=tolerance)
    np.testing.assert_allclose(ended.measure(-1).covariance, covariance, atol=tolerance)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(x + 2*y)**2/2 - 3", (-3, [0, 0], [[1, 2], [2, 4]])),
        ("2 - x/4 + y*x*cos(0)", (2, [-0.25, 0], [[0, 1], [1, 0]])),
        ("-(x**1 - 1)*(y + 2**2)", (4, [-4, 1], [[0, -1], [-1, 0]])),
    ],
)
def test_polynomials_of_degree_two_are_known(text, found):
    constant, slope, bend = found
    known = quadratic_of(Expression(text), ("x", "y"))
    assert known.constant == constant
    np.testing.assert_allclose(known.slope, slope)
    np.testing.assert_allclose(known.bend, bend)


@pytest.mark.parametrize("text", ["x**3", "sin(x)", "x*y*x", "1/x", "2**x", "x**0.5", "abs(x)", "z", "x/0"])
def test_others_are_not(text):
    assert quadratic_of(Expression(text), ("x", "y")) is None


def test_sums_of_springs_are_those_of_pairs():
    x = np.random.default_rng(0).standard_normal((50, 3))
    measure = mfpde.Particles(x, np.arange(1, 51) / 1275)
    law = mfpde.Interaction(expression="2 - 0.7*r**2", external="x*y")
    np.testing.assert_allclose(law.drift(measure, x), law.drift_by_quadrature(measure, x), atol=1e-13)
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    pairs = 0.5 * measure.weights @ (2 - 0.7 * distances**2) @ measure.weights
    assert law.energy(measure) == pytest.approx(pairs + measure.weights @ (x[:, 0] * x[:, 1]), rel=1e-13)
    np.testing.assert_allclose(law.divergence(measure, x), -3 * 1.4)


# -- densities on cells
# ----------------------------------------------------------------------------------------------------------------------


def gaussian(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize(
    ("text", "slope", "kink"),
    [
        ("maximum(0, 1 - r)", lambda r: -1.0 if r < 1 else 0.0, 1.0),
        ("maximum(0, 1 - r**2)**2", lambda r: -4 * r * (1 - r * r) if r < 1 else 0.0, 1.0),
        ("-r", lambda _: -1.0, 1.0),
        ("exp(-400*r**2)/400", lambda r: -2 * r * math.exp(-400 * r * r), 0.1),
        ("exp(-r**2)", lambda r: -2 * r * math.exp(-r * r), 1.0),
    ],
)
@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("plain", [False, True])
def test_forces_of_a_density_on_the_line(monkeypatch, text, slope, kink, moved, plain):
    """Kinks and peaks between the cells are integrated to rounding, at the cells and at those of another frame, by
    transforms and by plain sums."""
    monkeypatch.setattr("mfpde.attention.lattice_sums._PLAIN_PAIRS_MAX", 2**18 if plain else 0)
    axis = (np.arange(128) - 63.5) * 18 / 128
    cells = Lattice.of([axis])
    queries = Lattice.of([axis], [0.3], [[0.4]]) if moved else cells
    masses = gaussian(axis) * 18 / 128
    found = sums_over_lattice(PairPotential(text), mfpde.Line(), "slopes", cells, masses, queries)[0]
    assert sums_of_nodes(PairPotential(text), mfpde.Line(), cells, queries) == (text == "exp(-r**2)")
    for index in (40, 70, 77):
        x = queries.points()[index, 0]

        def pulled(r, x=x):
            return slope(r) * (gaussian(x - r) - gaussian(x + r))

        exact = sum(quad(pulled, *ends, epsabs=1e-14, limit=200)[0] for ends in ((0, kink), (kink, 14)))
        assert found[index] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("text", ["exp(-r**2)", "-log(r**2 + 1)"])
def test_forces_of_a_density_on_the_plane_are_those_of_its_cells(text):
    axis = (np.arange(40) - 19.5) * 0.3
    cells = Lattice.of([axis, axis], [0.1, 0.2], [[1, 0.3], [0, 0.8]])
    masses = np.exp(-0.5 * (cells.points() ** 2).sum(axis=1))
    measure, law = mfpde.Particles(cells.points(), masses), mfpde.Interaction(expression=text)
    found = sums_over_lattice(PairPotential(text), mfpde.Plane(), "slopes", cells, masses / masses.sum(), cells)
    some = np.arange(0, 1600, 31)
    plain = law.drift_by_quadrature(measure, cells.points()[some])
    np.testing.assert_allclose(found[:, some].T, plain, atol=1e-13 * np.abs(plain).max())


@pytest.mark.parametrize("length", [0.5, 3.0])
def test_interactions_that_end_are_those_of_normal_laws(length):
    """`W = exp(-r^2 / 2 l^2)` of a normal law is one of its covariance and l^2 I together, on cells of which some are
    farther apart than W reaches, wide and narrow ones, and at points beyond them."""
    matrix, mean = np.array([[2.0, 0.3], [-0.4, 0.5]]), np.array([0.1, 0.2])
    axes = [(np.arange(count) - 0.5 * (count - 1)) * 18.0 / count for count in (96, 80)]
    cells, more = Lattice.of(axes, mean, matrix), Lattice.of(axes[::-1], [1.5, -0.5], 0.9 * matrix)
    masses = np.exp(-0.5 * np.add.outer(axes[0] ** 2, axes[1] ** 2)).ravel()
    covariance = matrix @ matrix.T + length**2 * np.eye(2)
    for places in (cells, more):
        apart = np.linalg.solve(covariance, (places.points() - mean).T)
        values = np.exp(-0.5 * ((places.points() - mean).T * apart).sum(axis=0))
        pull = -(length**2) / np.sqrt(np.linalg.det(covariance)) * apart * values
        potential = PairPotential(f"exp(-r**2/{2 * length**2})")
        found = sums_over_lattice(potential, mfpde.Plane(), "slopes", cells, masses / masses.sum(), places)
        np.testing.assert_allclose(found, pull, atol=1e-12 * np.abs(pull).max())


def test_static_cells_and_moving_ones_agree():
    """Bounded confidence with noise: a force with a kink, on one grid and in the frames of two components."""
    parts = [
        {"kind": "gaussian", "mean": [mean], "covariance": [[0.3]], "weight": 0.5} for mean in (-0.9, 0.9)
    ]  # fmt: skip
    found = []
    for settings in ({"frame": "static", "cells": 400}, {"cells": 96}):
        ended = run(
            geometry={"kind": "line"},
            interaction={"expression": "maximum(0, 1 - r**2)**2"},
            noise={"kappa": 10},
            initial={"kind": "mixture", "components": parts},
            solver={"kind": "finite-volume", **settings},
            time={"until": 0.3, "save": False},
        )
        found.append(ended.measure(-1).evaluate(np.linspace(-2, 2, 41)[:, None]))
    np.testing.assert_allclose(found[0], found[1], atol=2e-6)


# -- tokens
# ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("frame", "cells", "steps"), [("moving", 200, 60), ("static", 400, 110)])
def test_a_quartic_well_takes_as_many_steps_as_its_mass_asks_for(frame, cells, steps):
    """From x_0 a token is at `x_0 / (1 + 2 t x_0^2)^{1/2}`; in the corners, without mass, it is a hundred times as
    fast."""
    problem = {
        "geometry": {"kind": "line"},
        "interaction": {"external": "-x**4/4"},
        "initial": {"kind": "gaussian", "mean": 0.3, "covariance": 0.1},
        "solver": {"kind": "finite-volume", "cells": cells, "frame": frame},
        "time": {"until": 1.0, "save": False},
    }
    run = mfpde.solve(mfpde.Problem.from_dict(problem))

    def average(power):
        def weighed(x):
            return (x / math.sqrt(1 + 2 * x**2)) ** power * math.exp(-5 * (x - 0.3) ** 2) / math.sqrt(0.2 * math.pi)

        return quad(weighed, -4, 4, epsabs=1e-13)[0]

    measure = run.measure(-1)
    assert abs(measure.mean[0] - average(1)) < 5e-8
    assert abs(measure.covariance[0, 0] - (average(2) - average(1) ** 2)) < 5e-8
    assert run.provenance["statistics"]["steps"] < steps


def test_bounded_confidence_as_a_plain_program():
    """Hegselmann and Krause's opinions by SciPy: `x_i' = mean of (1 - r^2) (x_j - x_i) within 1`."""
    opinions = np.linspace(-2, 2, 40) + 0.05 * np.sin(np.arange(40) * 7.0)

    def plain(_, x):
        apart = x - x[:, None]
        return np.mean(np.where(np.abs(apart) < 1, (1 - apart**2) * apart, 0.0), axis=1)

    exact = solve_ivp(plain, (0, 5), opinions, "DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    ended = run(
        geometry={"kind": "line"},
        interaction={"expression": "maximum(0, 1 - r**2)**2/4"},
        initial={"kind": "points", "values": opinions},
        solver={"kind": "particles", "tolerance": 1e-8},
        time={"until": 5, "save": False},
    )
    np.testing.assert_allclose(ended.positions[-1, :, 0], exact, atol=1e-7)
    assert np.ptp(exact[:12]) < 0.7 * np.ptp(opinions[:12])  # they gather


# -- laws of moments and energies
# ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("strength", "grows"), [(1.0, True), (3.5, False)])
def test_second_moment_of_keller_segel(strength, grows):
    """`d/dt int |x|^2 = 4/kappa + iint r W'(r)`, `r W' = -2 s r^2/(r^2 + 1/4)`: below and above the critical mass."""
    ended = run(
        geometry={"kind": "plane"},
        interaction={"expression": f"-{strength}*log(r**2 + 0.25)"},
        noise={"kappa": 1},
        initial={"kind": "gaussian", "mean": [0, 0], "covariance": [[1, 0.2], [0.2, 0.7]]},
        solver={"kind": "finite-volume", "cells": 52},
        time={"until": 0.1, "save_every": 0.025},
        observe=["free-energy"],
    )
    moments, rates = [], []
    for index in range(5):
        points, weights = ended.measure(index).nodes()
        points, weights = points[weights > 1e-14], weights[weights > 1e-14]
        moments.append(float(weights @ (points**2).sum(axis=1)))
        squares = ((points[:, None] - points) ** 2).sum(axis=2)
        rates.append(4 - 2 * strength * weights @ (squares / (squares + 0.25)) @ weights)
    boole = 0.1 / 90 * np.array([7, 32, 12, 32, 7]) @ rates
    assert moments[-1] - moments[0] == pytest.approx(boole, rel=1e-4)  # 52 cells a side
    assert (moments[-1] > moments[0]) == grows
    assert (np.diff(ended["free-energy"]) < 0).all()


def test_free_energy_is_lost_as_fast_as_it_is_dissipated():
    """Of repulsion in a well, integrated by Gauss-Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(6)
    times = 0.15 * (1 + nodes)
    ended = run(
        geometry={"kind": "line"},
        interaction={"expression": "-exp(-r**2)", "external": "cos(x)/2 - x**2/2"},
        noise={"kappa": 3},
        initial={"kind": "gaussian", "mean": [0.4], "covariance": [[0.6]]},
        solver={"kind": "finite-volume", "cells": 128},
        time={"until": 0.3, "save_at": [*times.tolist(), 0.3]},
        observe=["free-energy", "dissipation"],
    )
    lost = 0.15 * weights @ ended["dissipation"][1:-1]
    energy = ended["free-energy"]
    assert energy[0] - energy[-1] == pytest.approx(lost, rel=1e-8)


def test_free_energy_of_a_gaussian():
    """`-(1 + log(2 pi s)) / (2 kappa) + s/2 + s/2` for variance s, `W = -r^2/2`, `U = -x^2/2`."""
    ended = run(
        geometry={"kind": "line"},
        interaction={"expression": "-r**2/2", "external": "-x**2/2"},
        noise={"kappa": 5},
        initial={"kind": "gaussian", "mean": [0], "covariance": [[0.4]]},
        solver={"kind": "finite-volume", "cells": 64},
        time={"until": 0.1, "save": False},
        observe=["free-energy", "dissipation"],
    )
    assert ended["free-energy"][0] == pytest.approx(-(1 + math.log(0.8 * math.pi)) / 10 + 0.4, abs=1e-12)
    assert ended["dissipation"][0] == pytest.approx(0.4 * (2 - 1 / (5 * 0.4)) ** 2, abs=1e-11)


# -- what is refused
# ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sqrt(1 - r**2)", "nan at r = 1.005"),
        ("1/(r - 1)", "inf at r = 1;"),
        ("maximum(0, -1 - r)", "it moves nothing"),
        ("log(r)", "singular"),
        ("1/r", "singular"),
        ("r**0.5", "singular, or its slope is"),
        ("x - r", "a coordinate of one token"),
    ],
)
@pytest.mark.parametrize("solver", [{"kind": "finite-volume"}, {"kind": "particles", "count": 5}])
def test_potentials_that_are_refused(text, told, solver):
    problem = {
        "geometry": {"kind": "line"},
        "interaction": {"expression": text},
        "noise": {"kappa": 4},
        "initial": {"kind": "gaussian", "mean": [0], "covariance": [[1]]},
        "solver": solver,
        "time": {"until": 1},
    }
    with pytest.raises(ProblemError, match=told):
        mfpde.solve(mfpde.Problem.from_dict(problem))


def test_a_potential_that_overflows_far_away_is_none():
    mfpde.Interaction(expression="-exp(r**4)").check(mfpde.Line())
