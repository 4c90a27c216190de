"""What keeps a problem from being solved is known before anything runs."""

import numpy as np
import pytest

from mfpde.errors import ProblemError
from mfpde.prepare import chosen_solver, faults, prepare
from mfpde.problem import Problem

GOOD = {
    "geometry": {"kind": "circle"},
    "attention": {"kind": "softmax", "beta": 2},
    "noise": {"kappa": 4},
    "initial": {"kind": "uniform"},
    "time": {"until": 1},
}
#: noise that all tokens share, for which a law has no equation
COMMON = {"kappa": 4, "common": 1}


def told(**changes):
    data = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    return [str(fault) for fault in faults(Problem.from_dict(data))]


def test_a_good_problem_has_no_faults():
    assert told() == []
    assert told(solver={"kind": "auto", "tolerance": 1e-4}, observe=["mass", "order-parameter"]) == []


def test_blocks_that_solving_needs():
    assert told(initial=None, time=None) == [
        "initial: is missing: solving needs to know where it starts",
        "time: is missing: solving needs to know until when, e.g. time: {until: 10}",
    ]


def test_commands_that_go_without_them():
    states = {"initial": None, "time": None, "bifurcation": {"parameter": "kappa", "range": [1, 4]}}
    swept = {"sweep": {"attention.beta": [0, 1]}, "collect": [{"special": "branch-point", "branch": "mode 1"}]}
    for command, more in (("bifurcate", {}), ("sweep", swept)):
        assert [each.endswith(f"; mfpde {command} does not") for each in told(**states, **more)] == [True, True]


def test_everything_is_told_at_once():
    said = told(
        attention={"kind": "softmax", "A": [[1, 2], [3, 4]]},
        noise=COMMON,
        initial={
            "kind": "mixture",
            "components": [{"kind": "uniform"}, {"kind": "density", "expression": "cos(theta)"}],
        },
        observe=["free-energy", "mass", "mass"],
    )
    assert said[0].startswith("initial.components.1.expression: is negative (-1) at theta = ")
    assert said[1].startswith("solver: ")
    assert said[2].startswith("observe.0: free-energy cannot be observed here: ")
    assert said[3] == "observe.2: gives the series 'mass', and so does entry 1"


def test_a_named_solver_that_does_not_fit():
    (said,) = told(noise=COMMON, solver={"kind": "spectral"})
    assert said.startswith("solver: spectral cannot solve this: it has no noise.common")


FLAT = {"geometry": {"kind": "line"}, "initial": {"kind": "gaussian", "mean": 0, "covariance": 1}}


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        ({"cells": [32, 32]}, "solver.cells: must have one entry for the axis of the line, not 2"),
        ({"cells": []}, "solver.cells: must have one entry for the axis of the line, not 0"),
        ({"box": [[-8, 8], [-8, 8]]}, "solver.box: must have one entry for the axis of the line, not 2"),
        ({"box": "auto"}, None),
    ],
)
def test_axes_of_finite_volumes(solver, said):
    assert told(**FLAT, solver={"kind": "finite-volume", **solver}) == ([] if said is None else [said])


@pytest.mark.parametrize("box", [[[-np.inf, np.inf]], [[1, -1]], [[0, 1, 2]]])
def test_boxes_of_finite_volumes_are_finite(box):
    with pytest.raises(ProblemError, match=r"solver\.box: needs finite pairs \[from, to\] with from < to"):
        told(**FLAT, solver={"kind": "finite-volume", "box": box})


def test_a_fault_that_several_would_tell_is_told_once():
    flat = {**FLAT, "initial": {"kind": "gaussian", "mean": 0, "covariance": -1}}
    assert told(**flat, solver={"kind": "finite-volume"}) == [
        "initial.covariance: must be positive semi-definite, but has the eigenvalue -1"
    ]


def test_a_head_that_is_masked_alone():
    softmax = {"kind": "softmax", "beta": 1}
    masked = {"kind": "masked", "attention": softmax}
    inner = {"kind": "multi-head", "heads": [masked, softmax]}
    said = told(attention={"kind": "multi-head", "heads": [softmax, masked, inner]}, drift={"kind": "mlp"}, noise=None)
    assert [line.partition(": ")[0] for line in said] == ["attention.heads.1", "attention.heads.2.heads.0"]
    assert "put masked around it all" in said[0]
    whole = {"kind": "masked", "attention": {"kind": "multi-head", "heads": [softmax, softmax]}}
    assert told(attention=whole, noise=None, solver={"kind": "characteristics"}) == []


