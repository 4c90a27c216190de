"""The equiangular reduction against tokens moved one by one, and against its late-time laws (physics section 7)."""

import numpy as np
import pytest
from reference.normalized_tokens import SCHEMES, tokens

import mfpde

BETA, COUNT, TOLERANCE = 1.3, 5, 1e-11


def problem(
    scheme, until, *, kind="softmax", cosine=0.1, count=COUNT, beta=BETA, at=(), sphere=False, dimension=8, **keys
):
    geometry = {"kind": "sphere" if sphere else "space", "dimension": dimension}
    extra = {} if scheme is None else {"normalization": {"kind": scheme, **keys}}
    return mfpde.Problem.from_dict(
        {
            "geometry": geometry,
            "attention": {"kind": kind, "beta": beta},
            "initial": {"kind": "points", "random": "equiangular", "count": count, "cosine": cosine, "seed": 1},
            "solver": {"kind": "equiangular", "tolerance": TOLERANCE},
            "time": {"until": until, "save_at": list(at)},
            **extra,
        }
    )


def keys_of(scheme):
    return {"switch": 0.7} if scheme == "mix" else {"rate": 1.7} if scheme == "ngpt" else {}


@pytest.mark.parametrize("kind", ["softmax", "unnormalized"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_tokens_in_eight_dimensions(scheme, kind):
    run = mfpde.solve(problem(scheme, 2.0, kind=kind, at=[1.1], **keys_of(scheme)))
    for row, time in enumerate([1.1, 2.0], start=1):
        expected = tokens(scheme, run.positions[0], time, BETA, kind == "softmax", **keys_of(scheme))
        np.testing.assert_allclose(run.positions[row], expected, atol=1e-10)  # promised: 1e-8


@pytest.mark.parametrize("kind", ["softmax", "unnormalized"])
@pytest.mark.parametrize("cosine", [-0.24, 0.9])
def test_tokens_on_the_sphere_need_no_block(kind, cosine):
    run = mfpde.solve(problem(None, 3.0, kind=kind, sphere=True, cosine=cosine))
    expected = tokens("post", run.positions[0], 3.0, BETA, kind == "softmax")
    np.testing.assert_allclose(run.positions[-1], expected, atol=1e-10)


def test_norms_move_on_spheres_too_and_the_measure_is_that_of_directions():
    run, flat = mfpde.solve(problem("pre", 2.0, sphere=True)), mfpde.solve(problem("pre", 2.0))
    np.testing.assert_allclose(run.positions, flat.positions, atol=1e-14)
    vectors = run.measure(-1).points
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-14)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_particle_solver_moves_them_alike(scheme):
    """And every token of its own: here with a radius, on a sphere."""
    given = problem(scheme, 1.5, sphere=True, radius=1.2, **keys_of(scheme))
    other = given.model_copy(update={"solver": {"kind": "particles", "tolerance": 1e-11}})
    np.testing.assert_allclose(mfpde.solve(other).positions, mfpde.solve(given).positions, atol=1e-8)


def gaps(run):
    """1 - rho from distances, which keep their digits."""
    theta = run.positions / np.linalg.norm(run.positions, axis=2, keepdims=True)
    return 0.5 * np.sum((theta[:, 0] - theta[:, 1]) ** 2, axis=1)


@pytest.mark.parametrize(
    ("scheme", "kind", "rate"),
    [
        (None, "unnormalized", 2 * np.exp(BETA)),
        ("post", "softmax", 2.0),
        ("ngpt", "softmax", 2 * 1.7),
    ],
)
def test_late_times_are_exponential(scheme, kind, rate):
    times = np.array([8.0, 9.0]) / (rate / 2)
    run = mfpde.solve(problem(scheme, times[1], kind=kind, at=[times[0]], sphere=scheme is None, **keys_of(scheme)))
    first, last = gaps(run)[1:]
    assert np.log(first / last) / (times[1] - times[0]) == pytest.approx(rate, rel=2e-5)


@pytest.mark.parametrize(
    ("scheme", "power"),
    [("pre", 2.0), ("peri", 2.0), ("mix", 2.0), ("sqrt", None)],
)
def test_late_times_are_algebraic(scheme, power):
    """`1 - rho ~ C / t^2`; with the root `r' = 1 / sqrt(t+1)`, `(log gap)' = -2 / (r sqrt(t+1))`: the norm is
    `2 sqrt(t+1)`, and the exponent 1."""
    at = [1e5, 2e5]
    run = mfpde.solve(problem(scheme, at[1], at=[at[0]], **keys_of(scheme)))
    first, last = gaps(run)[1:]
    assert np.log2(first / last) == pytest.approx(power or 1.0, abs=1e-2)
    norms = np.linalg.norm(run.positions[1:, 0], axis=1)
    assert norms[1] / norms[0] == pytest.approx(2 if power else np.sqrt(2), rel=1e-2)


def test_a_token_alone_and_the_least_cosine_stay():
    alone = mfpde.solve(problem("pre", 2.0, count=1, cosine=1))
    np.testing.assert_allclose(alone.positions[-1], 3 * alone.positions[0], atol=1e-12)  # r' = 1
    least = mfpde.solve(problem(None, 50.0, count=5, cosine=-0.25, sphere=True, dimension=4))
    np.testing.assert_allclose(least.positions[-1], least.positions[0], atol=1e-14)


def test_heads_radius_and_values():
    """A of two heads, scaled by the radius: the same as pairs of one head with the sum of kernels."""
    base = problem("pre", 1.5, radius=1.4).model_copy(
        update={
            "attention": {
                "kind": "multi-head",
                "heads": [
                    {"kind": "softmax", "A": 0.7, "V": 0.5},
                    {"kind": "unnormalized", "A": -0.3, "V": 2.0},
                ],
            }
        }
    )
    run = mfpde.solve(base)
    x = run.positions[0]
    steps = 4000
    for _ in range(steps):  # the midpoint rule
        half = x + 0.75 / steps * _two_heads(x)
        x = x + 1.5 / steps * _two_heads(half)
    np.testing.assert_allclose(run.positions[-1], x, atol=2e-7)


def _two_heads(x):
    y = 1.4 * x / np.linalg.norm(x, axis=1, keepdims=True)
    first, second = np.exp(0.7 * y @ y.T), np.exp(-0.3 * y @ y.T) / len(y)
    return 0.5 * first / first.sum(axis=1, keepdims=True) @ y + 2.0 * second @ y


def test_resumed_runs_have_the_same_bits(tmp_path):
    whole = mfpde.solve(problem("peri", 4.0, at=[1.0, 2.0, 3.0]), output=tmp_path / "whole.h5")
    state = problem("peri", 4.0).solver.start(problem("peri", 4.0).posed())
    state.advance(1.0, 10**9)
    solver, posed = problem("peri", 4.0).solver, problem("peri", 4.0).posed()
    later = solver.resume(posed, state.state())
    np.testing.assert_array_equal(later.points(), state.points())
    later.advance(4.0, 10**9)
    np.testing.assert_array_equal(later.points(), whole.positions[-1])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"normalization": None}, "tokens in R^d keep equal angles under a normalization only"),
        ({"noise": {"kappa": 3}}, "noise does not keep angles equal"),
        (
            {"attention": {"kind": "softmax", "A": [[1, 0], [0, 2]]}, "geometry": {"kind": "plane"}},
            "multiples of the identity",
        ),
        ({"normalization": {"kind": "pre", "gain": [1] * 8}}, "a gain of LayerNorm does not keep angles equal"),
        (
            {"initial": {"kind": "gaussian", "mean": [0] * 8, "covariance": 1}},
            "it starts from tokens with equal angles",
        ),
        ({"drift": {"kind": "mlp"}}, "a pointwise drift does not keep angles equal"),
    ],
)
def test_what_does_not_keep_angles_equal_is_refused(changes, said):
    with pytest.raises(mfpde.ProblemError) as refused:
        mfpde.solve(problem("pre", 1.0).model_copy(update=changes))
    assert said in str(refused.value)


def test_tokens_with_other_angles_or_weights_are_refused():
    other = {"kind": "points", "random": "uniform-sphere", "count": 3}
    with pytest.raises(mfpde.ProblemError, match="needs tokens with equal cosines"):
        mfpde.solve(problem("pre", 1.0).model_copy(update={"initial": other}))
    heavy = {"kind": "points", "random": "equiangular", "count": 2, "cosine": 0, "weights": [1, 2]}
    with pytest.raises(mfpde.ProblemError, match=r"weights: must be equal"):
        mfpde.solve(problem("pre", 1.0).model_copy(update={"initial": heavy}))


def test_other_solvers_say_that_they_have_no_normalization():
    given = problem("pre", 1.0).model_copy(update={"solver": {"kind": "characteristics"}})
    with pytest.raises(mfpde.ProblemError) as refused:
        mfpde.solve(given)
    assert "characteristics cannot solve this: it has no normalization: pre" in str(refused.value)
    assert "solvers that can:" in str(refused.value)
    assert "equiangular" in str(refused.value)
