"""Edges and kinks on the line: finite volumes whose panels end there, against characteristics and other programs."""

import json
from pathlib import Path

import numpy as np
import pytest

import mfpde
from mfpde.geometry.gauss import gauss_legendre
from mfpde.measure.edge_stencils import at_faces, at_middles, end_weights
from mfpde.solvers.finite_volume.pieces import smooth_pieces

STORED = {
    case["name"]: case
    for name in ("flat", "hard")
    for case in json.loads((Path(__file__).parents[1] / "reference" / f"{name}.json").read_text("utf-8"))["problems"]
}


def solved(blocks, times, **solver):
    time = {"until": times[-1], "save_at": times}
    return mfpde.solve(mfpde.Problem.from_dict({**blocks, "solver": solver, "time": time}))


@pytest.mark.parametrize("power", range(9))
def test_stencils_are_exact_for_polynomials_up_to_the_ends(power):
    faces = np.arange(49.0) / 48
    averages = np.diff(faces ** (power + 1)) / (power + 1) * 48
    middles = 0.5 * (faces[1:] + faces[:-1])
    for shift in (-1, 0):
        assert np.abs(at_faces(48, 9, shift).of(averages) - faces**power).max() < 1e-12
    assert np.abs(at_middles(48).of(averages) - middles**power).max() < 1e-12
    assert abs(end_weights(48) @ middles**power / 48 - 1 / (power + 1)) < 1e-12
    assert (end_weights(48) > 0).all()


@pytest.mark.parametrize("count", range(18, 30))
def test_weights_of_few_cells_are_positive_and_exact_to_degree_seven(count):
    """Those of degree nine were negative on 18 to 24 cells: softmax was off by 1000 promises, and Sinkhorn's potentials
    of negative masses ended in a traceback."""
    middles = (np.arange(count) + 0.5) / count
    assert (end_weights(count) > 0).all()
    for power in range(8):
        assert abs(end_weights(count) @ middles**power / count - 1 / (power + 1)) < 1e-12
    assert abs(end_weights(count, 2) @ middles**5 / count - 1 / 6) < 1e-12
    assert abs(end_weights(count, 2) - end_weights(count)).max() > 1e-3


@pytest.mark.parametrize("attention", [{"kind": "sinkhorn", "A": 1, "V": -0.5}, {"kind": "softmax", "A": 1, "V": -1}])
def test_an_interval_on_the_fewest_cells(attention):
    """Against characteristics; what it asks for is kept."""
    blocks = {"geometry": {"kind": "line"}, "attention": attention, "initial": {"kind": "uniform", "box": [[-1, 1]]}}
    run = solved(blocks, [1.0], kind="finite-volume", cells=18, tolerance=1e-6)
    other = solved(blocks, [1.0], kind="characteristics", tolerance=1e-9)
    assert run.outcome.accuracy.kept
    assert abs(run.measure(-1).covariance - other.measure(-1).covariance).max() < 1e-6


@pytest.mark.parametrize(
    "name",
    [
        "softmax-interval",
        "growing-interval",
        "l2-interval",
        "sinkhorn-interval",
        "masked-l2-interval",
        "gelu-interval",
        "three-heads-interval",
        "softmax-triangle",
        "growing-triangle",
        "relu-laplace",
    ],
)
def test_moments_and_density(name):
    case = STORED[name]
    run = solved(case["problem"], case["times"], kind="finite-volume", cells=128)
    for index, expected in zip(np.searchsorted(run.times, case["times"]), case["moments"], strict=True):
        measure = run.measure(int(index))
        found = np.concatenate([measure.mean, measure.covariance.ravel()])
        assert np.abs(found - expected[: found.size]).max() < 1e-9
    if "points" in case:
        density = run.measure(-1).evaluate(np.reshape(case["points"], (-1, 1)))
        assert np.abs(density - case["density"]).max() < 1e-8 * case["peak"]
    assert run.outcome.accuracy.kept
    assert np.abs((run.density * run.weight).sum(axis=(1, 2)) - 1).max() < 1e-13
    assert run.density.min() >= 0


EXPANDING = {
    "geometry": {"kind": "line"},
    "attention": {"kind": "softmax", "A": 1, "V": 1},
    "initial": {"kind": "uniform", "box": [[-1, 1]]},
}