def test_a_matrix_of_the_wrong_shape_is_told_once():
    assert told(attention={"kind": "softmax", "A": [[1, 2]]}, observe=["free-energy", "energy"]) == [
        "attention.A: has shape (1, 2); tokens in R^2 need (2, 2)"
    ]


def test_coordinates_of_another_space():
    (said,) = told(initial={"kind": "density", "expression": "1 + z"})
    assert said == "initial.expression: uses z, but this space has the coordinates theta, x, y"


def test_numbers_that_overflow_are_faults_not_warnings():
    (said,) = told(initial={"kind": "density", "expression": "exp(1000*theta)"})
    assert said.startswith("initial.expression: is not finite at theta = ")


def test_auto_hands_its_tolerance_on():
    problem = Problem.from_dict({**GOOD, "solver": {"kind": "auto", "tolerance": 1e-4}})
    assert chosen_solver(problem).canonical() == {"kind": "spectral", "tolerance": 1e-4, "max_modes": 1024}
    assert chosen_solver(Problem.from_dict(GOOD)).canonical()["kind"] == "spectral"


SHARPENING = {
    "geometry": {"kind": "circle"},
    "attention": {"kind": "softmax", "beta": 2},
    "initial": {"kind": "density", "expression": "1 + 0.3*cos(theta)"},
}


def test_auto_goes_on_by_characteristics_where_modes_end():
    """A noiseless cluster is too narrow for 1024 modes at t = 9.4; a choice that was made is not made again."""

    def taken(until, **more):
        return prepare(Problem.from_dict({**SHARPENING, "time": {"until": until}, **more}))

    assert (taken(5).solver.kind, taken(5).choice) == ("spectral", "")
    late = taken(12)
    assert late.solver.canonical()["kind"] == late.problem.canonical()["solver"]["kind"] == "characteristics"
    assert late.solver.tolerance == 1e-8
    assert late.choice.startswith("auto took characteristics: spectral ends at t = 9.3")
    assert taken(12, solver={"kind": "spectral"}).solver.kind == "spectral"
    assert taken(12, observe=["clusters"]).solver.kind == "spectral"  # which characteristics do not show
    assert taken(12, noise={"kappa": 50}).solver.kind == "spectral"


def test_auto_says_why_nothing_fits():
    problem = Problem.from_dict({**GOOD, "noise": COMMON})
    with pytest.raises(ProblemError, match=r"no solver can do this equation \(.*spectral: it has no noise.common"):
        chosen_solver(problem)


def test_observables_of_another_space_or_solver():
    tilt, leak = told(observe=["attention-tilt", "box-leak"])
    assert tilt == (
        "observe.0: attention-tilt cannot be observed here: it is made for the line and the plane and the space, "
        "not for the circle"
    )
    assert leak == "observe.1: box-leak cannot be observed here: the spectral solver cannot tell it"


def test_a_comparison_that_does_not_fit():
    assert told(compare={"kind": "gaussian-closed-form"}) == [
        "compare: gaussian-closed-form cannot be compared with: Gaussians live on the line, the plane and space"
    ]


def test_positions_are_known_under_masked_attention_only():
    masked = {"kind": "masked", "attention": {"kind": "softmax", "A": 1, "V": -1}, "positions": 3}
    shifted = {"kind": "density", "expression": "exp(-(x-s)**2)"}
    assert told(geometry={"kind": "line"}, attention=masked, initial=shifted, solver={"kind": "auto"}) == []
    (said,) = told(geometry={"kind": "line"}, attention=masked["attention"], initial=shifted, solver={"kind": "auto"})
    assert "only masked attention" in said


def test_a_density_on_the_sphere_of_dimension_two_is_one_sentence():
    problem = Problem.from_dict(
        {
            "geometry": {"kind": "sphere", "dimension": 2},
            "attention": {"kind": "unnormalized", "beta": 2},
            "noise": {"kappa": 4},
            "initial": {"kind": "density", "expression": "1 + 0.5*z"},
            "time": {"until": 1},
        }
    )
    (fault,) = faults(problem)
    assert fault.path == ("geometry",)
    assert "kind: circle, in theta" in fault.message
