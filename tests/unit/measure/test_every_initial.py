"""What every initial measure answers, on every space it lives on: against integrals of its density by other means."""

from dataclasses import dataclass, field

import numpy as np
import pytest

import mfpde
from mfpde.geometry import Circle, Lattice, Line, Plane, Space, Sphere
from mfpde.registry import members

GAUSSIAN = {"kind": "gaussian", "mean": [0.5, 0], "covariance": [[1, 0.3], [0.3, 0.5]]}
NARROW = {"kind": "gaussian", "mean": [-1, 1], "covariance": 0.1}
CUBE = {"kind": "uniform", "box": [[-1, 1], [0, 1], [0, 2]]}


@dataclass(frozen=True)
class Case:
    """An initial measure on a space; `box` holds it, `edges` are where it is not smooth (line and circle)."""

    geometry: object
    data: dict
    box: tuple = ()
    edges: tuple = ()
    tilt: float = 2.0
    round: tuple = field(default=())  # centre and half-axes of an ellipse that is its support

    @property
    def measure(self):
        return self.initial.on(self.geometry)

    @property
    def initial(self):
        return members("initial")[self.data["kind"]].model_validate(self.data)


CASES = {
    "gaussian line": Case(Line(), {"kind": "gaussian", "mean": 0.5, "covariance": 2}, ((-32, 32),)),
    "gaussian plane": Case(Plane(), GAUSSIAN, ((-15, 16), (-12, 12))),
    "gaussian space": Case(Space(dimension=3), {"kind": "gaussian", "mean": [1, 0, 2], "covariance": 0.25}),
    "mixture line": Case(
        Line(),
        {
            "kind": "mixture",
            "components": [
                {"kind": "uniform", "box": [[-1, 1]], "weight": 3},
                {"kind": "gaussian", "mean": 2, "covariance": 0.3},
            ],
        },
        ((-9, 12),),
        edges=(-1, 1),
    ),
    "mixture plane": Case(
        Plane(), {"kind": "mixture", "components": [GAUSSIAN, {**NARROW, "weight": 2}]}, ((-15, 16), (-12, 12))
    ),
    "mixture circle": Case(
        Circle(),
        {
            "kind": "mixture",
            "components": [
                {"kind": "uniform", "box": [[0.5, 2]]},
                {"kind": "von-mises", "direction": 3, "concentration": 4},
            ],
        },
        edges=(0.5, 2),
    ),
    "mixture sphere": Case(
        Sphere(),
        {
            "kind": "mixture",
            "components": [
                {"kind": "von-mises", "direction": [1, 0, 0], "concentration": 3},
                {"kind": "density", "expression": "1 + x*y"},
            ],
        },
    ),
    "interval": Case(Line(), {"kind": "uniform", "box": [[-1, 3]]}, ((-1.5, 4),), edges=(-1, 3)),
    "ball of the line": Case(
        Line(), {"kind": "uniform", "ball": {"center": 1, "radius": 2}}, ((-1.5, 4),), edges=(-1, 3)
    ),
    "square": Case(Plane(), {"kind": "uniform", "box": [[-1, 1], [0, 3]]}, ((-1, 1), (0, 3))),
    "disc": Case(
        Plane(),
        {"kind": "uniform", "ball": {"center": [1, 0], "radius": 2}},
        ((-1.5, 3.5), (-2.5, 2.5)),
        round=((1, 0), (2, 2)),
    ),
    "cube": Case(Space(dimension=3), CUBE),
    "ball": Case(Space(dimension=3), {"kind": "uniform", "ball": {"center": [1, 0, 0], "radius": 2}}),
    "whole circle": Case(Circle(), {"kind": "uniform"}),
    "arc": Case(Circle(), {"kind": "uniform", "box": [[-1, 2]]}, edges=(2, 2 * np.pi - 1)),
    "arc about a point": Case(
        Circle(), {"kind": "uniform", "ball": {"center": [1, 0], "radius": 1}}, edges=(1, 2 * np.pi - 1)
    ),
    "whole sphere": Case(Sphere(), {"kind": "uniform"}),
    "cap": Case(Sphere(), {"kind": "uniform", "ball": {"center": [0, 0, 1], "radius": 0.7}}, edges=(np.cos(0.7),)),
    "large cap": Case(Sphere(), {"kind": "uniform", "ball": {"center": [0, 0, 1], "radius": 2}}, edges=(np.cos(2),)),
    "von-mises circle": Case(Circle(), {"kind": "von-mises", "direction": 1, "concentration": 5}),
    "von-mises sphere": Case(Sphere(), {"kind": "von-mises", "direction": [0.6, 0, 0.8], "concentration": 5}),
    "density line": Case(Line(), {"kind": "density", "expression": "exp(-x**4 + x)"}, ((-4, 4),)),
    "density line edges": Case(
        Line(),
        {"kind": "density", "expression": "sqrt(maximum(0, 1 - x**2)) + maximum(0, 2 - abs(x - 1))"},
        ((-2, 4),),
        edges=(-1, 1, 3),
    ),
    "density plane": Case(Plane(), {"kind": "density", "expression": "exp(-x**4 - y**2 - x*y)"}, ((-5, 5), (-11, 11))),
    "density plane edges": Case(
        Plane(),
        {"kind": "density", "expression": "(2 + x)*sqrt(maximum(0, 1 - x**2 - y**2/4))"},
        ((-1.5, 1.5), (-2.5, 2.5)),
        round=((0, 0), (1, 2)),
    ),
    "density circle": Case(Circle(), {"kind": "density", "expression": "1 + 0.5*cos(theta) + 0.2*y**2"}),
    "density circle edges": Case(
        Circle(),
        {"kind": "density", "expression": "maximum(0, cos(theta) - 0.3)"},
        edges=(np.arccos(0.3), 2 * np.pi - np.arccos(0.3)),
    ),
    "density sphere": Case(Sphere(), {"kind": "density", "expression": "exp(2*z + x*y)"}),
    "density sphere angles": Case(
        Sphere(), {"kind": "density", "expression": "2 + sin(colatitude)**2*cos(2*longitude)"}
    ),
}
POINTS = {
    "points line": Case(Line(), {"kind": "points", "values": [0, 1, 3], "weights": [1, 2, 1]}),
    "points plane": Case(Plane(), {"kind": "points", "values": [[0, 1], [2, 2]]}),
    "points space": Case(Space(dimension=4), {"kind": "points", "values": [[0, 1, 0, 0], [2, 2, 1, 0]]}),
    "points circle": Case(Circle(), {"kind": "points", "values": [0.5, 2.0]}),
    "points sphere": Case(Sphere(), {"kind": "points", "values": [[0, 0, 1], [0.6, 0.8, 0]]}),
    "mixture with points": Case(
        Line(),
        {
            "kind": "mixture",
            "components": [{"kind": "points", "values": [2, 3]}, {"kind": "gaussian", "mean": 0, "covariance": 1}],
        },
    ),
    "mixture with points circle": Case(
        Circle(),
        {
            "kind": "mixture",
            "components": [
                {"kind": "points", "values": [2, 3]},
                {"kind": "von-mises", "direction": 0, "concentration": 2},
            ],
        },
    ),
}
DENSITIES = [name for name, case in CASES.items() if case.geometry != Space(dimension=3)]
FLAT = [name for name, case in CASES.items() if case.box]