def test_cell_averages_are_those_of_characteristics():
    run = solved(EXPANDING, [1.5], kind="finite-volume", cells=128)
    exact = solved(EXPANDING, [1.5], kind="characteristics", tolerance=1e-10)
    (panel,) = run.measure(-1).panels
    low, high = panel.ends
    nodes, weights = gauss_legendre(4)
    faces = np.linspace(low, high, 129)
    places = faces[:-1, None] + 0.5 * np.diff(faces)[:, None] * (1 + nodes)
    averages = exact.measure(-1).evaluate(places.reshape(-1, 1)).reshape(places.shape) @ weights
    assert np.abs(panel.values - averages).mean() * (high - low) < 1e-8
    assert np.abs(run.measure(-1).covariance - exact.measure(-1).covariance).max() < 1e-9
    assert (exact.measure(-1).evaluate(np.array([[low - 1e-7], [high + 1e-7]])) == 0).all()


def test_the_estimate_tells_when_sums_at_the_ends_are_too_coarse():
    """Tilts of thirty over half the support: coarse cells are off by more than a hundredth of what they say."""
    task = {**EXPANDING, "attention": {"kind": "softmax", "A": 30, "V": 0.05}}
    run = solved(task, [1.0], kind="finite-volume", cells=32)
    exact = solved(task, [1.0], kind="characteristics", tolerance=1e-9)
    error = abs(run.measure(-1).covariance - exact.measure(-1).covariance).item()
    assert not run.outcome.accuracy.kept
    assert 1e-7 < error < 10 * run.outcome.accuracy.estimate


def test_pieces_are_stored_and_go_on(tmp_path):
    """A file answers as the run did, and a snapshot starts a run that knows its edges."""
    task = {**STORED["relu-laplace"]["problem"], "solver": {"kind": "finite-volume", "cells": 96}}
    problem = mfpde.Problem.from_dict({**task, "time": {"until": 1, "save_every": 0.5}})
    run = mfpde.solve(problem, tmp_path / "run.h5")
    points = np.array([[-1.0], [-0.1], [0.0], [0.1], [1.0]])
    assert (mfpde.load(tmp_path / "run.h5").measure(-1).evaluate(points) == run.measure(-1).evaluate(points)).all()
    onward = mfpde.Problem.from_dict(
        {
            **task,
            "initial": {"kind": "snapshot", "file": str(tmp_path / "run.h5"), "index": 1},
            "time": {"until": 0.5, "save": False},
        }
    )
    again = mfpde.solve(onward).measure(-1)
    assert abs(again.covariance - run.measure(-1).covariance).max() < 1e-7
    assert again.evaluate(points) == pytest.approx(run.measure(-1).evaluate(points), abs=1e-6)


def test_pieces_end_where_relu_has_its_kink():
    law = {"kind": "relu", "A": 1, "V": -1}
    problem = mfpde.Problem.from_dict({**EXPANDING, "attention": law, "time": {"until": 1}})
    parts = smooth_pieces(problem.equation, problem.equation.initial)
    ends = {round(float(part.mean[0] + side * part.matrix[0, 0]), 12) for part in parts for side in (-1, 1)}
    assert {-1.0, 0.0, 1.0} <= ends


def test_noise_and_low_orders_keep_the_frames_that_they_had():
    for more, solver in (({"noise": {"kappa": 10}}, {}), ({}, {"order": 5})):
        run = solved({**EXPANDING, **more}, [0.1], kind="finite-volume", cells=64, **solver)
        assert "edges" not in run.layout.fields["density"].attributes


CROSSED = {
    "geometry": {"kind": "line"},
    "attention": {
        "kind": "multi-head",
        "heads": [{"kind": "relu", "A": 1, "V": -1}, {"kind": "l2", "Q": 1, "K": 1, "V": 0.5}],
    },
    "initial": {"kind": "uniform", "box": [[-1, 1.2]]},
}


