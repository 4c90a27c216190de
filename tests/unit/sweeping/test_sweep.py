"""`mfpde.sweep`: values, rows of points that fail, files that are taken up again."""

import math

import h5py
import numpy as np
import pytest

import mfpde
from mfpde.sweeping.files.sweep_file import SweepFile


def expected(kappa, until):
    return np.exp(-np.asarray(until) / np.asarray(kappa)) / 4


def assert_same(one, other):
    for name in one.names:
        np.testing.assert_array_equal(one[name], other[name])
    np.testing.assert_array_equal(one["outcome"], other["outcome"])


def test_values_over_the_axes(heat, here):
    found = mfpde.sweep(heat())
    np.testing.assert_allclose(found["order-parameter"], expected([[1], [2], [4]], [1, 2]), rtol=1e-7)
    assert found.axis("noise.kappa").tolist() == [1, 2, 4]
    assert found["outcome"].tolist() == [["finished"] * 2] * 3
    assert found.kept() == [True] * 6
    assert np.isnan(found["accuracy"]).all()  # the spectral solver keeps its promise and tells no estimate
    assert (found["seconds"] > 0).all()
    assert str(found.outcome) == "finished"
    assert here.closed


def test_a_point_is_the_run_that_solve_makes(heat, here):
    found = mfpde.sweep(
        heat(collect=["order-parameter", {"observe": "free-energy", "reduce": "series"}], sweep={"noise.kappa": [2]})
    )
    run = mfpde.solve(heat(noise={"kappa": 2}, sweep=None, collect=[], observe=["order-parameter", "free-energy"]))
    assert found["order-parameter"][0] == run["order-parameter"][-1]
    np.testing.assert_array_equal(found["free-energy"][0], run["free-energy"])
    np.testing.assert_array_equal(found.observe_times, run.times)


def test_the_file_is_what_was_computed(heat, here, tmp_path):
    found = mfpde.sweep(heat(), tmp_path / "sweep.h5")
    assert_same(found, mfpde.sweep(heat()))
    again = mfpde.load(tmp_path / "sweep.h5")
    assert_same(found, again)
    assert again.problem == heat()
    assert again.provenance["statistics"]["points"] == 6
    assert again.summary().extent["points"] == "6 of 6"


def test_files_open_with_xarray(heat, here, tmp_path):
    xarray = pytest.importorskip("xarray")
    from mfpde.sweeping.xarray_engine import MfpdeBackend

    block = {"noise.kappa": [1, 2], "zip": {"time.until": [1, 2], "initial.expression": ["1 + 0.5*cos(theta)", "1"]}}
    found = mfpde.sweep(heat(sweep=block), tmp_path / "sweep.h5")
    with xarray.open_dataset(tmp_path / "sweep.h5", engine="h5netcdf") as file:
        assert file["order-parameter"].dims == ("noise.kappa", "time.until")
        assert file["order-parameter"].sel({"noise.kappa": 2, "time.until": 1}) == found["order-parameter"][1, 0]
        assert "initial.expression" in file.coords
        assert file["outcome"].values[0, 0] == b"finished"
    with xarray.open_dataset(tmp_path / "sweep.h5", engine=MfpdeBackend) as file:
        assert file["outcome"].values[0, 0] == "finished"
        assert file["initial.expression"].values.tolist() == ["1 + 0.5*cos(theta)", "1"]


def test_whole_series_have_their_times(heat, here, tmp_path):
    xarray = pytest.importorskip("xarray")
    collect = [{"observe": "order-parameter", "reduce": "series"}]
    mfpde.sweep(heat(sweep={"noise.kappa": [1, 2]}, collect=collect), tmp_path / "sweep.h5")
    with xarray.open_dataset(tmp_path / "sweep.h5", engine="h5netcdf") as file:
        assert file["order-parameter"].dims == ("noise.kappa", "observe_time")
        times = file["observe_time"].values
        np.testing.assert_array_equal(times, [0, 0.25, 0.5, 0.75, 1])
        np.testing.assert_allclose(file["order-parameter"].values, expected([[1], [2]], times), rtol=1e-7)