def gauss(ends, count=60):
    """Gauss-Legendre between ends."""
    points, weights = np.polynomial.legendre.leggauss(count)
    ends = np.asarray(ends, dtype=float)
    half = 0.5 * np.diff(ends)
    return (ends[:-1, None] + half[:, None] * (1 + points)).ravel(), (half[:, None] * weights).ravel()


def rule(case):
    """Points and weights of another rule than the package's, for integrals against `evaluate`."""
    if isinstance(case.geometry, Circle):
        theta, weights = gauss(np.sort([0, *case.edges, *np.linspace(0, 2 * np.pi, 9)[1:]]))
        return theta[:, None], weights
    if isinstance(case.geometry, Sphere):
        (z, up), turns = gauss(np.sort([*case.edges, *np.linspace(-1, 1, 5)]), 40), 128
        phi = 2 * np.pi * np.arange(turns) / turns
        side = np.sqrt(1 - z * z)
        points = np.stack(
            [np.outer(side, np.cos(phi)), np.outer(side, np.sin(phi)), np.outer(z, np.ones(turns))], axis=-1
        )
        return points.reshape(-1, 3), np.outer(up, np.full(turns, 2 * np.pi / turns)).ravel()
    if case.round:
        (radius, weight), turns = gauss([0, 0.5, 1]), 128  # r = 1 - (1 - s)^2 takes care of a root at the edge
        s, weight = radius, weight * 2 * (1 - radius)
        r, phi = 1 - (1 - s) ** 2, 2 * np.pi * np.arange(turns) / turns
        (cx, cy), (ax, ay) = case.round
        points = np.column_stack(
            [cx + ax * np.outer(r, np.cos(phi)).ravel(), cy + ay * np.outer(r, np.sin(phi)).ravel()]
        )
        return points, np.outer(r * weight, np.full(turns, ax * ay * 2 * np.pi / turns)).ravel()
    if len(case.box) == 1:
        low, high = case.box[0]
        x, weights = graded_to_edges(sorted({low, *case.edges, *np.linspace(low, high, 17)}))
        return x[:, None], weights
    (x, wx), (y, wy) = (gauss(np.linspace(*ends, 9), 40) for ends in case.box)
    return np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2), np.outer(wx, wy).ravel()


