"""What becomes of Gaussians: limits known in closed form, and the examples of Castin et al. (2501.18322)."""

import numpy as np
import pytest

import mfpde

ROUND = [[0.6, 0.1], [0.1, 0.4]]
DIRECTION = np.array([0.6, -0.8])
INDEFINITE = [[1.0, 0.5], [-0.3, -0.8]]


def outcome(attention, covariance=ROUND, until=100.0, mean=None, kappa=None):
    covariance = np.asarray(covariance)
    d = covariance.shape[0]
    data = {
        "geometry": {"kind": "space", "dimension": d},
        "initial": {"kind": "gaussian", "mean": np.zeros(d) if mean is None else mean, "covariance": covariance},
        "solver": {"kind": "gaussian"},
        "time": {"until": until, "save": False},
    }
    if attention is not None:
        data["attention"] = attention
    if kappa is not None:
        data["noise"] = {"kappa": kappa}
    run = mfpde.solve(mfpde.Problem.from_dict(data))
    return run.outcome, run.measure(-1)


def message(*arguments, **more):
    found, _ = outcome(*arguments, **more)
    assert found.complete, found
    return found.message


def kernels(A, V):
    """Laws under which Gaussians of one dimension move in the same directions."""
    A = np.asarray(A)
    return [
        {"kind": "softmax", "A": A, "V": V},
        {"kind": "l2", "Q": A, "K": np.eye(len(A)), "V": V},
        {"kind": "sinkhorn", "A": A, "V": V},
    ]


# -- zero, lines, planes
# ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "law", kernels([[-1.0, 0.2], [-0.2, -0.5]], [[1.0, 0.3], [0.3, 0.8]]), ids=lambda law: law["kind"]
)
def test_negative_scores_tend_to_zero(law):
    assert message(law) == "tends to zero"


@pytest.mark.parametrize("law", kernels(-np.outer(DIRECTION, DIRECTION), 1.0), ids=lambda law: law["kind"])
def test_a_form_of_rank_one_leaves_the_line_that_it_does_not_see(law):
    found, measure = outcome(law)
    assert found.message == "tends to a line"
    variances, axes = np.linalg.eigh(measure.covariance)
    assert abs(axes[:, 1] @ DIRECTION) < 0.05
    assert variances[0] < 0.01 < variances[1]


def test_two_heads_of_the_plane_leave_a_plane_of_covariances():
    """`S' = -e_1 e_1^T S q q^T S + its transpose` ends where `(S q)_1 = 0`."""
    silent = {"kind": "softmax", "A": 0.0, "V": [[0.0, 0.0], [0.0, 1.0]]}
    head = {"kind": "softmax", "A": -np.outer(DIRECTION, DIRECTION), "V": [[1.0, 0.0], [0.0, 0.0]]}
    found, measure = outcome({"kind": "multi-head", "heads": [head, silent]})
    assert found.message == "tends to a plane"
    assert abs((measure.covariance @ DIRECTION)[0]) < 1e-6


def test_more_dimensions():
    for kept, name in [(1, "to a line"), (2, "to a plane"), (3, "to a subspace of dimension 3")]:
        V = -np.diag([0.0] * kept + [1.0] * (4 - kept))
        assert message({"kind": "softmax", "A": 1, "V": V}, np.eye(4)) == f"tends {name}"


# -- two lines
# ------------------------------------------------------------------------------------------------------------------


def isotropic(A):
    """Unit vectors with `<A u, u> = 0`: `a + (b + c) s + d s^2 = 0` for u along (1, s)."""
    (a, b), (c, d) = A
    lines = [np.array([1.0, s]) for s in np.roots([d, b + c, a])]
    return [line / np.linalg.norm(line) for line in lines]


def attracts(A, V, line):
    """The slope of `<A u, u>` along `u' = V u` is negative, and so is that of what is across, `<n, V u> <A^T u, n>`."""
    across = np.array([-line[1], line[0]])
    A, V = np.asarray(A), np.asarray(V)
    turned = across @ V @ line
    return turned * (across @ (A + A.T) @ line) < 0 and turned * (across @ A.T @ line) < 0


def test_an_indefinite_form_leaves_two_lines():
    """The plane is cut by the two isotropic lines of A; V moves away from both in opposite directions."""
    V = np.array([[-0.2, 0.4], [0.9, 0.3]])
    A = np.array([[0.5, 1.2], [0.7, -0.9]])
    lines = isotropic(A)
    assert all(attracts(A, V, line) for line in lines) or all(attracts(A, -V, line) for line in lines)
    V = V if attracts(A, V, lines[0]) else -V
    reached = set()
    for angle in (0.3, 1.7):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        for law in kernels(A, V):
            found, measure = outcome(law, turn @ np.diag([0.7, 0.01]) @ turn.T, until=300.0)
            assert found.message.startswith("tends to two lines: from here to the one along ("), found
            end = np.linalg.eigh(measure.covariance)[1][:, 1]
            nearest = int(np.argmax([abs(line @ end) for line in lines]))
            assert abs(lines[nearest] @ end) > 1 - 1e-6
            reached.add(nearest)
            inside = [part.split(")")[0].split(", ") for part in found.message.split("(")[1:]]
            named = [np.array([float(number) for number in numbers]) for numbers in inside]
            assert abs(named[0] @ lines[nearest]) > 1 - 1e-3
            assert abs(named[1] @ lines[1 - nearest]) > 1 - 1e-3
    assert reached == {0, 1}