def test_what_ends_early_is_a_row(heat, here):
    """Attraction without noise on the line blows up, repulsion does not."""
    found = mfpde.sweep(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "line"},
                "attention": {"kind": "softmax", "A": 1, "V": 1},
                "initial": {"kind": "gaussian", "mean": 0, "covariance": 1},
                "solver": {"kind": "gaussian"},
                "time": {"until": 3},
                "sweep": {"attention.V": [-1, 1]},
                "collect": ["covariance"],
            }
        )
    )
    assert found["outcome"].tolist() == ["finished", "blow-up"]
    assert found["message"][1].startswith("blow-up at t = ")
    assert str(found.outcome) == "finished: 1 points ended early"
    assert math.isfinite(found["covariance"][0, 0, 0])
    ((settings, outcome, _),) = found.early()
    assert (settings, outcome) == ({"attention.V": 1}, "blow-up")


def test_what_fails_in_a_combination_only_is_a_row(heat, here):
    """Each value goes with the first of the other key, and the two second ones do not go together."""
    time = {"save_every": [None, 0.25], "save_at": [None, [0.5]]}
    found = mfpde.sweep(heat(sweep={f"time.{key}": values for key, values in time.items()}))
    assert found["outcome"].tolist() == [["finished", "finished"], ["finished", "failed"]]
    assert "save_every and save_at cannot both be given" in found["message"][1, 1]


def test_a_point_has_its_time(heat, here):
    found = mfpde.sweep(heat(sweep={"noise.kappa": [1, 2], "timeout": 1e-9}))
    assert found["outcome"].tolist() == ["timed out"] * 2
    assert found["message"][0] == "not done after 1e-09 s"
    assert np.isnan(found["order-parameter"]).all()


def test_points_whose_workers_die_are_tried_alone_and_then_rows(heat, monkeypatch, here):
    here._dies = lambda points: 4 in points
    monkeypatch.setattr("mfpde.sweeping.batches.Batches._size", lambda self: 1 if self.alone or not self.sent else 3)
    found = mfpde.sweep(heat())
    assert [points for points in here.batches if 4 in points] == [range(4, 6), range(4, 5)]
    assert found["outcome"].reshape(-1).tolist() == ["finished"] * 4 + ["worker died", "finished"]
    assert found["message"][2, 0] == "its worker process died (signal 9)"


def test_a_call_that_does_not_come_back_is_a_row(heat, here):
    here._dies, here.late = (lambda points: 1 in points), True
    found = mfpde.sweep(heat(sweep={"noise.kappa": [1, 2], "timeout": 30}))
    assert found["outcome"].tolist() == ["finished", "timed out"]
    assert found["message"][1] == "one call took longer than 30 s"


def test_points_that_may_come_further_are_tried_again(heat, here, tmp_path, caplog):
    """Those that had no time or lost their worker, not those that failed or blew up."""
    path = tmp_path / "sweep.h5"
    here._dies = lambda points: 0 in points
    blocks = {"time.save_every": [None, 0.25], "time.save_at": [None, [0.5]]}  # the second ones do not go together
    mfpde.sweep(heat(sweep={**blocks, "timeout": 100}), path)
    before = mfpde.load(path)
    assert before["outcome"].tolist() == [["worker died", "finished"], ["finished", "failed"]]
    here._dies = lambda _: False
    here.batches.clear()
    found = mfpde.sweep(heat(sweep={**blocks, "timeout": 200}), path, resume=True)
    assert here.batches == [range(1)]
    assert found["outcome"].tolist() == [["finished", "finished"], ["finished", "failed"]]
    assert "points that are tried again: 1 worker died" in caplog.text
    np.testing.assert_array_equal(found["order-parameter"][1], before["order-parameter"][1])


def test_it_goes_on_with_the_points_that_are_missing(heat, here, tmp_path, monkeypatch):
    path, whole = tmp_path / "sweep.h5", mfpde.sweep(heat())
    add, left = SweepFile.add, iter(range(3))

    def interrupted(self, first, rows):
        add(self, first, rows)
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(SweepFile, "add", interrupted)
    monkeypatch.setattr("mfpde.sweeping.batches.Batches._size", lambda _: 1)
    found = mfpde.sweep(heat(), path)
    assert found.outcome.kind == "interrupted"
    assert "4 of 6 points are there" in str(found.outcome)
    assert found.finished.sum() == 4
    assert np.isnan(found["order-parameter"][~found.finished]).all()
    monkeypatch.setattr(SweepFile, "add", add)
    here.batches.clear()
    assert_same(mfpde.sweep(heat(), path, resume=True), whole)
    assert here.batches == [range(4, 5), range(5, 6)]
    here.batches.clear()
    assert mfpde.sweep(heat(), path, resume=True).outcome.complete
    assert here.batches == []