def graded_to_edges(ends):
    """s^2 (3 - 2 s) between ends: roots at the edges become smooth."""
    s, weights = gauss(np.arange(len(ends), dtype=float))
    cell, s = np.divmod(s, 1)
    low, width = np.array(ends)[cell.astype(int)], np.diff(ends)[cell.astype(int)]
    return low + width * s * s * (3 - 2 * s), weights * width * 6 * s * (1 - s)


def law(case):
    """Ambient points and masses by that rule."""
    points, weights = rule(case)
    return case.geometry.embed(points), weights * case.measure.evaluate(points)


def moments(points, masses):
    mean = masses @ points
    return mean, (masses[:, None] * (points - mean)).T @ (points - mean)


@pytest.fixture(params=DENSITIES)
def case(request):
    return CASES[request.param]


def test_every_kind_has_a_case():
    tested = {case.data["kind"] for case in [*CASES.values(), *POINTS.values()]}
    assert set(members("initial")) - {"snapshot", "branch"} <= tested


def test_the_density_has_mass_one_and_these_moments(case):
    points, masses = law(case)
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    mean, covariance = moments(points, masses)
    scale = np.abs(points).max()
    np.testing.assert_allclose(case.measure.mean, mean, rtol=1e-14, atol=2e-12 * scale)
    np.testing.assert_allclose(case.measure.covariance, covariance, rtol=1e-14, atol=1e-11 * scale**2)


@pytest.mark.parametrize("name", [*CASES, *POINTS])
def test_nodes_give_the_moments(name):
    measure = {**CASES, **POINTS}[name].measure
    points, weights = measure.nodes()
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1, abs=1e-13)
    mean, covariance = moments(measure.geometry.embed(points), weights)
    np.testing.assert_allclose(mean, measure.mean, rtol=1e-14, atol=3e-14 * np.abs(points).max())
    np.testing.assert_allclose(covariance, measure.covariance, rtol=1e-14, atol=1e-13 * np.abs(points).max() ** 2)
    assert measure.integrate(lambda x: np.ones(len(x))) == pytest.approx(1, abs=1e-13)


def test_log_laplace_and_its_gradient(case):
    points, masses = law(case)
    random = np.random.default_rng(3)
    w = np.vstack([np.zeros(points.shape[1]), case.tilt * random.standard_normal((4, points.shape[1]))])
    exponents = (points @ w.T).astype(np.longdouble)
    top = exponents.max(axis=0)
    raised = np.exp(exponents - top) * masses[:, None]
    value, gradient = case.measure.log_laplace(w, gradient=True)
    np.testing.assert_allclose(value, (np.log(raised.sum(axis=0)) + top).astype(float), rtol=1e-14, atol=3e-12)
    expected = (raised.T @ points / raised.sum(axis=0)[:, None]).astype(float)
    np.testing.assert_allclose(gradient, expected, rtol=1e-14, atol=3e-12 * np.abs(points).max())


