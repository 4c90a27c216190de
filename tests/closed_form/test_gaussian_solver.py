"""The Gaussian solver against closed forms (physics section 4) and an independent program in long double."""

import numpy as np
import pytest
from reference import gaussians
from scipy.linalg import expm

import mfpde
from mfpde.contracts.solver import State
from mfpde.errors import ProblemError

GEOMETRIES = {1: {"kind": "line"}, 2: {"kind": "plane"}}
MEAN, COVARIANCE = np.array([0.5, -0.2]), np.array([[1.0, 0.3], [0.3, 0.5]])
A, B = np.array([[1.0, 0.5], [-0.3, 0.8]]), np.array([[0.2, -0.4], [0.1, -0.6]])


def problem(attention, covariance=COVARIANCE, mean=None, until=2.0, **blocks):
    covariance = np.atleast_2d(covariance)
    d = covariance.shape[0]
    data = {
        "geometry": GEOMETRIES.get(d, {"kind": "space", "dimension": d}),
        "initial": {"kind": "gaussian", "mean": np.zeros(d) if mean is None else mean, "covariance": covariance},
        "solver": {"kind": "gaussian"},
        "time": {"until": until, "save_every": until / 4},
        **blocks,
    }
    if attention is not None:
        data["attention"] = attention
    return mfpde.Problem.from_dict(data)


def end(*arguments, **blocks):
    run = mfpde.solve(problem(*arguments, **blocks))
    assert run.outcome.complete, run.outcome
    measure = run.measure(-1)
    return measure.mean, measure.covariance


def close(found, wanted, tolerance=1e-13):
    assert np.abs(found - wanted).max() < tolerance * np.abs(wanted).max()


# -- closed forms
# ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [-1.0, 0.1])
def test_softmax_with_values_a_multiple_of_the_identity(factor):
    _, covariance = end({"kind": "softmax", "A": A, "V": factor})
    close(covariance, np.linalg.inv(np.linalg.inv(COVARIANCE) - 2 * factor * (A + A.T)))


@pytest.mark.parametrize("kappa", [0.5, 20.0])
def test_softmax_with_noise(kappa):
    until, H = 1.5, -(A + A.T)
    _, covariance = end({"kind": "softmax", "A": A, "V": -1}, until=until, noise={"kappa": kappa})
    zero, unit = np.zeros((2, 2)), np.eye(2)
    X = expm(until * np.block([[zero, 2 / kappa * unit], [-H, zero]])) @ np.vstack([COVARIANCE, unit])
    close(covariance, X[:2] @ np.linalg.inv(X[2:]), 1e-12)


@pytest.mark.parametrize("D", [np.array([[0.5, 0.2], [0.2, 0.3]]), np.outer([0.6, 0.8], [0.6, 0.8])])
def test_softmax_with_anisotropic_noise(D):
    """`2 D` in place of `(2/kappa) I`; a D of rank one as well."""
    until, H = 1.5, -(A + A.T)
    _, covariance = end({"kind": "softmax", "A": A, "V": -1}, until=until, noise={"matrix": D})
    X = expm(until * np.block([[np.zeros((2, 2)), 2 * D], [-H, np.zeros((2, 2))]])) @ np.vstack([COVARIANCE, np.eye(2)])
    close(covariance, X[:2] @ np.linalg.inv(X[2:]), 1e-12)


def test_anisotropic_noise_from_a_point_stays_on_its_line():
    line = np.outer([0.6, 0.8], [0.6, 0.8])
    _, covariance = end(None, covariance=np.zeros((2, 2)), until=3.0, noise={"matrix": line})
    close(covariance, 6 * line, 1e-14)


@pytest.mark.parametrize("interpolation", ["constant", "linear"])
def test_values_that_depend_on_time(interpolation):
    """`S^-1 = S_0^-1 - (int V) (A + A^T)` for multiples V(t) of the identity."""
    values, times = [-1.0, -3.0, 0.2], [0.0, 0.7, 1.1]
    schedule = {"times": times, "values": values, "interpolation": interpolation}
    integral = {"constant": 0.7 * -1 + 0.4 * -3 + 0.9 * 0.2, "linear": 0.7 * -2 + 0.4 * -1.4 + 0.9 * 0.2}[interpolation]
    _, covariance = end({"kind": "softmax", "A": A, "V": schedule})
    close(covariance, np.linalg.inv(np.linalg.inv(COVARIANCE) - integral * (A + A.T)))


def test_noise_that_depends_on_time():
    """Without attention `S = S_0 + 2 int D`, and noise may begin late."""
    kappa = {"times": [0.0, 0.5, 1.5], "values": [np.inf, 4.0, 1.0]}
    _, covariance = end(None, until=2.0, noise={"kappa": kappa})
    close(covariance, COVARIANCE + 2 * (1.0 / 4 + 0.5) * np.eye(2), 1e-14)


