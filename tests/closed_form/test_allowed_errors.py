"""What a step may err: the rule, its compiled twin, and runs that keep the promise where errors grow."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mfpde
from mfpde.solvers.kernels import exponential_step as kernels
from mfpde.solvers.stepping import controller

PROMISED = 10.0  # tolerances


def test_the_compiled_rule_is_the_other_one(random):
    for largest, motion, slowing in 10.0 ** random.uniform([-12, -16, -3], [1, 1, 3], (200, 3)):
        share = controller.path_share(largest, slowing)
        assert kernels.path_share(largest, slowing) == pytest.approx(share, rel=1e-14)
        wanted = controller.allowed_error(largest, 1e-14, motion, share)
        assert kernels.allowed_error(largest, 1e-14, motion, share) == pytest.approx(wanted, rel=1e-14)


def test_steps_err_by_less_than_they_move():
    for slowing in (1e-3, 1.0, 1e3):
        share = controller.path_share(1e-2, slowing)
        assert controller.allowed_error(1e-2, 0.0, 1e-9, share) <= 0.1001e-9
    assert controller.path_share(1e-9, 0.5) < controller.path_share(1e-9, 1.0) < controller.path_share(1e-9, 2.0)


def tokens(angles, until, tolerance):
    """Of softmax attention on the circle, at the end, and from SciPy as vectors."""
    start = np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def slope(_, flat):
        x = flat.reshape(start.shape)
        kernel = np.exp(x @ x.T)
        pull = kernel @ x / kernel.sum(axis=1, keepdims=True)
        return (pull - (pull * x).sum(axis=1, keepdims=True) * x).ravel()

    wanted = solve_ivp(slope, (0, until), start.ravel(), "DOP853", rtol=1e-13, atol=1e-15).y[:, -1].reshape(start.shape)
    run = mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "circle"},
                "attention": {"kind": "softmax", "beta": 1},
                "initial": {"kind": "points", "values": angles.tolist()},
                "solver": {"kind": "particles", "tolerance": tolerance},
                "time": {"until": until, "save_every": until},
            }
        )
    )
    found = run.positions[-1, :, 0]
    return run, np.abs(np.stack([np.cos(found), np.sin(found)], axis=1) - wanted).max()


@pytest.mark.parametrize(("until", "tolerance"), [(15.0, 1e-6), (20.0, 1e-8)])
def test_a_ring_that_leaves_its_unstable_state_keeps_the_promise(until, tolerance):
    """A perturbation of 1e-4 grows four thousandfold, and what steps err grows with it."""
    angles = 2 * np.pi * np.arange(9) / 9 + 1e-4 * np.sin(np.arange(9) ** 2)
    _, error = tokens(angles, until, tolerance)
    assert error < PROMISED * tolerance


def test_a_tolerance_costs_what_it_asks():
    """Nine steps, and an error within a factor of thirty of the promise; it was fourteen, and eight hundred."""
    angles = np.random.default_rng(2).uniform(0, 2 * np.pi, 24)
    run, error = tokens(angles, 5.0, 1e-8)
    assert PROMISED / 30 * 1e-8 < error < PROMISED * 1e-8
    assert run.provenance["statistics"]["steps"] <= 10