@pytest.mark.parametrize("name", [*CASES, *POINTS])
def test_log_laplace_of_lattices_and_of_nodes(name):
    """A lattice of w is a set of w; closed forms agree with the sum over the nodes."""
    measure = {**CASES, **POINTS}[name].measure
    dimension = measure.ambient_dimension
    w = np.random.default_rng(5).standard_normal((6, dimension))
    value, gradient = measure.log_laplace(w, gradient=True)
    points, weights = measure.nodes()
    y = measure.geometry.embed(points)
    raised = np.exp(y @ w.T) * weights[:, None]
    np.testing.assert_allclose(value, np.log(raised.sum(axis=0)), rtol=1e-14, atol=2e-13)
    np.testing.assert_allclose(
        gradient, raised.T @ y / raised.sum(axis=0)[:, None], rtol=1e-14, atol=3e-13 * np.abs(y).max()
    )
    if dimension <= 2:
        lattice = Lattice.of([np.linspace(-1, 1, 4 + k) for k in range(dimension)], w[0], np.eye(dimension) + 0.3)
        value, gradient = measure.log_laplace(lattice, gradient=True)
        flat = measure.log_laplace(lattice.points(), gradient=True)
        assert value.shape == lattice.shape
        np.testing.assert_allclose(value.ravel(), flat[0], rtol=1e-14, atol=1e-13)
        np.testing.assert_allclose(gradient.reshape(dimension, -1).T, flat[1], rtol=1e-14, atol=1e-13 * np.abs(y).max())


@pytest.mark.parametrize("name", [*CASES, *POINTS])
def test_draws(name):
    case = {**CASES, **POINTS}[name]
    measure = case.measure
    draws = measure.sample(20000, seed=7)
    np.testing.assert_array_equal(measure.sample(50, seed=7), draws[:50])
    assert np.abs(measure.sample(50, seed=8) - draws[:50]).max() > 0
    points = measure.geometry.embed(draws)
    noise = np.sqrt(np.diag(measure.covariance) / 20000) + 1e-12
    assert np.all(np.abs(points.mean(axis=0) - measure.mean) < 5 * noise)
    spread = np.cov(points.T).reshape(measure.covariance.shape)
    np.testing.assert_allclose(spread, measure.covariance, rtol=1e-14, atol=0.05 * np.abs(measure.covariance).max())


@pytest.mark.parametrize("name", FLAT)
def test_cell_averages_hold_the_mass(name):
    case = CASES[name]
    dimension = len(case.box)
    count = 64 if dimension == 1 else 24
    turn = np.eye(1) if dimension == 1 else np.array([[0.8, -0.6], [0.6, 0.8]]) @ [[1, 0.2], [0, 1]]
    low, high = (np.array(ends, dtype=float) for ends in zip(*case.box, strict=True))
    half = 1.7 * np.abs(np.linalg.inv(turn)) @ (high - low) / 2
    edges = [np.linspace(-h, h, count + 1) for h in half]
    lattice = Lattice.of([0.5 * (e[1:] + e[:-1]) for e in edges], 0.5 * (low + high), turn)
    averages = case.measure.cell_averages(lattice)
    volume = np.prod([e[1] - e[0] for e in edges]) * abs(np.linalg.det(turn))
    assert averages.shape == lattice.shape
    assert averages.min() >= 0
    assert averages.sum() * volume == pytest.approx(1, abs=1e-12)
    # one cell in the middle of it all, by an affine map of the reference square
    index = tuple(int(i) for i in np.unravel_index(averages.argmax(), averages.shape))
    nodes = [gauss(np.linspace(e[i], e[i + 1], 20), 8) for e, i in zip(edges, index, strict=True)]
    z = np.stack(np.meshgrid(*(x for x, _ in nodes), indexing="ij"), axis=-1).reshape(-1, dimension)
    weight = nodes[0][1] if dimension == 1 else np.outer(nodes[0][1], nodes[1][1]).ravel()
    density = case.measure.evaluate(z @ turn.T + lattice.origin)
    assert averages[index] == pytest.approx(
        weight @ density / weight.sum(), rel=1e-5 if case.edges or case.round else 1e-12
    )


