"""Solutions within steps, against polynomials of SciPy and against steps that end there."""

import numpy as np
import pytest
from scipy.interpolate import KroghInterpolator

import mfpde
from mfpde.solvers.finite_volume.between_steps import BetweenSteps, StepEnd
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.solution import Solution

QUERY, VALUE = [[1, 0.5], [-0.2, 0.7]], [[-1, 0.3], [-0.4, -0.8]]
SPOT = {"kind": "gaussian", "mean": [0.5, 0], "covariance": [[1, 0.3], [0.3, 0.5]]}
PLACES = np.linspace(-1, 1, 7)


def end_at(time):
    """Of a density `e^{-(1 + x) t} (2 + sin t)`, a frame that moves and one that widens; all smooth in time."""
    density = np.exp(-(1 + PLACES) * time) * (2 + np.sin(time))
    slope = density * (np.cos(time) / (2 + np.sin(time)) - 1 - PLACES)
    values = density[None, None], np.array([[np.sin(3 * time)]]), np.array([[[1 + time**3]]])
    slopes = slope[None, None], np.array([[3 * np.cos(3 * time)]]), np.array([[[3 * time**2]]])
    return StepEnd(time, Solution(*values), Solution(*slopes))


def remembered(times):
    steps = BetweenSteps()
    for time in times:
        steps.begin(end_at(time))
    return steps


def test_a_polynomial_through_ends_and_rates_there():
    """KroghInterpolator knows Hermite's by repeated points; of the density its logarithm is one."""
    times, now = [0.0, 0.1, 0.25, 0.3], 0.45
    shown, _ = remembered(times).at(0.38, end_at(now), 0.0)
    ends = [end_at(time) for time in (*times, now)]

    def krogh(values, slopes):
        rows = [row for pair in zip(values, slopes, strict=True) for row in pair]
        return KroghInterpolator(np.repeat([*times, now], 2), rows)(0.38)

    mean = krogh([each.solution.mean[0, 0] for each in ends], [each.change.mean[0, 0] for each in ends])
    frame = krogh([each.solution.matrix[0, 0, 0] for each in ends], [each.change.matrix[0, 0, 0] for each in ends])
    logs = krogh([np.log(each.solution.density[0, 0]) for each in ends], [each.logarithms[1][0, 0] for each in ends])
    assert shown.mean[0, 0] == pytest.approx(mean, rel=1e-12)
    assert shown.matrix[0, 0, 0] == pytest.approx(frame, rel=1e-12)
    mass = ends[-1].solution.density.sum()  # is not that of this density, but is kept
    assert shown.density[0, 0] == pytest.approx(np.exp(logs) * mass / np.exp(logs).sum(), rel=1e-11)


@pytest.mark.parametrize("allowed", [1e-3, 1e-5, 1e-7, 0.0])
def test_the_error_is_told(allowed):
    """That of the mean, `sin 3t`, is known; it falls with what is allowed as far as ends are remembered."""
    shown, error = remembered([0.0, 0.1, 0.25, 0.3]).at(0.38, end_at(0.45), allowed)
    assert abs(shown.mean[0, 0] - np.sin(3 * 0.38)) <= error <= max(allowed, 1e-7)


def test_steps_reach_as_far_as_solutions_are_known():
    """What a step of that length leaves in its middle is about what is allowed, also where that is little."""
    for allowed in (1e-3, 1e-5, 1e-7):
        steps = remembered([0.0, 0.1, 0.25, 0.3])
        steps.arrive(end_at(0.45), allowed)
        middle, end = 0.45 + 0.5 * steps.reach, 0.45 + steps.reach
        steps.begin(end_at(0.45))
        shown, _ = steps.at(middle, end_at(end), 0.0)
        assert abs(shown.mean[0, 0] - np.sin(3 * middle)) < allowed
        assert 0.25 * 0.15 <= steps.reach <= 4.0001 * 0.15