def test_a_plane_that_is_never_left_has_two_lines_too():
    A, V = np.diag([1.0, -1.0, 3.0]), np.diag([0.0, 1.0, 0.5])
    flat = np.diag([0.7, 0.2, 0.0])
    for sign in (1.0, -1.0):
        flat[0, 1] = flat[1, 0] = 0.1 * sign
        assert message({"kind": "softmax", "A": A, "V": V}, flat).startswith("tends to two lines")
    assert message({"kind": "softmax", "A": A, "V": V}, flat + np.diag([0.0, 0.0, 0.1]), until=0.01) == ""


def test_one_line_that_attracts_is_a_line():
    """V turns: it leads to one of the two isotropic lines, and away from the other."""
    assert (
        message({"kind": "softmax", "A": [[1.0, 0.0], [0.0, -1.0]], "V": [[-0.5, 1.0], [-1.0, -0.5]]})
        == "tends to a line"
    )


# -- no limit
# ------------------------------------------------------------------------------------------------------------------


def test_what_turns_for_ever_has_no_limit():
    """`S' = J S^2 - S^2 J`: the variances stay."""
    found, measure = outcome({"kind": "softmax", "A": 1.0, "V": [[0.0, -1.0], [1.0, 0.0]]}, until=30.0)
    assert found.message == "turns"
    np.testing.assert_allclose(np.linalg.eigvalsh(measure.covariance), np.linalg.eigvalsh(ROUND), rtol=1e-9)


def test_the_mean_may_go_its_own_way():
    form = -np.outer(DIRECTION, DIRECTION)
    leaving = {"kind": "sinkhorn", "A": form, "V": 1.0}
    assert message(leaving, mean=[0.1, 0.2], until=30.0) == "tends to a line; its mean diverges"
    turning = {"kind": "sinkhorn", "A": [[0.0, 0.0], [0.0, 0.0]], "V": [[0.0, -1.0], [1.0, 0.0]]}
    assert message(turning, mean=[0.1, 0.2]) == "at rest; its mean turns"


def test_noise_alone_diverges():
    assert message(None, kappa=2.0) == "diverges"
    assert message(None, np.zeros((2, 2)), kappa=2.0) == "diverges"
    assert message(None) == "at rest"


def test_attention_that_begins_late_counts():
    late = {"times": [0.0, 1.0], "values": [0.0, 1.0], "interpolation": "linear"}
    assert message({"kind": "softmax", "A": late, "V": -1.0}) == "tends to zero"
    assert message({"kind": "softmax", "A": {"times": [0, 200], "values": [1.0, 2.0]}, "V": -1.0}) == ""


def test_a_direction_that_has_hardly_begun_to_move_is_not_a_line():
    """`1/S = 1/S_0 + 2 v t` in each direction."""
    assert message({"kind": "softmax", "A": 1.0, "V": -np.diag([1.0, 1e-3])}) == ""
    assert message({"kind": "softmax", "A": 1.0, "V": -np.diag([1.0, 1e-3])}, until=1e5) == "tends to zero"


# -- infinite
# ------------------------------------------------------------------------------------------------------------------


def test_a_point_blows_up_by_its_mean():
    """`m' = a m^3`."""
    found, _ = outcome({"kind": "linear", "A": 0.5, "V": 1.0}, np.zeros((1, 1)), mean=[2.0])
    assert found.kind == "blow-up"
    assert found.time == pytest.approx(1 / (2 * 0.5 * 4), rel=1e-12)
    assert found.message.startswith("the mean becomes infinite")


def test_it_depends_on_where_it_starts():
    """Between the isotropic lines `<A u, u>` has two signs, and V stretches: `S = u u^T`."""
    law = {"kind": "softmax", "A": np.diag([1.0, -1.0]), "V": np.diag([1.0, 0.2])}
    assert outcome(law, np.outer([1.0, 0.1], [1.0, 0.1]))[0].kind == "blow-up"
    assert message(law, np.outer([0.1, 1.0], [0.1, 1.0])) == "tends to zero"


def test_growth_without_a_pole_goes_on():
    """A head of one row: the covariance grows by e^{0.96 t} and more, its smaller variance rests."""
    law = {"kind": "l2", "Q": [[0.5, 1.0]], "K": [[1.0, 0.1]], "V": [[0.1, 0.3], [-0.2, 1.0]]}
    found, measure = outcome(law, [[1.0, 0.3], [0.3, 0.5]], until=20.0)
    assert found.message == "diverges"
    assert measure.covariance[1, 1] > 1e25


def test_a_line_of_large_variance_is_stiff():
    """It rests where `<A u, u> = 0`, u = (1, -1), with rates of 1e5."""
    law = {"kind": "softmax", "A": INDEFINITE, "V": [[1.0, 0.5], [-0.2, 0.7]]}
    data_end, measure = outcome(law, [[1.0, 0.3], [0.3, 0.5]], until=50.0)
    assert data_end.message == "tends to a line"
    np.testing.assert_allclose(measure.covariance / measure.covariance[0, 0], [[1, -1], [-1, 1]], atol=1e-9)


@pytest.mark.parametrize("covariance", [[[0.7, 0.49], [0.49, 0.343]], np.outer([1, 2, 3.0], [0.1, 0.2, 0.3])])
def test_what_nothing_moves_stays_on_its_line(covariance):
    """Its other variances are nothing but rounding."""
    assert message({"kind": "softmax", "A": 1, "V": 0}, covariance) == "tends to a line"