def test_a_changed_sweep_is_not_taken_up_again(heat, here, tmp_path):
    path = tmp_path / "sweep.h5"
    mfpde.sweep(heat(), path)
    with pytest.raises(mfpde.ResumeError, match=r"sweep.noise.kappa was \[1, 2, 4\] and is \[1, 2\]"):
        mfpde.sweep(
            heat(sweep={"noise.kappa": [1, 2], "time.until": {"from": 1, "to": 2, "count": 2}}), path, resume=True
        )
    with pytest.raises(mfpde.ResumeError, match=r"its axes are noise.kappa, time.until, not time.until, noise.kappa"):
        mfpde.sweep(
            heat(sweep={"time.until": {"from": 1, "to": 2, "count": 2}, "noise.kappa": [1, 2, 4]}), path, resume=True
        )
    with pytest.raises(mfpde.OutputError, match="exists already"):
        mfpde.sweep(heat(), path)


def test_damaged_points_are_noticed_and_made_anew(heat, here, tmp_path):
    path = tmp_path / "sweep.h5"
    whole = mfpde.sweep(heat(), path)
    with h5py.File(path, "r+") as file:
        file["order-parameter"][1, 1] += 1e-9
    with pytest.raises(mfpde.MfpdeError, match="is damaged: point 3 is not what was written"):
        mfpde.load(path)
    here.batches.clear()
    assert_same(mfpde.sweep(heat(), path, resume=True), whole)
    assert here.batches == [range(3, 4)]


def test_runs_are_kept_beside_the_file(heat, here, tmp_path):
    found = mfpde.sweep(heat(sweep={"noise.kappa": [1, 2], "keep": "runs"}, observe=["mass"]), tmp_path / "sweep.h5")
    runs = [mfpde.load(tmp_path / "sweep.runs" / f"{place}.h5") for place in range(2)]
    assert [run.problem.noise.kappa for run in runs] == [1, 2]
    assert [run["order-parameter"][-1] for run in runs] == found["order-parameter"].tolist()
    assert runs[0].density.shape[0] == 5
    assert "mass" in runs[0].series


@pytest.mark.parametrize(
    ("blocks", "told"),
    [
        ({"sweep": None}, "this needs the block sweep"),
        ({"collect": []}, "collect: is missing"),
        ({"sweep": {"noise.kapa": [1]}}, "sweep.noise.kapa: unknown key 'kapa' (did you mean 'kappa'?)"),
        (
            {"sweep": {"noise.kappa": [1, -1]}},
            "sweep.noise.kappa: must be greater than 0, not -1 (for noise.kappa = -1)",
        ),
        (
            {"sweep": {"zip": {"solver.tolernce": [1]}}},
            "sweep.zip.0.solver.tolernce: unknown key 'tolernce' (did you mean",
        ),
        ({"sweep": {"solver.kind": ["spectral", "gaussian"]}}, "gaussian cannot solve this"),
        ({"sweep": {"title.x": [1], "noise.kappa": [1]}}, "sweep.title.x"),
        ({"collect": ["mass", "nematic-order"]}, "collect.1.observe: nematic-order cannot be observed here"),
        ({"sweep": {"noise.kappa": {"from": 1, "to": 2, "count": 10**6}}}, "makes 1,000,000 points, more than 200,000"),
        ({"collect": [{"observe": "mass", "reduce": "series"}]}, "sweep.time.until: cannot be swept"),
    ],
)
def test_what_is_wrong_is_told_before_the_first_point(heat, here, blocks, told):
    with pytest.raises(mfpde.ProblemError) as caught:
        mfpde.sweep(heat(**blocks))
    assert told in str(caught.value)
    assert here.batches == []


def test_vectors_of_one_component_are_drawn(here):
    blocks = {
        "geometry": {"kind": "line"},
        "attention": {"kind": "softmax", "A": 0.5, "V": -1},
        "initial": {"kind": "gaussian", "mean": 1, "covariance": 1},
        "solver": {"kind": "gaussian"},
        "time": {"until": 0.1},
        "sweep": {"attention.V": [-1]},
        "collect": ["covariance", "mean"],
    }
    found = mfpde.sweep(mfpde.Problem.from_dict(blocks))
    drawn = found.plot()
    labels = [axes.get_ylabel() for axes in drawn.axes]
    assert labels == ["covariance", "covariance-eigenvalues", "mean"]
    assert [axes.lines[0].get_ydata().tolist() for axes in drawn.axes] == [[found[name].item()] for name in labels]
