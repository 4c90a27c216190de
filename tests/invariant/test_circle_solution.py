"""What holds for every solution on the circle, whatever the problem."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfpde.contracts.solver import State
from mfpde.problem import Problem


def start(initial, kind="unnormalized", beta=4.0, kappa=4.0, tolerance=1e-8, **solver):
    problem = Problem.model_validate(
        {
            "geometry": {"kind": "circle"},
            "attention": {"kind": kind, "beta": beta},
            "noise": {"kappa": kappa},
            "initial": initial if isinstance(initial, dict) else {"kind": "density", "expression": initial},
            "solver": {"kind": "spectral", "tolerance": tolerance, **solver},
        }
    )
    return problem.solver.start(problem.posed())


def carry(solution, *targets, budget=50_000.0):
    for target in targets:
        while (progress := solution.advance(target, budget)).state is State.UNDER_WAY:
            pass
    return progress


LOPSIDED = "1 + 0.5*cos(theta) + 0.2*sin(2*theta)"


@given(
    kind=st.sampled_from(["softmax", "unnormalized"]),
    beta=st.floats(0, 6),
    kappa=st.floats(0.05, 8),
    shift=st.floats(-3, 3),
)
@settings(max_examples=25)
def test_mass_mean_positivity_and_rotation(kind, beta, kappa, shift):
    first = start({"kind": "von-mises", "direction": 0.5, "concentration": 2.0}, kind, beta, kappa)
    turned = start({"kind": "von-mises", "direction": 0.5 + shift, "concentration": 2.0}, kind, beta, kappa)
    for solution in (first, turned):
        assert carry(solution, 0.3).state is State.REACHED
    assert abs(first.modes()[0] - 1) < 1e-13
    density = first.fields()["density"]
    assert density.min() > -1e-7 * density.max()
    count = min(first.modes().size, turned.modes().size)
    back = turned.modes()[:count] * np.exp(1j * shift * np.arange(count))
    assert np.abs(back - first.modes()[:count]).max() < 1e-7


@pytest.mark.parametrize("kind", ["softmax", "unnormalized"])
def test_bits_do_not_depend_on_how_the_way_is_cut_into_calls(kind):
    whole, pieces = start(LOPSIDED, kind), start(LOPSIDED, kind)
    carry(whole, 1.0, 2.0)
    carry(pieces, 1.0, 2.0, budget=1e-3)
    assert np.array_equal(whole.modes(), pieces.modes())
    assert whole.statistics() == pieces.statistics()


@pytest.mark.parametrize(("kind", "kappa"), [("softmax", 40.0), ("unnormalized", 4.0), ("softmax", "inf")])
def test_restored_solution_continues_bit_for_bit(kind, kappa):
    whole, stopped = start(LOPSIDED, kind, kappa=kappa), start(LOPSIDED, kind, kappa=kappa)
    carry(whole, 0.4)
    carry(stopped, 0.4)
    resumed = start(LOPSIDED, kind, kappa=kappa)
    resumed.restore(stopped.state())
    carry(whole, 0.5, 1.1)
    carry(resumed, 0.5, 1.1)
    assert np.array_equal(whole.modes(), resumed.modes())
    assert np.array_equal(whole.fields()["density"], resumed.fields()["density"])


@pytest.mark.parametrize(("kind", "beta", "kappa"), [("unnormalized", 4.0, 1.2), ("softmax", 20.0, 200.0)])
def test_a_state_saved_after_any_attempt_continues_bit_for_bit(kind, beta, kappa):
    """After rejected steps, too: they must leave no trace that a restored solution would miss."""
    problem = {"kind": kind, "beta": beta, "kappa": kappa, "tolerance": 1e-8}
    solution, other = start(LOPSIDED, **problem), start(LOPSIDED, **problem)
    for _ in range(150):
        rejected = solution.statistics()["rejected"]
        solution.advance(9.0, 1e-3)
        other.restore(solution.state())
        if solution.statistics()["rejected"] > rejected:
            for _ in range(3):
                solution.advance(9.0, 1e-3)
                other.advance(9.0, 1e-3)
        assert np.array_equal(solution.modes(), other.modes())
    assert solution.statistics()["rejected"] > 2


def test_nothing_moves_without_drift_and_noise():
    still = {"geometry": {"kind": "circle"}, "initial": {"kind": "von-mises", "concentration": 3}}
    problem = Problem.model_validate({**still, "solver": {"kind": "spectral"}})
    solution = problem.solver.start(problem.posed())
    before = solution.modes()
    assert carry(solution, 5.0).state is State.REACHED
    assert np.array_equal(solution.modes(), before)


def test_equal_clusters_keep_their_symmetry():
    parts = [{"kind": "von-mises", "direction": 2 * np.pi * k / 3, "concentration": 9} for k in range(3)]
    solution = start({"kind": "mixture", "components": parts}, "softmax", beta=5, kappa=100)
    carry(solution, 100.0)
    assert not solution.modes()[1::3].any()


def test_modes_nobody_can_see_must_have_sunk_by_the_first_output():
    assert carry(start("1 + cos(5000*theta)", beta=1, kappa=1), 1e-9).state is State.RESOLUTION_LOST
    assert carry(start("1 + cos(5000*theta)", beta=1, kappa=1), 1e-3).state is State.REACHED


@pytest.mark.parametrize("kind", ["softmax", "unnormalized"])
def test_symmetries_of_the_data_are_kept_exactly(kind):
    solution = start("1 + 0.3*cos(2*theta)", kind, beta=6, kappa=60)
    carry(solution, 6.0)
    modes = solution.modes()
    assert not modes[1::2].any()
    assert not modes.imag.any()
    assert abs(modes[2]) > 0.5


def test_uniform_state_is_stationary():
    solution = start({"kind": "uniform"})
    carry(solution, 7.0)
    assert solution.residual() == 0
    assert np.array_equal(solution.fields()["density"], np.full(256, 1 / (2 * np.pi)))


def test_collapse_without_noise_ends_as_resolution_lost():
    solution = start(LOPSIDED, "softmax", beta=9, kappa="inf", max_modes=256)
    progress = carry(solution, 50.0)
    assert progress.state is State.RESOLUTION_LOST
    assert "256 modes" in progress.message
    assert "max_modes" in progress.advice
    assert 1 < solution.time < 10


def test_point_masses_become_smooth_under_noise():
    """Kuramoto from one point mass: exact while the drift is symmetric, the wrapped heat kernel at small times."""
    solution = start({"kind": "points", "values": [1.0]}, beta=0, kappa=1.0)
    assert carry(solution, 1e-3).state is State.REACHED
    order = np.arange(20)
    heat = np.exp(-(order**2) * 1e-3 - 1j * order)
    assert np.abs(solution.modes()[:20] - heat).max() < 1e-3
    assert carry(solution, 30.0).state is State.REACHED
    assert np.abs(solution.modes()[1:]).max() < 1e-6


def test_axis_grows_with_the_modes():
    solution = start(LOPSIDED, "unnormalized", beta=20, kappa=1e-4, tolerance=1e-10)
    before = solution.layout.shape[0]
    carry(solution, 3e-7)
    assert solution.layout.shape[0] > before
    assert solution.layout.shape[0] >= 2 * solution.modes().size
    density = solution.fields()["density"]
    assert abs((density * solution.layout.weight).sum() - 1) < 1e-13
