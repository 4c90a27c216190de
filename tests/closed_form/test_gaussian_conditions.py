"""The Gaussian solver where covariances become ill-conditioned: determinants in closed form, every eigenvalue against
the independent program in decimals (tests/reference/moments.py), and how many steps that takes."""

import dataclasses
from decimal import Decimal, localcontext

import numpy as np
import pytest
from reference.moments import solved

import mfpde

HYPERBOLIC = ({"kind": "softmax", "A": [[1, 0], [0, -1]], "V": [[0, 1], [1, 0]]}, [[1.0, 0.3], [0.3, 0.5]])
DIGITS = 60  # of the reference; a condition of 1e25 leaves 45 of the smallest eigenvalue


def problem(attention, covariance, until, mean=None, save_every=None, **blocks):
    d = len(covariance)
    return {
        "geometry": {"kind": "space", "dimension": d},
        "attention": attention,
        "initial": {"kind": "gaussian", "mean": [0.0] * d if mean is None else mean, "covariance": covariance},
        "solver": {"kind": "gaussian"},
        "time": {"until": until, "save_every": save_every or until},
        **blocks,
    }


def run_of(*arguments, **blocks):
    return mfpde.solve(mfpde.Problem.from_dict(problem(*arguments, **blocks)))


def variances_of(covariance):
    """Eigenvalues of a matrix of decimals, the largest first: Jacobi's rotations."""
    matrix, size = covariance.copy(), len(covariance)
    for _ in range(30):
        for i in range(size - 1):
            for j in range(i + 1, size):
                if abs(matrix[i, j]) <= Decimal(10) ** -70 * (matrix[i, i] * matrix[j, j]).copy_abs().sqrt():
                    continue
                ratio = (matrix[j, j] - matrix[i, i]) / (2 * matrix[i, j])
                tangent = (1 if ratio >= 0 else -1) / (abs(ratio) + (1 + ratio * ratio).sqrt())
                cosine = 1 / (1 + tangent * tangent).sqrt()
                turn = np.array([[Decimal(int(a == b)) for b in range(size)] for a in range(size)])
                turn[i, i] = turn[j, j] = cosine
                turn[i, j], turn[j, i] = tangent * cosine, -tangent * cosine
                matrix = turn.T @ matrix @ turn
    return np.array(sorted((float(value) for value in np.diag(matrix)), reverse=True))


def wanted(task, times, digits=DIGITS):
    plain = {name: task[name] for name in ("attention", "initial", "noise") if name in task}
    found = solved(plain, times, digits=digits, order=44)
    with localcontext() as context:
        context.prec = digits + 14
        return [variances_of(each) for each in found.covariances]


def test_files_of_before_have_no_factor():
    """Their covariance is all there is."""
    run = run_of(*HYPERBOLIC, until=1.0)
    fields = {name: run.stored[name] for name in ("gaussian_mean", "gaussian_covariance")}
    before = dataclasses.replace(run, stored=fields)
    np.testing.assert_allclose(before.measure(1).covariance, run.measure(1).covariance, rtol=1e-15)
    np.testing.assert_allclose(before.measure(1).variances, run.measure(1).variances, rtol=1e-14)


def antisymmetric(d):
    """V with `A V` antisymmetric, for A = diag(1, -1, 2, ...): the determinant of S stays."""
    A = np.diag([1.0, -1.0, 2.0, -0.5][:d])
    turn = np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1, d):
            turn[i, j], turn[j, i] = 0.5**j, -(0.5**j)
    return {"kind": "softmax", "A": A.tolist(), "V": (np.diag(1 / np.diag(A)) @ turn).tolist()}


def test_the_determinant_stays_at_any_condition():
    """V A is antisymmetric, so that det S = 0.41 for ever; eigenvalues go like e^t and e^-t."""
    run = run_of(*HYPERBOLIC, until=50.0, save_every=5.0, observe=["entropy", "covariance"])
    assert run.outcome.kind == "finished", run.outcome
    assert run.provenance["statistics"]["steps"] < 600
    for index in range(len(run.times)):
        variances = run.measure(index).variances
        assert abs(np.prod(variances) / 0.41 - 1) < 1e-12
    assert variances[0] / variances[1] > 1e43
    np.testing.assert_allclose(run["covariance-eigenvalues"][-1], variances, rtol=1e-14)
    np.testing.assert_allclose(run["entropy"], np.log(2 * np.pi * np.e) + 0.5 * np.log(0.41), rtol=1e-12)


def test_a_file_keeps_the_thin_axis(tmp_path):
    run = run_of(*HYPERBOLIC, until=30.0, save_every=10.0)
    mfpde.solve(mfpde.Problem.from_dict(problem(*HYPERBOLIC, until=30.0, save_every=10.0)), tmp_path / "thin.h5")
    for index in range(4):
        np.testing.assert_array_equal(mfpde.load(tmp_path / "thin.h5").measure(index).factor, run.measure(index).factor)
    later = {**problem(*HYPERBOLIC, until=1.0), "initial": {"kind": "snapshot", "file": str(tmp_path / "thin.h5")}}
    variances = mfpde.solve(mfpde.Problem.from_dict(later)).measure(0).variances
    assert variances[1] < 1e-12
    assert abs(np.prod(variances) / 0.41 - 1) < 1e-12