def test_cells_without_tokens_stay_so_and_none_becomes_negative():
    """Polynomials of densities that rise from nothing are negative before."""

    def rising(time):
        density = np.array([[[0.0, max(0.0, time - 0.9) ** 2, 1.0]]])
        change = np.array([[[0.0, 2 * max(0.0, time - 0.9), 0.0]]])
        return StepEnd(time, Solution(density, np.zeros((1, 1)), np.ones((1, 1, 1))),
                       Solution(change, np.zeros((1, 1)), np.zeros((1, 1, 1))))  # fmt: skip

    steps = BetweenSteps()
    for time in (0.0, 0.3, 0.6):
        steps.begin(rising(time))
    shown, _ = steps.at(0.8, rising(1.0), 0.0)
    assert shown.density[0, 0, 0] == 0.0
    assert (shown.density >= 0.0).all()
    assert shown.density.sum() == pytest.approx(1.01, rel=1e-15)


def test_a_longer_grid_has_the_same_cells():
    grid = Grid(np.array([-1.0]), np.array([1.0]), [7], gaussian=False)
    longer = grid.longer(np.array([[2, 3]]))
    steps = remembered([0.0, 0.1])
    steps.lengthen(grid, longer, continued=False)
    first, *_ = (each.density for each in (steps.at(0.1, end, 0.0)[0] for end in [_on(longer, end_at(0.2))]))
    assert first.shape == (1, 1, 12)
    assert not first[..., :2].any()
    assert not first[..., -3:].any()
    assert first[0, 0, 2:-3] / first.sum() == pytest.approx(_share(0.1), rel=1e-12)


def _on(longer, end):
    solution, change = (
        each._replace(density=np.pad(each.density, [(0, 0), (0, 0), (2, 3)])) for each in (end.solution, end.change)
    )
    assert solution.density.shape[-1] == longer.cells[0]
    return StepEnd(end.time, solution, change)


def _share(time):
    density = end_at(time).solution.density[0, 0]
    return density / density.sum()


def solve(save_at, until, **blocks):
    given = {"geometry": {"kind": "plane"}, "attention": {"kind": "softmax", "A": QUERY, "V": VALUE}, "initial": SPOT}
    solver = {"kind": "finite-volume", "cells": 32, "tolerance": 1e-6, **blocks.pop("solver", {})}
    time = {"until": until, "save": bool(save_at)} | ({"save_at": save_at} if save_at else {})
    return mfpde.solve(mfpde.Problem.from_dict({**given, "solver": solver, "time": time, **blocks}))


def taken(run):
    return run.provenance["statistics"]["steps"]


def apart(one, other):
    """The largest difference of two densities on the cells of the first one, over its peak."""
    (panel,) = one.panels
    points = panel.lattice.points()
    return np.abs(panel.values.ravel() - other.evaluate(points)).max() / panel.values.max()


@pytest.mark.parametrize(
    "blocks",
    [
        {},
        {"noise": {"kappa": 5}, "solver": {"cells": 48}},
        {"noise": {"kappa": 5}, "solver": {"frame": "static", "cells": 64, "tolerance": 1e-5}},
        {"attention": {"kind": "softmax", "A": QUERY, "V": {"times": [0, 0.31], "values": [VALUE, [[1, 0], [0, -1]]]}}},
    ],
    ids=["no noise", "noise", "box", "jump"],
)
def test_snapshots_are_those_of_runs_that_end_there(blocks):
    """But for the first ones, also after a jump, it takes the steps of a run without snapshots: 40 would be cut."""
    times, promised = np.linspace(0, 0.6, 41), 10 * {"tolerance": 1e-6, **blocks.get("solver", {})}["tolerance"]
    run = solve(times[1:-1].tolist(), 0.6, **blocks)
    assert run.outcome.kind == "finished"
    assert taken(run) <= taken(solve([], 0.6, **blocks)) + 15
    for index in (3, 20, 21, 40):  # within steps, but the last; 20 and 21 are before and after the jump
        other = solve([], float(run.times[index]), **blocks)
        assert apart(run.measure(index), other.measure(-1)) < 0.3 * promised
        assert run.measure(index).mass == pytest.approx(1.0, abs=1e-13)
        assert min(panel.values.min() for panel in run.measure(index).panels) >= 0.0


def test_rates_within_steps_are_those_of_the_solution_there():
    """A residual at an output time is that of a run which ends there."""
    times = [0.1, 0.23, 0.31]
    blocks = {"noise": {"kappa": 5}, "solver": {"cells": 48}}
    run = solve(times, 0.6, observe=["residual"], **blocks)
    for time, residual in zip(run.series_times, run.series["residual"], strict=True):
        if time in times:
            assert residual == pytest.approx(solve([], time, **blocks).outcome.residual, rel=1e-5)
