"""General laws on circle and sphere, against dense quadrature, closed forms and conjugation."""

import numpy as np
import pytest
from reference import sphere as on_sphere
from reference.general_circle import Nodes, exponential, solve, unit
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import mfpde
from mfpde.contracts import State
from mfpde.equation import InitialValueProblem
from mfpde.solvers.spectral.law_grids import RingGrid
from mfpde.solvers.spectral.law_parts import part_of

A, V = np.array([[2.0, 1.0], [-0.5, 1.5]]), np.array([[1.0, 0.3], [-0.4, 0.8]])
POINTS, UNTIL, KAPPA = 96, 0.6, 4.0
BUMPS = "1 + 0.5*cos(theta) + 0.2*sin(2*theta)"


def bumps(theta):
    return 1 + 0.5 * np.cos(theta) + 0.2 * np.sin(2 * theta)


def problem(attention, tolerance=1e-9, initial=BUMPS, geometry="circle", until=UNTIL, kappa=KAPPA, **blocks):
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": geometry} if isinstance(geometry, str) else geometry,
            "attention": attention,
            "noise": {"kappa": kappa},
            "initial": {"kind": "density", "expression": initial} if isinstance(initial, str) else initial,
            "solver": {"kind": "spectral", "tolerance": tolerance},
            "time": {"until": until, "save": False},
            **blocks,
        }
    )


def at_nodes(run, positions=1):
    """Densities at the nodes of the reference, by the series."""
    measure = run.measure(-1)
    laws = [(1.0, measure)] if positions == 1 else [(share, law) for _, share, law in measure.slices]
    return np.stack([share * law.evaluate(2 * np.pi / POINTS * np.arange(POINTS)) for share, law in laws])


def relative(found, wanted):
    return np.abs(found - wanted).max() / wanted.max()


def scores(x, y):
    return x @ A.T @ y.T


def squared_distance(x, y):
    return ((x @ A.T)[:, None] - (y @ V.T)[None]) ** 2


HEADS = {
    "softmax": ({"kind": "softmax", "A": A, "V": V}, [(exponential(A), V, True)]),
    "unnormalized": ({"kind": "unnormalized", "A": A, "V": V}, [(lambda x, y: np.exp(scores(x, y)), V, False)]),
    "l2": (
        {"kind": "l2", "Q": A, "K": V, "V": V},
        [(lambda x, y: np.exp(-squared_distance(x, y).sum(axis=-1)), V, True)],
    ),
    "sigmoid": ({"kind": "sigmoid", "A": A, "V": V}, [(lambda x, y: 1 / (1 + np.exp(-scores(x, y))), V, False)]),
    "linear": ({"kind": "linear", "A": A, "V": V}, [(scores, V, False)]),
    "multi-head": (
        {
            "kind": "multi-head",
            "heads": [{"kind": "softmax", "A": A, "V": V}, {"kind": "l2", "Q": 1, "K": 1}, {"kind": "linear", "A": 1}],
        },
        [
            (exponential(A), V, True),
            (exponential(2 * np.eye(2)), np.eye(2), True),
            (lambda x, y: x @ y.T, np.eye(2), False),
        ],
    ),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_law_with_noise_is_what_dense_quadrature_says(name):
    attention, heads = HEADS[name]
    wanted = solve([(UNTIL, Nodes(heads, KAPPA, POINTS))], [bumps], POINTS)
    run = mfpde.solve(problem(attention))
    assert relative(at_nodes(run), wanted) < 1e-9
    assert abs((np.asarray(run.density[-1]) * run.layout.weight).sum() - 1) < 1e-13


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-10])
def test_errors_stay_below_ten_tolerances(tolerance):
    attention, heads = HEADS["softmax"]
    wanted = solve([(UNTIL, Nodes(heads, KAPPA, POINTS))], [bumps], POINTS)
    assert relative(at_nodes(mfpde.solve(problem(attention, tolerance))), wanted) < 10 * tolerance


def test_the_kink_of_relu_is_integrated_exactly():
    """The reference sums over nodes that see the kink to second order: the finer they are, the nearer it comes."""
    head = [(lambda x, y: np.maximum(0, scores(x, y)), V, False)]
    coarse, fine = (solve([(UNTIL, Nodes(head, KAPPA, POINTS, finer))], [bumps], POINTS) for finer in (8, 64))
    found = at_nodes(mfpde.solve(problem({"kind": "relu", "A": A, "V": V})))
    assert relative(found, fine) < 0.1 * relative(found, coarse)
    assert relative(found, fine) < 1e-8