def test_forty_dimensions():
    rng = np.random.default_rng(1)
    A, root = rng.normal(size=(40, 40)) / 6, rng.normal(size=(40, 40)) / 6
    start, H = root @ root.T + 0.1 * np.eye(40), -(A + A.T)
    least = np.linalg.eigvalsh(np.linalg.cholesky(start).T @ H @ np.linalg.cholesky(start)).max()
    until = round(0.5 / least, 2)
    _, covariance = end({"kind": "softmax", "A": A, "V": -1}, start, until=until)
    close(covariance, np.linalg.inv(np.linalg.inv(start) - until * H))


def test_sinkhorn_moves_the_mean_linearly():
    V = np.array([[-0.5, 1.0], [-1.0, 0.1]])
    mean, _ = end({"kind": "sinkhorn", "A": A, "V": V}, mean=MEAN)
    close(mean, expm(2 * V) @ MEAN)


def test_relu_is_half_of_softmax_about_the_origin():
    _, covariance = end({"kind": "relu", "A": A, "V": -1})
    close(covariance, np.linalg.inv(np.linalg.inv(COVARIANCE) + A + A.T))


LAWS = {
    "softmax": ({"kind": "softmax", "A": A, "V": B}, gaussians.softmax(A, B)),
    "l2": (
        {"kind": "l2", "Q": [[0.3, 0.7]], "K": [[0.4, 1.0]], "V": B},
        gaussians.l2([[0.3, 0.7]], [[0.4, 1.0]], B),
    ),
    "l2-injective": ({"kind": "l2", "Q": A, "K": B, "V": A - 1}, gaussians.l2(A, B, A - 1)),
    "sinkhorn": ({"kind": "sinkhorn", "A": A, "V": B}, gaussians.sinkhorn(A, B)),
    "linear": ({"kind": "linear", "A": A, "V": B}, gaussians.linear(A, B)),
    "heads": (
        {
            "kind": "multi-head",
            "heads": [{"kind": "softmax", "A": A, "V": B}, {"kind": "l2", "Q": A, "K": B, "V": -1, "weight": 0.5}],
        },
        gaussians.several(gaussians.softmax(A, B), gaussians.l2(A, B, -0.5 * np.eye(2))),
    ),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("kappa", [np.inf, 3.0])
def test_matrices_that_do_not_commute(name, kappa):
    attention, affine = LAWS[name]
    wanted = gaussians.moved(affine, MEAN, COVARIANCE, 1.5, kappa)
    for found, value in zip(end(attention, mean=MEAN, until=1.5, noise={"kappa": kappa}), wanted, strict=True):
        close(found, value, 2e-13)
    transposed = {key: np.transpose(value) if key in ("A", "V") else value for key, value in attention.items()}
    if name in ("softmax", "sinkhorn", "linear"):
        assert np.abs(end(transposed, mean=MEAN, until=1.5, noise={"kappa": kappa})[1] - wanted[1]).max() > 1e-3


# -- blow-up
# ------------------------------------------------------------------------------------------------------------------


def pole(*arguments, **blocks):
    outcome = mfpde.solve(problem(*arguments, until=50.0, **blocks)).outcome
    assert outcome.kind == "blow-up", outcome
    assert 0 < outcome.uncertainty < 1e-10
    return outcome.time, outcome.uncertainty


def test_softmax_blows_up_when_it_should():
    root = np.linalg.cholesky(COVARIANCE)
    wanted = 1 / np.linalg.eigvalsh(root.T @ (A + A.T) @ root).max()
    assert abs(pole({"kind": "softmax", "A": A, "V": 1})[0] - wanted) < 1e-12


def test_l2_with_a_small_head_blows_up_after_three_logarithms_of_two():
    attention = {"kind": "l2", "Q": [[0.5, 1]], "K": [[1, 0]], "V": [[0, 0], [0, 1]]}
    time, uncertainty = pole(attention, [[1, 0.5], [0.5, 1]])
    assert abs(time - 3 * np.log(2)) < 1e-12
    assert abs(time - 3 * np.log(2)) < uncertainty


def test_noise_makes_it_blow_up_from_a_point():
    """`S' = 2 a S^2 + 2 D` from S = 0 is `sqrt(D / a) tan(2 sqrt(a D) t)`."""
    a, kappa = 1.3, 50.0
    time, _ = pole({"kind": "softmax", "A": a, "V": 1}, 0.0, noise={"kappa": kappa})
    assert time == pytest.approx(np.pi / 4 / np.sqrt(a / kappa), rel=1e-13)


def test_linear_attention_blows_up_through_its_mean():
    """`M_2' = 2 V A M_2^2` in one dimension."""
    time, _ = pole({"kind": "linear", "A": 0.5, "V": 1}, 0.01, mean=[0.2])
    assert time == pytest.approx(1 / (0.05), rel=1e-13)


def test_the_row_before_the_pole_is_kept():
    run = mfpde.solve(problem({"kind": "softmax", "A": 1.0, "V": 1.0}, 0.5, until=4.0))
    assert run.outcome.time == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(run.times, [0.0, 1.0], rtol=1e-12)
    assert run.measure(-1).covariance[0, 0] > 1e10


# -- singular and stiff
# ------------------------------------------------------------------------------------------------------------------


def test_rank_one_stays_rank_one():
    """`S = L S_0 L^T`: what was flat stays flat, to roundoff."""
    start = np.outer([1.0, 0.7, -0.2], [1.0, 0.7, -0.2])
    rng = np.random.default_rng(2)
    attention = {"kind": "softmax", "A": rng.normal(size=(3, 3)), "V": 0.5 * rng.normal(size=(3, 3)) - np.eye(3)}
    _, covariance = end(attention, start, mean=[1.0, 0.0, 0.0], until=1.0)
    variances = np.linalg.eigvalsh(covariance)
    assert variances[-1] > 1e-2
    assert np.abs(variances[:2]).max() < 4e-16 * variances[-1]


def test_tiny_variances_keep_their_digits():
    start = np.array([1.0, 1e-12, 1e-24])
    rates = np.array([-1.0, 0.4, -3.0])
    _, covariance = end({"kind": "softmax", "A": 1.0, "V": np.diag(rates)}, np.diag(start))
    np.testing.assert_allclose(np.diag(covariance), start / (1 - 4 * rates * start), rtol=1e-13)


def test_a_collapse_keeps_its_digits():
    """Sinkhorn with a small A contracts like `e^{-2 t |A| ...}`: the ratio of widths falls below roundoff."""
    attention = {"kind": "l2", "Q": [[1, 0], [0, 3]], "K": 1.0, "V": -1}
    _, covariance = end(attention, [[1.0, 0.0], [0.0, 1.0]], until=30.0)
    # s' = -4 q s^2 / (1 + 2 s) for each direction: log s - 1 / (2 s) = const - 2 q t ... solved for t
    for value, q in zip(np.diag(covariance), (1.0, 3.0), strict=True):
        time = ((1 / value - 1) - 2 * np.log(value)) / (4 * q)
        assert time == pytest.approx(30.0, rel=1e-12)


@pytest.mark.parametrize("until", [0.3, 1e6])
def test_a_stiff_problem(until):
    """Each direction alone: `S' = -2 a S^2 + 2 D`, for rates that differ by 1e5."""
    rates, kappa = np.array([1e-2, 1e3]), 2.0
    _, covariance = end(
        {"kind": "softmax", "A": 1.0, "V": -np.diag(rates)}, 0.3 * np.eye(2), until=until, noise={"kappa": kappa}
    )
    rest = np.sqrt(1 / kappa / rates)
    start = np.where(rest > 0.3, np.arctanh(np.minimum(0.3 / rest, 0.999)), np.arctanh(np.minimum(rest / 0.3, 0.999)))
    grown = np.tanh(2 * np.sqrt(rates / kappa) * until + start)
    np.testing.assert_allclose(np.diag(covariance), rest * np.where(rest > 0.3, grown, 1 / grown), rtol=1e-12)


def test_a_stiff_problem_takes_few_steps():
    attention = {"kind": "softmax", "A": 1.0, "V": -np.diag([1.0, 1e5])}
    run = mfpde.solve(problem(attention, until=1e4, noise={"kappa": 2.0}))
    assert run.provenance["statistics"]["steps"] < 2000
    assert run.provenance["statistics"]["implicit"] == 1


# -- bit for bit, and what is refused
# ------------------------------------------------------------------------------------------------------------------


def integration(**blocks):
    task = problem({"kind": "softmax", "A": A, "V": {"times": [0, 0.5], "values": [-1, 0.3]}}, mean=MEAN, **blocks)
    return task.solver.start(task.posed())


def carry(solution, target, budget=1_000_000_000):
    progress = solution.advance(target, budget)
    while progress.state is State.UNDER_WAY:
        progress = solution.advance(target, budget)
    return progress


@pytest.mark.parametrize("noise", [{"kappa": np.inf}, {"kappa": 2.0}])
def test_steps_depend_neither_on_the_budget_nor_on_looks_nor_on_a_restart(noise):
    whole, cut = integration(noise=noise), integration(noise=noise)
    carry(whole, 1.7)
    for target in (0.123, 0.124, 0.5, 0.9):
        carry(cut, target, budget=1)
    again = integration(noise=noise)
    again.restore(cut.state())
    np.testing.assert_array_equal(again.fields()["gaussian_covariance"], cut.fields()["gaussian_covariance"])
    carry(again, 1.7, budget=1)
    for name, values in whole.state().items():
        if name != "march_counts":  # looks cost evaluations
            np.testing.assert_array_equal(again.state()[name], values)


def test_implicit_steps_go_on_bit_for_bit():
    attention = {"kind": "softmax", "A": 1, "V": -np.diag([1.0, 1e4])}
    task = problem(attention, until=5.0, noise={"kappa": {"times": [0, 3], "values": [2, 4]}})
    whole, cut, again = (task.solver.start(task.posed()) for _ in range(3))
    carry(whole, 4.0)
    for target in (0.1, 2.9, 3.0, 3.3):
        carry(cut, target, budget=1)
    assert cut.statistics()["implicit"] == 1
    again.restore(cut.state())
    carry(again, 4.0, budget=1)
    np.testing.assert_array_equal(again.fields()["gaussian_covariance"], whole.fields()["gaussian_covariance"])


def test_the_residual_bounds_the_speed_of_the_density():
    solution, x = integration(noise={"kappa": 2.0}), np.linspace(-6, 6, 241)
    grid = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    carry(solution, 0.3)
    residual, before = solution.residual(), solution.measure().evaluate(grid)
    carry(solution, 0.3001)
    moved = np.abs(solution.measure().evaluate(grid) - before).sum() * (x[1] - x[0]) ** 2 / 1e-4
    assert moved < residual < 1.8 * moved


def test_a_gaussian_run_can_be_continued_from_its_snapshot(tmp_path):
    attention = {"kind": "softmax", "A": A, "V": -1}
    mfpde.solve(problem(attention, until=1.0), tmp_path / "first.h5")
    snapshot = {"kind": "snapshot", "file": str(tmp_path / "first.h5")}
    data = {**problem(attention, until=1.0).canonical(), "initial": snapshot}
    later = mfpde.solve(mfpde.Problem.from_dict(data)).measure(-1).covariance
    close(later, end(attention, until=2.0)[1])


def gaussian(mean, covariance):
    return {"kind": "gaussian", "mean": mean, "covariance": covariance}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attention": {"kind": "sigmoid", "A": 1, "V": 1}}, "solver: gaussian cannot .* a Gaussian does not stay one"),
        ({"geometry": {"kind": "circle"}, "initial": {"kind": "uniform"}}, "Gaussians live on the line"),
        ({"initial": {"kind": "uniform", "box": [[-1, 1], [-1, 1]]}}, "to be a gaussian, not uniform"),
        ({"initial": {"kind": "gaussian", "mean": [0, 0], "covariance": [[1, 2], [2, 1]]}}, "positive semi-definite"),
        (
            {"attention": {"kind": "relu", "A": 1, "V": 1}},
            "cannot solve this: .* must be 0: relu .*; solvers that can: finite-volume, characteristics",
        ),
        ({"initial": gaussian(MEAN, 1e300)}, "initial.covariance: must be 0 or between 1e-120 and 1e120, not 1e\\+300"),
        ({"initial": gaussian(MEAN, 1e-300)}, "initial.covariance: must be 0 or between"),
        ({"initial": gaussian([1e160, 0], 1)}, "initial.mean: must stay below 1e100"),
        ({"attention": {"kind": "softmax", "A": 1e300, "V": 1}}, "attention: moves .* faster than at a rate of 1e100"),
        ({"attention": {"kind": "linear", "A": 1, "V": 1}, "initial": gaussian([1e160, 0], 1)}, "initial.mean"),
    ],
    ids=["kernel", "circle", "initial", "indefinite", "relu", "large", "small", "far", "fast", "far-linear"],
)  # fmt: skip
def test_what_is_refused_before_the_first_step(changes, message):
    data = {**problem({"kind": "softmax", "A": 1, "V": -1}, mean=MEAN).canonical(), **changes}
    with pytest.raises(ProblemError, match=message):
        mfpde.solve(mfpde.Problem.from_dict(data))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("variance", [1e-110, 1e110])
def test_extreme_units_are_no_problem(variance):
    """`1/S = 1/S_0 + 2 t A`, in units in which S_0 is 1."""
    run = mfpde.solve(problem({"kind": "softmax", "A": 1 / variance, "V": -1}, np.diag([variance, 0.5 * variance])))
    assert run.outcome.complete
    np.testing.assert_allclose(np.diag(run.measure(-1).covariance), [variance / 5, variance / 6], rtol=1e-12)


@pytest.mark.filterwarnings("error")
def test_growth_beyond_numbers_is_said():
    run = mfpde.solve(problem({"kind": "sinkhorn", "A": 1.0, "V": 5.0}, 1.0, mean=[0.1], until=1000.0))
    assert run.outcome.kind == "not finite"
    assert "diverges" in run.outcome.message
    assert np.isfinite(run.measure(-1).covariance).all()
