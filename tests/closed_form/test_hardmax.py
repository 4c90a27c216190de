"""The hardmax pairing limit against attention at a large beta, and its closed forms (physics sections 7 and 12)."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import mfpde


def problem(values, until, *, kind="softmax", beta=None, weights=None, at=(), geometry=None, clock=None, **solver):
    return mfpde.Problem.from_dict(
        {
            "geometry": geometry or {"kind": "circle"},
            "attention": {"kind": kind, "beta": beta or (2000 if kind == "softmax" else 100)},
            "initial": {"kind": "points", "values": values, "weights": weights},
            "solver": {"kind": "hardmax", **solver},
            "time": {"clock": clock, "until": until, "save_at": list(at)},
        }
    )


def in_new_clock(vectors, weights, until, beta, softmax):
    """Tokens under attention at a finite beta, in the clock of the *present* closest pair, by SciPy."""
    shape = vectors.shape

    def slope(_, state):
        x = state.reshape(shape) / np.linalg.norm(state.reshape(shape), axis=1, keepdims=True)
        cosines = x @ x.T
        others = cosines - 3 * np.eye(len(x))
        pairs = weights * np.exp(beta * (cosines - others.max()))  # dt/ds times the kernel
        np.fill_diagonal(pairs, 0.0)  # projected away
        out = pairs @ x
        if softmax:
            out /= (weights * np.exp(beta * (cosines - 1))).sum(axis=1, keepdims=True)
        return (out - np.sum(out * x, axis=1, keepdims=True) * x).ravel()

    found = solve_ivp(slope, (0, until), vectors.ravel(), method="DOP853", rtol=1e-11, atol=1e-12)
    x = found.y[:, -1].reshape(shape)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", ["softmax", "unnormalized"])
def test_it_is_what_attention_at_a_large_beta_does(kind):
    weights = np.array([0.2, 0.5, 0.3])
    start = np.array([[1.0, 0, 0], [np.cos(0.6), np.sin(0.6), 0], [0, np.cos(0.4), np.sin(0.4)]])
    run = mfpde.solve(
        problem(start.tolist(), 0.4, kind=kind, weights=weights.tolist(), geometry={"kind": "sphere", "dimension": 3})
    )
    assert np.linalg.norm(run.positions[-1, 0] - start[0]) > 0.05
    expected = in_new_clock(start, weights, 0.4, 2000.0, kind == "softmax")
    np.testing.assert_allclose(run.positions[-1], expected, atol=1e-9)


def test_the_angle_of_a_pair():
    """`phi' = -2 sin phi` for equal masses: merging takes infinite time."""
    times = np.array([0.5, 1.0, 3.0])
    run = mfpde.solve(problem([1.0, 2.5], 3.0, at=times))
    angles = np.diff(run.positions[:, :, 0], axis=1)[1:, 0]
    np.testing.assert_allclose(np.tan(angles / 2), np.tan(0.75) * np.exp(-2 * times), rtol=1e-12)


@pytest.mark.parametrize(("kind", "shares"), [("softmax", [16 / 17, 1 / 17]), ("unnormalized", [4 / 5, 1 / 5])])
def test_clusters_meet_where_their_masses_say(kind, shares):
    """Masses 1 and 4: the way of each is as its speed, (m_j / m_i) under softmax and m_j without normalisation."""
    run = mfpde.solve(problem([0.0, 1.0], 50.0, kind=kind, weights=[1, 4]))
    np.testing.assert_allclose(run.positions[-1, :, 0], shares[0], atol=1e-12)


def waited(angle, until, beta, kind, rate):
    """t from angle to angle: the integral of dt/ds over `phi' = -c sin phi`."""

    def pace(phi):
        return np.exp(beta * ((1 if kind == "softmax" else 0) - np.cos(phi))) / (rate * np.sin(phi))

    return quad(pace, until, angle, epsabs=0, epsrel=1e-12, limit=500)[0]


@pytest.mark.parametrize(
    ("kind", "beta", "angles"),
    [
        ("softmax", 40, [0.899, 0.7, 0.3]),
        ("softmax", 300, [0.899, 0.85, 0.82]),
        ("unnormalized", 3, [0.8, 0.1, 0.001]),
        ("softmax", 0.1, [0.8, 0.1, 0.001]),
    ],
)
def test_physical_time(kind, beta, angles):
    """Masses 1 and 4: in t, at the beta of the problem, the angle is where s has it (later ones are rounding of t)."""
    rate = 4 + 1 / 4 if kind == "softmax" else 1.0
    at = [waited(0.9, angle, beta, kind, rate) for angle in angles]
    run = mfpde.solve(problem([0.0, 0.9], 2 * at[-1], kind=kind, beta=beta, weights=[1, 4], at=at, clock="physical"))
    np.testing.assert_allclose(np.diff(run.positions[1:-1, :, 0], axis=1)[:, 0], angles, atol=1e-9)
    merged = waited(0.9, 1e-6, beta, kind, rate) < 2 * at[-1]
    assert bool(np.ptp(run.positions[-1]) == 0) is merged


def test_physical_times_beyond_numbers_are_waited_for():
    """`e^{beta (1 - cos phi)}` is e^3602: in a time of e^690 nothing moves."""
    run = mfpde.solve(problem([0.0, 2.5], 1e300, at=[1e299], clock="physical"))
    np.testing.assert_array_equal(run.positions[:, :, 0], [[0.0, 2.5]] * 3)


def test_pairs_meet_one_after_the_other():
    """Each meeting takes `log(tan(phi / 2) / tan(merge / 2)) / c`; between meetings nothing else moves."""
    merge = 1e-4
    first = np.log(np.tan(0.2) / np.tan(merge / 2)) / 2
    # two tokens at 0.2, and one at 1.0: c = 1/2 + 2
    second = np.log(np.tan(0.4) / np.tan(merge / 2)) / 2.5
    at = [0.999 * first, 1.001 * first, first + 0.999 * second, first + 1.001 * second]
    run = mfpde.solve(problem([0.0, 0.4, 1.0, 3.0], 1000.0, at=at, merge=merge))
    angles = run.positions[1:, :, 0]
    assert 0 < angles[0, 1] - angles[0, 0] < 1.1 * merge
    np.testing.assert_allclose(angles[1, :2], 0.2, atol=2e-3)
    assert angles[1, 0] == angles[1, 1]
    np.testing.assert_array_equal(angles[0, 2:], [1.0, 3.0])
    assert angles[2, 0] != angles[2, 2]
    np.testing.assert_allclose(angles[3, :3], 0.2 + 0.8 / 5, atol=1e-3)
    np.testing.assert_allclose(angles[4], 0.36 + (3 - 0.36) / (1 + 9), atol=1e-12)
    assert run.provenance is not None


def test_many_tokens_end_in_one_and_every_merge_is_of_the_closest_pair():
    start = np.random.default_rng(3).uniform(0, 2, 40)
    run = mfpde.solve(problem(start.tolist(), 2000.0, at=np.linspace(5, 1995, 200)))
    clusters = [len(np.unique(row.round(12))) for row in run.positions[:, :, 0]]
    assert clusters[0] == 40
    assert clusters[-1] == 1
    assert all(later <= earlier for earlier, later in pairwise(clusters))
    order = np.argsort(start)
    assert np.all(np.diff(run.positions[:, order, 0], axis=1) >= -1e-12)  # on an arc nobody passes anybody


def test_opposite_tokens_stay():
    run = mfpde.solve(problem([0.0, np.pi], 5.0))
    np.testing.assert_allclose(run.positions[-1], run.positions[0], atol=1e-15)


def test_resumed_runs_have_the_same_bits():
    given = problem([0.0, 0.4, 1.0, 3.0], 30.0)
    whole, part = (given.solver.start(given.posed()) for _ in range(2))
    part.advance(7.0, 0)
    later = given.solver.resume(given.posed(), part.state())
    np.testing.assert_array_equal(later.points(), part.points())
    later.advance(30.0, 0)
    whole.advance(30.0, 0)
    np.testing.assert_array_equal(later.points(), whole.points())


def test_auto_takes_no_limit():
    with pytest.raises(mfpde.ProblemError) as refused:
        mfpde.solve(problem([0.0, 0.4], 1.0).model_copy(update={"solver": {"kind": "gaussian"}}))
    assert "solvers that can:" in str(refused.value)
    assert "hardmax" not in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"geometry": {"kind": "line"}}, "the limit is one of tokens on the circle and on spheres"),
        ({"noise": {"kappa": 1}}, "with noise tokens leave the nearest one"),
        ({"attention": {"kind": "softmax", "A": 1, "V": -1}}, "positive multiples of the identity"),
        ({"attention": {"kind": "linear", "beta": 1}}, "the limit is one of softmax or unnormalized attention"),
        ({"initial": {"kind": "uniform"}}, "it starts from tokens"),
    ],
)
def test_what_has_no_such_limit_is_refused(changes, said):
    with pytest.raises(mfpde.ProblemError) as refused:
        mfpde.solve(problem([0.0, 0.4], 1.0).model_copy(update=changes))
    assert said in str(refused.value)