def test_masked_attention_sees_what_came_before():
    wanted = solve([(UNTIL, Nodes(HEADS["softmax"][1], KAPPA, POINTS))], [bumps, np.ones_like, bumps], POINTS)
    initial = "1 + (0.5*cos(theta) + 0.2*sin(2*theta))*(1 - 6.25*(s - 0.1)*(0.9 - s))"  # uniform at the second
    masked = {"kind": "masked", "attention": HEADS["softmax"][0], "positions": [0.1, 0.5, 0.9]}
    run = mfpde.solve(problem(masked, initial=initial))
    assert relative(at_nodes(run, 3), wanted) < 1e-9
    masses = (np.asarray(run.density[-1]) * run.layout.weight).sum(axis=1)
    assert np.abs(masses - 1 / 3).max() < 1e-14


def test_one_position_is_no_mask():
    attention = HEADS["softmax"][0]
    plain, masked = (
        mfpde.solve(problem(each)) for each in (attention, {"kind": "masked", "attention": attention, "positions": 1})
    )
    assert relative(np.asarray(masked.density[-1, 0]), np.asarray(plain.density[-1])) < 1e-14


def test_layers_end_steps():
    stages = [
        (0.25, Nodes(HEADS["softmax"][1], KAPPA, POINTS)),
        (UNTIL, Nodes([(exponential(3 * np.eye(2)), V, True)], 8, POINTS)),
    ]
    attention = {"kind": "softmax", "A": {"times": [0, 0.25], "values": [A, 3]}, "V": V}
    run = mfpde.solve(problem(attention, kappa={"times": [0, 0.25], "values": [KAPPA, 8]}))
    assert relative(at_nodes(run), solve(stages, [bumps], POINTS)) < 1e-9


