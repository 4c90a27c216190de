"""The file is what interface.md says, and xarray opens it as it is."""

import json
import warnings

import h5py
import numpy as np
import pytest
from store.heat import Heat, problem, solve
from store.processes import assert_same

import mfpde


@pytest.fixture
def run(tmp_path) -> mfpde.Run:
    return solve(problem(), tmp_path / "run.h5")


@pytest.fixture
def own_times(tmp_path) -> mfpde.Run:
    return solve(problem(observe_every=0.07), tmp_path / "own.h5", Heat(finer=(0.9,)))


def test_attributes(run):
    with h5py.File(run.path) as file:
        attributes = dict(file.attrs)
    assert attributes["Conventions"] == "CF-1.11"
    assert attributes["title"] == "heat"
    assert attributes["source"] == f"mfpde {mfpde.__version__}"
    assert attributes["mfpde_format"] == 1
    assert attributes["status"] == b"finished"
    assert json.loads(attributes["outcome"])["time"] == 2.0
    assert attributes["problem"] == run.problem.to_yaml()
    assert attributes["problem_hash"] == problem().content_hash
    assert attributes["history"]


def test_datasets(own_times):
    with h5py.File(own_times.path) as file:
        assert set(file) == {
            *("time", "observe_time", "theta", "theta_bounds", "bound", "mode", "weight", "density"),
            *("mass", "modes-cosine", "modes-sine", "checkpoint", "provenance", "checksum"),
        }
        assert file["time"].maxshape == (None,)
        assert np.isnan(file["time"].fillvalue)
        assert file["density"].chunks == (21, 64)  # as many rows as the run is to have: they make less than 64 kB
        assert file["density"].dtype == np.float64
        assert file["mass"].chunks == (30,)
        assert set(file["checkpoint"]) == {"0", "1"}
        assert {"snapshot", "observation", "time"} <= set(file["checkpoint/0"].attrs)
        assert file["provenance/versions"].attrs["numpy"] == np.__version__
        assert file["theta"].attrs["units"] == "radian"
        np.testing.assert_allclose((file["density"][:] * file["weight"][:]).sum(axis=1), 1)
        inside = file["theta_bounds"][:].T
        assert (inside[0] < file["theta"][:]).all()
        assert (file["theta"][:] < inside[1]).all()


def test_exactly_one_scale_per_axis_in_the_root(own_times):
    with h5py.File(own_times.path) as file:
        for name, dataset in file.items():
            if isinstance(dataset, h5py.Dataset) and not dataset.is_scale:
                for axis in dataset.dims:
                    assert len(axis) == 1, name
                    assert axis[0].parent == file
        scales = {name for name, dataset in file.items() if isinstance(dataset, h5py.Dataset) and dataset.is_scale}
    assert scales == {"time", "observe_time", "theta", "mode", "bound"}


@pytest.mark.parametrize("name", ["run", "own_times"])
def test_xarray_opens_it(name, request):
    import xarray

    run = request.getfixturevalue(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = xarray.open_dataset(run.path, engine="h5netcdf")
    with dataset:
        assert dataset.density.dims == ("time", "theta")
        series_time = "time" if name == "run" else "observe_time"
        assert dataset.mass.dims == (series_time,)
        assert dataset["modes-cosine"].dims == (series_time, "mode")
        assert dataset.weight.dims == ("theta",)
        assert dataset.time.dtype == np.float64
        assert set(dataset.coords) == {"time", "theta", "mode", series_time}
        np.testing.assert_array_equal(dataset.time, run.times)
        np.testing.assert_array_equal(dataset.density, run.density)
        np.testing.assert_array_equal(dataset.theta, run.axis("theta"))
        np.testing.assert_array_equal(dataset.mode, [1, 2, 3])
        assert dataset.attrs["status"] == "finished"
        assert dataset.time.attrs["units"] == "1"


def test_a_file_and_memory_hold_the_same_bits(tmp_path):
    for number, block in enumerate([{}, {"observe_every": 0.07}, {"save": False, "save_every": None}]):
        for finer in [(), (0.5,), (0.5, 1.0), (0.5, 0.52)]:
            settings = Heat(finer=finer)
            path = tmp_path / f"{number}-{len(finer)}-{sum(finer)}.h5"
            assert_same(solve(problem(**block), path, settings), solve(problem(**block), None, settings))


def test_equal_runs_give_equal_data(tmp_path):
    runs = [solve(problem(), tmp_path / name, Heat(finer=(1.0,))) for name in ("a.h5", "b.h5")]
    assert_same(*runs)


def test_refining_keeps_the_densities(tmp_path):
    coarse = solve(problem(), None)
    fine = solve(problem(), tmp_path / "run.h5", Heat(finer=(0.95,)))
    assert fine.density.shape == (21, 64)
    np.testing.assert_allclose(fine.density[:, ::2], coarse.density, atol=1e-9)
    with h5py.File(fine.path) as file:
        assert file["theta"].shape == (64,)
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def test_series_of_different_lengths_have_axes_of_their_own(tmp_path):
    from mfpde.store.layouts import extent_scale

    path = tmp_path / "axes.h5"
    with h5py.File(path, "w") as file:
        names = [extent_scale(file, "mode", size).name for size in (3, 5, 3)]
    assert names == ["/mode", "/mode_5", "/mode"]


def test_arrays_are_read_when_looked_at(run, monkeypatch):
    loaded = mfpde.load(run.path)
    stored = loaded.stored["density"]
    assert stored._kept is None
    np.testing.assert_array_equal(stored[-1], run.density[-1])
    np.testing.assert_array_equal(stored[np.int64(3)], run.density[3])
    np.testing.assert_array_equal(stored[2:5], run.density[2:5])
    assert len(stored) == 21
    assert stored.shape == (21, 32)
    with pytest.raises(IndexError):
        stored[21]
    assert isinstance(loaded.density, np.ndarray)
    assert loaded.measure(-1).mean == pytest.approx(run.measure(20).mean)
    with pytest.raises(mfpde.MfpdeError, match=r"was not observed.*observed: mass"):
        loaded["mas"]


def test_a_loaded_run_notices_that_its_file_changed(run):
    loaded = mfpde.load(run.path)
    solve(problem(until=1), run.path, force=True)
    with pytest.raises(mfpde.MfpdeError, match="has changed since it was loaded"):
        loaded.stored["density"][0]
    assert len(mfpde.load(run.path).times) == 11


def test_a_large_problem_fits_in_its_file(tmp_path):
    values = np.linspace(0, 6, 8000)
    task = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "circle"},
            "noise": {"kappa": 1},
            "initial": {"kind": "points", "values": values},
            "time": {"until": 1, "save_every": 0.5},
        }
    )
    run = solve(task, tmp_path / "run.h5")
    assert mfpde.load(run.path).problem == task


def test_storing_a_row_takes_few_calls(tmp_path, calls, monkeypatch):
    """About 60 of functions: rows are written many at a time, by the clock; a hundred here, where nobody is to wait."""
    monkeypatch.setattr("mfpde.store.writer.FileRecorder._due", lambda recorder: len(recorder.rows) > 100)

    def storing(until):
        task, solver = problem(until=until, save_every=0.01), Heat(step=1.0, points=256)
        return calls(lambda: solve(task, tmp_path / f"{until}.h5", solver)) - calls(lambda: solve(task, None, solver))

    storing(1)  # what is loaded and compiled once
    assert storing(10) - storing(5) < 100 * 500