@pytest.mark.parametrize("name", [*CASES, *POINTS])
def test_reach_holds_the_measure(name):
    case = {**CASES, **POINTS}[name]
    measure = case.measure
    if not measure.geometry.flat:
        return
    points, weights = measure.nodes()
    low, high = measure.reach(1e-6)
    outside = np.any((points < low - 1e-9) | (points > high + 1e-9), axis=1)
    assert weights[outside].sum() <= 4e-6 * points.shape[1]
    if not measure.compact:
        w = np.eye(points.shape[1])[:1]
        _, high_tilted = measure.reach(1e-6, 3 * w)
        assert high_tilted[0] > high[0]


@pytest.mark.parametrize("name", [*CASES, *POINTS])
def test_it_is_written_and_read_back(name, tmp_path):
    case = {**CASES, **POINTS}[name]
    problem = mfpde.Problem(geometry=case.geometry, initial=case.initial)
    (tmp_path / "problem.yaml").write_text(problem.to_yaml())
    again = mfpde.Problem.from_yaml(tmp_path / "problem.yaml")
    assert again == problem
    assert again.content_hash == problem.content_hash
    assert problem.initial.canonical().items() >= {"kind": case.data["kind"]}.items()


@pytest.mark.parametrize(
    ("name", "geometry"),
    [
        ("gaussian line", Line()),
        ("gaussian plane", Plane()),
        ("gaussian space", Space(dimension=3)),
        ("mixture plane", Plane()),
        ("whole circle", Circle()),
        ("square", Plane()),
        ("cube", Space(dimension=3)),
        ("disc", Plane()),
        ("von-mises sphere", Sphere()),
        ("density plane", Plane()),
        ("density line", Line()),
        ("density sphere", Sphere()),
        ("density circle", Circle()),
        ("points plane", Plane()),
    ],
)
def test_on_its_own_it_lives_on_its_natural_space(name, geometry):
    initial = {**CASES, **POINTS}[name].initial
    assert initial.geometry == geometry
    np.testing.assert_array_equal(initial.mean, initial.on(geometry).mean)
    np.testing.assert_array_equal(initial.covariance, initial.on(geometry).covariance)
    np.testing.assert_array_equal(initial.sample(3), initial.on(geometry).sample(3))


@pytest.mark.parametrize(
    ("parts", "space"),
    [
        ([mfpde.Points(values=[0.0, 1.0]), mfpde.Gaussian(mean=[0], covariance=[[1]])], mfpde.Line()),
        ([mfpde.Uniform(), mfpde.VonMises(direction=[0, 0, 1], concentration=1)], mfpde.Sphere()),
        ([mfpde.Uniform(), mfpde.VonMises(direction=0, concentration=1)], mfpde.Circle()),
        ([mfpde.Density(expression="1"), mfpde.Density(expression="1 + cos(theta)")], mfpde.Circle()),
    ],
    ids=str,
)
def test_the_space_of_a_mixture_is_one_on_which_all_components_make_sense(parts, space):
    for order in (parts, parts[::-1]):
        mixture = mfpde.Mixture(components=order)
        assert mixture.geometry == space
        np.testing.assert_allclose(mixture.mean, 0.5 * sum(part.on(space).mean for part in parts), atol=1e-12)


def test_a_mixture_without_a_common_space_names_the_component_at_fault():
    for order in (0, 1):
        parts = [mfpde.Uniform(), mfpde.Gaussian(mean=[0], covariance=[[1]])]
        mixture = mfpde.Mixture(components=parts[:: 1 - 2 * order])
        with pytest.raises(mfpde.ProblemError, match=rf"components\.{order}: uniform needs a box or a ball on a space"):
            mixture.sample(3)