def test_coefficients_on_straight_lines():
    """V(t) = 1 + t and kappa(t) = 4 + 4 t."""
    attention = {"kind": "unnormalized", "A": A, "V": {"times": [0, 1], "values": [1, 2], "interpolation": "linear"}}
    run = mfpde.solve(problem(attention, kappa={"times": [0, 1], "values": [4, 8], "interpolation": "linear"}))
    nodes = Nodes([(HEADS["unnormalized"][1][0][0], np.eye(2), False)], 1.0, POINTS)

    def change(time, density):
        flux = (1 + time) * density * nodes.drift(density)
        return nodes.diffusion @ density / (4 + 4 * time) - nodes.first @ flux

    start = bumps(2 * np.pi / POINTS * np.arange(POINTS)) / (2 * np.pi)
    wanted = solve_ivp(change, (0, UNTIL), start, "DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    assert relative(at_nodes(run)[0], wanted) < 1e-9


def test_a_perceptron_moves_tokens_along():
    def extra(theta):
        return (np.stack([-np.sin(theta), np.cos(theta)], -1) * np.tanh(unit(theta) + np.array([0.3, 0.1]))).sum(-1)

    wanted = solve([(UNTIL, Nodes(HEADS["softmax"][1], KAPPA, POINTS))], [bumps], POINTS, extra)
    drift = {"kind": "mlp", "W": 1, "U": 1, "b": [0.3, 0.1], "activation": "tanh"}
    assert relative(at_nodes(mfpde.solve(problem(HEADS["softmax"][0], drift=drift))), wanted) < 1e-9


def test_a_constant_drift_turns_zonal_solutions():
    plain = mfpde.solve(problem({"kind": "softmax", "beta": 3}, 1e-11)).measure(-1)
    turned = mfpde.solve(
        problem({"kind": "softmax", "beta": 3}, 1e-11, drift={"kind": "constant", "value": 0.7})
    ).measure(-1)
    theta = np.linspace(0, 6, 40)
    assert np.abs(turned.evaluate(theta + 0.7 * UNTIL) - plain.evaluate(theta)).max() < 1e-11


@pytest.mark.parametrize("kind", ["softmax", "unnormalized"])
@pytest.mark.parametrize("geometry", ["circle", "sphere"])
def test_multiples_of_the_identity_are_the_zonal_law(kind, geometry):
    """Two equal heads are one: the first are solved by tables, the second degree by degree."""
    initial = BUMPS if geometry == "circle" else "1 + 0.5*x + 0.3*y*z"
    head = {"kind": kind, "A": 1.5, "V": 0.5} if kind == "softmax" else {"kind": kind, "A": 1.5}
    given = {"kind": "multi-head", "heads": [head, head]} if kind == "softmax" else {**head}
    more = {} if kind == "softmax" else {"drift": {"kind": "constant", "value": 0}}
    one, other = (
        mfpde.solve(problem(each, 1e-11, initial, geometry, until=0.3, **extra))
        for each, extra in (({**head, "V": 1.0}, {}), (given, more))
    )
    assert relative(np.asarray(other.density[-1]), np.asarray(one.density[-1])) < 1e-11


def test_sinkhorn_attention_is_that_of_particles():
    """Tokens on equispaced angles with the density as weights are a quadrature rule that moves."""
    attention = {"kind": "sinkhorn", "A": A, "V": V}
    run = mfpde.solve(problem(attention, 1e-5, until=0.5, kappa=".inf"))
    theta = 2 * np.pi / 400 * np.arange(400)
    cloud = mfpde.solve(
        problem(
            attention,
            until=0.5,
            kappa=".inf",
            initial={"kind": "points", "values": list(theta), "weights": list(bumps(theta))},
            solver={"kind": "particles", "tolerance": 1e-6},
        )
    )
    assert np.abs(run.measure(-1).mean - cloud.measure(-1).mean).max() < 1e-5


# -- spheres
# ---------------------------------------------------------------------------------------------------------------

A3 = np.array([[1.0, 0.5, 0.0], [-0.3, 0.8, 0.2], [0.1, 0.4, 0.5]])
V3 = np.array([[1.0, 0.2, 0.0], [0.0, 0.8, 0.1], [0.3, 0.0, 1.1]])


@pytest.mark.parametrize("kind", ["softmax", "unnormalized"])
def test_a_law_on_the_sphere_is_what_dense_quadrature_says(kind):
    points, wanted = on_sphere.solve(
        lambda p: 1 + 0.5 * p[:, 0] + 0.3 * p[:, 1] * p[:, 2], [0.25], 0.0, 2.0, kind == "softmax", 14, 22, A3, V3
    )
    run = mfpde.solve(
        problem({"kind": kind, "A": A3, "V": V3}, 1e-8, "1 + 0.5*x + 0.3*y*z", "sphere", until=0.25, kappa=2.0)
    )
    assert relative(run.measure(-1).evaluate(points), wanted[-1]) < 2e-8
    assert abs((np.asarray(run.density[-1]) * run.layout.weight).sum() - 1) < 1e-13


def test_relu_attention_of_a_density_on_the_sphere():
    """Of `mu = (1 + 3 <a, y> / 2) / (4 pi)`, whose integrals over half spaces are those of powers of the cosine."""
    grid = RingGrid(8, 16, mfpde.Sphere())
    a = np.array([0.2, -0.3, 0.5])
    values = grid.transform.analyze((1 + 1.5 * grid.vectors @ a).reshape(grid.shape))
    part = part_of(mfpde.Relu(A=A3, V=V3), grid, None, np.ones(1), True)
    w = grid.vectors @ A3.T
    size = np.linalg.norm(w, axis=1, keepdims=True)
    # halves: int_0^1 t^2 dt / 2 = 1/6 along w; of the cosine 3/2 int_0^1 t^3 dt / 2 = 3/16 along, half of that across
    along = (w @ a)[:, None] * w / size
    means = w / 6 + 3 / 16 * along + 3 / 32 * (size * a - along)
    wanted = np.einsum("cnd,nd->cn", grid.frame, means @ V3.T)
    assert np.abs(part.velocity(values[None], np.ones((1, w.shape[0])))[0] - wanted).max() < 1e-13


@pytest.mark.parametrize("law", ["softmax", "l2"])
def test_rotations_of_matrices_and_data_rotate_the_solution(law, random):
    turn = Rotation.random(rng=random).as_matrix()
    names = ("A", "V") if law == "softmax" else ("Q", "K", "V")
    given = dict(zip(names, (A3, V3, A3), strict=False))
    turned = {name: turn @ matrix @ turn.T for name, matrix in given.items()}
    directions = [[1, 0.3, 0.2], [-0.4, 1, 0.1]]

    def solved(matrices, axes):
        parts = [{"kind": "von-mises", "direction": list(x / np.linalg.norm(x)), "concentration": 2.0} for x in axes]
        initial = {"kind": "mixture", "components": parts}
        return mfpde.solve(problem({"kind": law, **matrices}, 1e-7, initial, "sphere", until=0.3)).measure(-1)

    points = Rotation.random(30, rng=random).apply([0.0, 0.0, 1.0])
    here = solved(given, np.array(directions)).evaluate(points)
    there = solved(turned, np.array(directions) @ turn.T).evaluate(points @ turn.T)
    assert relative(there, here) < 1e-6


@pytest.mark.parametrize("dimension", [3, 4, 7])
def test_an_axis_that_the_law_keeps_is_a_profile(dimension):
    """`A = V = 1` off the axis at most: two equal heads are the zonal law, in any dimension."""
    initial = {"kind": "von-mises", "direction": np.eye(dimension)[0].tolist(), "concentration": 2}
    geometry = {"kind": "sphere", "dimension": dimension}
    half = {"kind": "softmax", "A": 2, "V": 0.5}
    one, other = (
        mfpde.solve(problem(each, 1e-10, initial, geometry, until=0.3))
        for each in ({"kind": "softmax", "beta": 2}, {"kind": "multi-head", "heads": [half, half]})
    )
    assert relative(np.asarray(other.density[-1]), np.asarray(one.density[-1])) < 1e-10


def test_about_the_axis_is_as_without():
    """The same law solved as a profile, and with all harmonics, to which a spurious second head of size 0 breaks the
    symmetry."""
    law = {"kind": "softmax", "A": np.diag([1.0, 1.0, 2.0]), "V": np.diag([0.5, 0.5, 1.5])}
    nothing = {"kind": "linear", "A": np.diag([1.0, 2.0, 3.0]), "V": 1e-11}
    one, other = (
        mfpde.solve(problem(each, 1e-9, "exp(z)", "sphere", until=0.3))
        for each in (law, {"kind": "multi-head", "heads": [law, nothing]})
    )
    assert relative(np.asarray(other.density[-1]), np.asarray(one.density[-1])) < 1e-9


def test_an_axis_that_the_law_does_not_keep_is_refused_in_many_dimensions():
    initial = {"kind": "von-mises", "direction": [1.0, 0, 0, 0], "concentration": 2}
    law = {"kind": "softmax", "A": np.diag([1.0, 2.0, 3.0, 4.0])}
    with pytest.raises(mfpde.ProblemError, match="axis that attention and drift do not keep"):
        mfpde.solve(problem(law, initial=initial, geometry={"kind": "sphere", "dimension": 4}))


# -- symmetries and limits
# -------------------------------------------------------------------------------------------------------


def coefficients(attention, initial):
    """Of the solution as the solver has it, without the rounding of a file's grid."""
    given = problem(attention, initial=initial)
    integration = given.solver.start(InitialValueProblem(given.equation, UNTIL))
    while integration.advance(UNTIL, 10**6).state is State.UNDER_WAY:
        pass
    return integration.measure().coefficients(20)


def test_symmetries_that_data_and_law_have_are_exact():
    even, half = "1 + 0.5*cos(theta) + 0.2*cos(3*theta)", "1 + 0.5*cos(2*theta + 1)"
    straight, general = ({"kind": "softmax", "A": matrix, "V": 1} for matrix in (np.diag([3.0, 1.0]), A))
    assert not coefficients(straight, even).imag.any()
    assert np.abs(coefficients(general, even).imag).max() > 1e-3
    found = coefficients(general, half)
    assert not found[1::2].any()
    assert np.abs(found[::2]).min() > 0


def test_characteristics_agree_without_noise():
    attention = HEADS["softmax"][0]
    run = mfpde.solve(problem(attention, 1e-9, kappa=".inf"))
    nodes = mfpde.solve(problem(attention, kappa=".inf", solver={"kind": "characteristics"}))
    theta = np.linspace(0, 6, 50)
    assert relative(run.measure(-1).evaluate(theta), nodes.measure(-1).evaluate(theta)) < 1e-8


def test_clusters_that_are_too_narrow_are_said():
    run = mfpde.solve(
        problem(
            {"kind": "softmax", "A": A, "V": V}, kappa=".inf", until=30, solver={"kind": "spectral", "max_modes": 64}
        )
    )
    assert run.outcome.kind == "resolution lost"


def test_a_solution_comes_to_rest():
    """In a long run hardly any steps are taken after the density has come to rest."""
    run = mfpde.solve(problem({"kind": "softmax", "A": np.diag([1.0, 0.5]), "V": 1}, 1e-6, until=1e6, kappa=1.0))
    assert run.outcome.kind == "finished"
    assert run.provenance["statistics"]["steps"] < 2000