SOFTMAX_3 = {
    "kind": "softmax",
    "A": [[-1.0, 0.5, 0.0], [0.0, -0.2, 0.3], [0.2, 0.0, -0.01]],
    "V": [[1.0, 0.0, 0.2], [0.0, 1.0, 0.0], [0.0, 0.1, 1.0]],
}
ROUND_3 = [[1.0, 0.2, 0.1], [0.2, 0.8, -0.1], [0.1, -0.1, 0.6]]
CASES = {
    "hyperbolic": (problem(*HYPERBOLIC, until=20.0), 300),
    "hyperbolic-mean": (problem(*HYPERBOLIC, until=12.0, mean=[0.3, -0.1]), 200),
    "hyperbolic-noise": (problem(*HYPERBOLIC, until=4.0, noise={"kappa": 50.0}), 200),
    "antisymmetric-3": (problem(antisymmetric(3), ROUND_3, until=8.0), 400),
    "antisymmetric-4": (problem(antisymmetric(4), (np.eye(4) + 0.2).tolist(), until=4.0), 400),
    "softmax-3": (problem(SOFTMAX_3, ROUND_3, until=4.0), 200),
    "l2-expanding": (
        problem({"kind": "l2", "Q": [[1, 0.3], [0, 1]], "K": 1, "V": [[1.5, 0.4], [0, 0.2]]}, HYPERBOLIC[1], 10.0),
        200,
    ),
    "l2-rates": (
        problem({"kind": "l2", "Q": 1, "K": 1, "V": [[-1.0, 0.2], [0.0, -30.0]]}, [[1e8, 1e7], [1e7, 1e8]], until=0.6),
        200,
    ),
    "sinkhorn-expanding": (
        problem({"kind": "sinkhorn", "A": [[1, 0.3], [0.1, 2]], "V": [[1.5, 0.4], [0, 0.2]]}, HYPERBOLIC[1], until=8.0),
        200,
    ),
    "sinkhorn-rates": (
        problem({"kind": "sinkhorn", "A": 1.0, "V": [[-1.0, 0.2], [0.0, -30.0]]}, [[1e8, 1e7], [1e7, 1e8]], until=0.6),
        200,
    ),
    "ill-conditioned-data": (problem(SOFTMAX_3, np.diag([1.0, 1e-9, 1e-20]).tolist(), until=5.0), 200),
}  # fmt: skip
#: whose conditions take more digits of the reference than 30, which leave 20 at 1e9
THIN = {"hyperbolic", "hyperbolic-mean", "hyperbolic-noise", "ill-conditioned-data"}


@pytest.mark.parametrize("name", CASES)
def test_every_eigenvalue_is_right(name):
    task, steps = CASES[name]
    run = mfpde.solve(mfpde.Problem.from_dict(task))
    assert run.outcome.kind == "finished", run.outcome
    digits = DIGITS if name in THIN else 30
    found, right = run.measure(-1).variances, wanted(task, [task["time"]["until"]], digits)[-1]
    np.testing.assert_allclose(found, right, rtol=1e-11)
    assert abs(np.prod(found / right) - 1) < 1e-11
    assert run.provenance["statistics"]["steps"] < steps


def test_heads_without_forms_are_solved_too(monkeypatch):
    """Registered by others, with `gaussian_mean` alone."""
    task = problem(SOFTMAX_3, ROUND_3, until=1.0, mean=[0.2, -0.1, 0.3])
    right = mfpde.solve(mfpde.Problem.from_dict(task)).measure(-1)
    monkeypatch.setattr(mfpde.Softmax, "gaussian_forms", lambda *_: None)
    found = mfpde.solve(mfpde.Problem.from_dict(task)).measure(-1)
    np.testing.assert_allclose(found.covariance, right.covariance, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(found.mean, right.mean, rtol=1e-11)


def test_steps_go_on_bit_for_bit_at_high_condition():
    task = mfpde.Problem.from_dict(problem(*HYPERBOLIC, until=30.0, mean=[0.3, -0.1]))
    whole, cut, again = (task.solver.start(task.posed()) for _ in range(3))
    whole.advance(25.0, 10**12)
    for target in (3.0, 19.9, 20.0):
        cut.advance(target, 10**12)
    again.restore(cut.state())
    np.testing.assert_array_equal(again.fields()["gaussian_factor"], cut.fields()["gaussian_factor"])
    again.advance(25.0, 10**12)
    np.testing.assert_array_equal(again.fields()["gaussian_factor"], whole.fields()["gaussian_factor"])
