"""A run as a labelled dataset."""

import sys

import numpy as np
import pytest

from mfpde.errors import MfpdeError
from mfpde.problem import Problem

xarray = pytest.importorskip("xarray")


def test_density_series_and_weights_have_their_dimensions(run):
    dataset = run.to_xarray()
    assert dataset.density.dims == ("time", "theta")
    assert dataset["order-parameter"].dims == ("time",)
    assert dataset["modes-cosine"].dims[0] == "time"
    assert dataset.theta.attrs == {"long_name": "angle", "units": "radian"}
    np.testing.assert_array_equal(dataset.time, run.times)
    np.testing.assert_array_equal(dataset.density, run.density)
    np.testing.assert_allclose((dataset.density * dataset.weight).sum("theta"), 1)


def test_series_with_times_of_their_own(make_run):
    dataset = make_run(series={"entropy": np.arange(9.0)}, series_times=np.linspace(0, 2, 9)).to_xarray()
    assert dataset.entropy.dims == ("observe_time",)
    np.testing.assert_array_equal(dataset.observe_time, np.linspace(0, 2, 9))


def test_attributes_say_what_it_is_and_fit_into_a_file(run, tmp_path):
    dataset = run.to_xarray()
    path = tmp_path / "problem.yaml"
    path.write_text(dataset.attrs["problem"], encoding="utf-8")
    assert Problem.from_yaml(path) == run.problem
    assert dataset.attrs["outcome"] == "finished at t = 2"
    assert dataset.attrs["seed"] == 0
    assert np.__version__ in dataset.attrs["versions"]
    dataset.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    with xarray.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as again:
        np.testing.assert_array_equal(again.density, run.density)


def test_without_xarray_the_error_says_how_to_get_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(MfpdeError, match=r'pip install "mfpde\[analysis\]"'):
        run.to_xarray()