def test_a_kink_that_tokens_cross_is_told():
    """The origin of ReLU attention moves with another head: a cut there left half of the peak, and was not told."""
    run = solved(CROSSED, [1.0], kind="finite-volume", tolerance=1e-4, cells=128)
    exact = solved(CROSSED, [1.0], kind="characteristics", tolerance=1e-4)
    points = np.linspace(-1.05, 1.19, 150)[:, None]
    off = np.abs(run.measure(-1).evaluate(points) - exact.measure(-1).evaluate(points)).max()
    assert off < 0.01
    assert run.outcome.accuracy.kept is False
    assert run.outcome.accuracy.estimate > 0.3 * off


@pytest.mark.parametrize(
    "blocks",
    [
        {"interaction": {"expression": "exp(-r**2)"}, "initial": {"kind": "uniform", "box": [[-1, 1.2]]}},
        {
            "attention": {"kind": "softmax", "A": 1, "V": -1},
            "initial": {
                "kind": "mixture",
                "components": [
                    {"kind": "uniform", "box": [[-1, 1]]},
                    {"kind": "gaussian", "mean": 1.5, "covariance": 0.09},
                ],
            },
        },
        {
            "attention": {"kind": "softmax", "A": 1, "V": -1},
            "initial": {
                "kind": "mixture",
                "components": [
                    {"kind": "gaussian", "mean": 0, "covariance": 0},
                    {"kind": "gaussian", "mean": 1.5, "covariance": 0.09},
                ],
            },
        },
    ],
)
def test_edges_that_no_cells_follow_are_for_characteristics(blocks):
    run = solved({"geometry": {"kind": "line"}, **blocks}, [0.1], kind="auto")
    assert run.problem.solver.kind == "characteristics"
    assert "auto took characteristics: " in run.outcome.message
    assert run.outcome.accuracy.kept


@pytest.mark.parametrize("tolerance", [1e-9, 1e-4])
def test_square_roots_at_the_ends_are_for_characteristics(tolerance):
    """Wigner's semicircle, M_2 = 1/4, which linear attention scales by 1 / sqrt(1 + 2 t M_2)."""
    blocks = {
        "geometry": {"kind": "line"},
        "attention": {"kind": "linear", "A": 1, "V": -1},
        "initial": {"kind": "density", "expression": "sqrt(maximum(0, 1 - x**2))"},
    }
    run = solved(blocks, [1.0], kind="auto", tolerance=tolerance)
    assert run.problem.solver.kind == "characteristics"
    scale, points = 1.5**-0.5, np.linspace(-0.99, 0.99, 67)
    density = run.measure(-1).evaluate(scale * points[:, None])
    assert np.abs(density * scale - 2 / np.pi * np.sqrt(1 - points**2)).max() < 10 * tolerance
    assert abs(run.measure(-1).covariance[0, 0] - scale**2 / 4) < 10 * tolerance


@pytest.mark.parametrize("text", ["maximum(0, 1 - r**2)**2/4", "r"])
def test_kinks_that_tokens_cross_stay_with_finite_volumes(text):
    uniform = {"kind": "uniform", "box": [[-1, 1]]}
    problem = {"geometry": {"kind": "line"}, "interaction": {"expression": text}, "initial": uniform}
    run = solved(problem, [0.01], kind="auto")
    assert run.problem.solver is None or run.problem.solver.kind == "auto"
    assert run.outcome.accuracy.kept is False


def test_a_narrow_law_that_moves_as_a_whole_keeps_its_density():
    """Linear attention scales it, by many of its extents within a step where it is far from the origin."""
    width, low, high = 1e-3, 20.0, 20.001
    attention = {"kind": "linear", "A": 1e-3, "V": -1}
    blocks = {"geometry": {"kind": "line"}, "attention": attention, "initial": {"kind": "uniform", "box": [low, high]}}
    second = (high**3 - low**3) / (3 * width)
    measure = solved(blocks, [4.0], kind="characteristics", tolerance=1e-8).measure(-1)
    scale = 1 / np.sqrt(1 + 8e-3 * second)  # L' = -a M L^3, M the second moment
    found = measure.evaluate(scale * np.linspace(low, high, 7)[1:-1])
    assert found == pytest.approx(1 / (scale * width), rel=1e-6)
    assert measure.entropy() == pytest.approx(np.log(scale * width), abs=1e-6)
