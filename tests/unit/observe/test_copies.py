"""Observables of independent copies, mergers, and what a file holds of both."""

import numpy as np
import pytest

import mfpde
from mfpde.observe import Instant
from mfpde.registry import lookup

NAMES = ["clusters", "mean-cosine", "cosine-histogram", "energy", "mean-direction", "token-rank", "mergers"]


def copies(count, *, geometry="circle", until=12.0, observe=(), file=None, **solver):
    beta = {"kind": "softmax", "beta": 4}
    return mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": geometry},
                "attention": beta,
                "initial": {"kind": "uniform"},
                "solver": {"kind": "particles", "count": 7, "copies": count, "tolerance": 1e-4, **solver},
                "time": {"until": until, "save_every": until / 4},
                "observe": list(observe),
            }
        ),
        file,
    )


@pytest.mark.parametrize("geometry", ["circle", "sphere"])
def test_every_copy_is_observed_as_if_it_were_alone(tmp_path, geometry):
    run = copies(3, geometry=geometry, observe=NAMES, file=tmp_path / "copies.h5")
    equation = run.problem.equation
    for row, copy in [(0, 0), (2, 1), (4, 2)]:
        alone = mfpde.Particles(run.positions[row, copy], geometry=equation.geometry)
        instant = Instant(run.times[row], alone, equation, lambda: 0.0)
        for name in NAMES:
            for series, value in lookup("observable", name)().evaluate(instant).items():
                np.testing.assert_allclose(run[series][row, copy], value, atol=1e-12, err_msg=series)
    loaded = mfpde.load(tmp_path / "copies.h5")
    assert loaded["clusters-mass"].shape == (5, 3, 16)
    assert loaded.to_xarray()["energy"].dims == ("time", "copy")


def test_density_observables_tell_of_each_copy_under_noise():
    task = {
        "geometry": {"kind": "circle"},
        "attention": {"kind": "unnormalized", "beta": 0},
        "noise": {"kappa": 4},
        "initial": {"kind": "von-mises", "direction": 1, "concentration": 2},
        "solver": {"kind": "particles", "count": 9, "copies": 4, "step": 0.1},
        "time": {"until": 0.4, "save_every": 0.2},
        "observe": ["order-parameter", "residual"],
    }
    run = mfpde.solve(mfpde.Problem.from_dict(task))
    expected = np.abs(np.exp(1j * run.positions[..., 0]).mean(axis=2))
    np.testing.assert_allclose(run["order-parameter"], expected, atol=1e-14)
    assert run["residual"].shape == run.times.shape  # of the run as a whole


@pytest.mark.parametrize("radius", [0.05, 0.8])
def test_merged_copies_have_no_two_tokens_farther_apart(radius):
    run = copies(40, geometry="sphere", until=14.0, observe=[{"kind": "merged-fraction", "radius": radius}])
    apart = np.linalg.norm(run.positions[:, :, :, None] - run.positions[:, :, None], axis=4).max(axis=(2, 3))
    expected = (apart <= radius).mean(axis=1)
    np.testing.assert_array_equal(run["merged-fraction"], expected)
    assert ((expected > 0) & (expected < 1)).any()


def test_a_chain_is_not_a_merged_copy():
    tokens = mfpde.Particles([0.0, 0.04, 0.08], geometry=mfpde.Circle())
    equation = mfpde.Equation(geometry=mfpde.Circle())
    assert lookup("observable", "clusters")().evaluate(Instant(0.0, tokens, equation, lambda: 0.0))["clusters"] == 1
    merged = lookup("observable", "merged-fraction")
    assert merged().evaluate(Instant(0.0, tokens, equation, lambda: 0.0)) == {"merged-fraction": 0.0}
    assert merged(radius=0.081).evaluate(Instant(0.0, tokens, equation, lambda: 0.0)) == {"merged-fraction": 1.0}


@pytest.mark.parametrize("count", [None, 3])
def test_labels_of_the_file_say_which_tokens_are_in_one_place(tmp_path, count):
    solver = {} if count else {"seed": 2}
    run = copies(count, until=40.0, observe=["mergers"], file=tmp_path / "run.h5", **solver)
    loaded = mfpde.load(tmp_path / "run.h5")
    assert 0 < len(loaded.mergers) == len(run.mergers)
    assert (np.diff(loaded.mergers.time) >= 0).all()
    for copy in range(count or 1):
        labels = loaded.mergers.labels(run.times - 1e-9, 7, copy)
        for row, label in enumerate(labels):
            places = run.positions[row, copy, :, 0] if count else run.positions[row, :, 0]
            np.testing.assert_array_equal(label[:, None] == label, places[:, None] == places)
            there = run["mergers"][row, copy] if count else run["mergers"][row]
            assert there == 7 - np.unique(label).size
    dimensions = loaded.to_xarray()["merger_time"].dims
    assert dimensions == ("merger",)


def test_runs_without_mergers_say_so():
    with pytest.raises(mfpde.MfpdeError, match="no mergers"):
        _ = copies(2, until=0.1, merge=0).mergers


def test_the_tree_has_the_times_of_the_mergers():
    run = copies(None, until=40.0, seed=2, observe=["clusters"])
    from mfpde.plotting.cluster_tree import ClusterTree
    from mfpde.plotting.run_plot import portrait_of

    tree = next(panel for panel in portrait_of(run).groups if isinstance(panel, ClusterTree))
    np.testing.assert_array_equal(tree.edges[1:-1], np.unique(run.mergers.time))
    np.testing.assert_array_equal(tree.labels[-1], run.mergers.labels([40.0], 7)[0])
    assert tree.radius is None


def test_figures_show_quartiles_of_copies(tmp_path):
    run = copies(11, observe=["energy", "merged-fraction", "cosine-histogram"])
    figure = run.plot(tmp_path / "copies.png")
    panel = next(axes for axes in figure.axes if axes.get_title(loc="left") == "energy")
    low = next(line for line in panel.get_lines() if line.get_label() == "lower quartile")
    np.testing.assert_allclose(low.get_ydata(), np.quantile(run["energy"], 0.25, axis=1))
