"""Every form of snapshot: in memory and in files, opened by xarray, resumed, and read back as the same measure."""

import warnings

import h5py
import numpy as np
import pytest
from store.drifting import FORMS, Drift, Drifting, problem, solve
from store.processes import assert_same

import mfpde
from mfpde.errors import MfpdeError

BOTH = pytest.mark.parametrize("dimension", [1, 2], ids=["line", "plane"])
ALL = pytest.mark.parametrize("form", FORMS)


@BOTH
@ALL
def test_a_file_and_memory_hold_the_same_bits(tmp_path, form, dimension):
    task = problem(dimension)
    run = solve(task, tmp_path / "run.h5", Drift(form))
    assert_same(run, solve(task, None, Drift(form)))
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


@BOTH
@ALL
def test_resumed_runs_hold_the_same_bits(tmp_path, form, dimension):
    task, path = problem(dimension), tmp_path / "run.h5"
    solve(task, path, Drift(form, lost=0.55))
    assert len(mfpde.load(path).times) == 6
    assert_same(solve(task, path, Drift(form), resume=True), solve(task, None, Drift(form)))


@ALL
def test_a_later_end_keeps_everything(tmp_path, form):
    path = tmp_path / "run.h5"
    solve(problem(until=0.5), path, Drift(form))
    assert_same(solve(problem(), path, Drift(form), resume=True), solve(problem(), None, Drift(form)))


@BOTH
@ALL
def test_xarray_opens_it(tmp_path, form, dimension):
    import xarray

    task = problem(dimension, observe=["mean", "covariance"])
    run = solve(task, tmp_path / "run.h5", Drift(form))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xarray.open_dataset(run.path, engine="h5netcdf") as dataset:
            for name, rows in run.stored.items():
                assert dataset[name].dims == ("time", *run.layout.fields[name].dimensions)
                np.testing.assert_array_equal(dataset[name], rows)
            for name, constant in run.layout.constants.items():
                np.testing.assert_array_equal(dataset[name], constant.values)
            for name, rows in run.trail.items():
                np.testing.assert_array_equal(dataset[name], rows)
                assert dataset[name].dims[0] == "step"
            assert dataset.covariance.dims == ("time", "component", "column")
            for name, variable in mfpde.load(run.path).to_xarray().items():
                assert variable.dims == dataset[name].dims
                np.testing.assert_array_equal(variable, dataset[name])
                assert variable.attrs == {key: dataset[name].attrs[key] for key in variable.attrs}


@BOTH
@ALL
def test_measures_are_those_the_solver_had(tmp_path, form, dimension):
    task = problem(dimension)
    run = solve(task, tmp_path / "run.h5", Drift(form))
    living = Drifting(Drift(form), task)
    while living.time < task.time.until:
        living.advance(task.time.until, 0)
    last, loaded = run.measure(-1), mfpde.load(run.path).measure(-1)
    expected = living.measure()
    assert type(loaded) is type(last) is type(expected)
    assert [p.averages for p in getattr(loaded, "panels", ())] == [p.averages for p in getattr(expected, "panels", ())]
    assert loaded.geometry == task.geometry
    for measure in (last, loaded):
        # where rows end changes the bits of this stand-in
        np.testing.assert_allclose(measure.mean, expected.mean, rtol=1e-7)
        np.testing.assert_allclose(measure.covariance, expected.covariance, rtol=1e-7)
    np.testing.assert_array_equal(loaded.mean, last.mean)


def test_boxes_that_grow_keep_their_cells(tmp_path):
    task = problem(2)
    run = solve(task, tmp_path / "run.h5", Drift("grid"))
    first = Drifting(Drift("grid"), task)
    inner = [np.isin(run.axis(name), axis.values) for name, axis in zip("xy", first.layout.axes, strict=True)]
    assert 0.3 < inner[0].mean() < 0.9
    np.testing.assert_array_equal(run.density[0][np.ix_(*inner)], first.fields()["density"])
    assert run.density[0].sum() == pytest.approx(first.fields()["density"].sum(), rel=1e-14)
    np.testing.assert_allclose(np.diff(run.axis("x")), 0.25)
    np.testing.assert_allclose((run.density * run.weight).sum(axis=(1, 2)), 1, atol=1e-8)


def test_panels_have_weights_of_their_own(tmp_path):
    run = solve(problem(2), tmp_path / "run.h5", Drift("panels"))
    assert run.density.shape == run.weight.shape == (11, 2, 40, 42)
    masses = (run.density * run.weight).sum(axis=(2, 3))
    np.testing.assert_allclose(masses, np.tile([0.25, 0.75], (11, 1)), rtol=0.05)
    assert run.measure(3).mass == pytest.approx(masses[3].sum(), rel=1e-14)


def test_positions_of_panels_are_kept(tmp_path):
    from mfpde.solvers.forms import panels_layout

    class Masked(Drifting):
        @property
        def layout(self):
            return panels_layout(self._axes(), panels=2, positions=np.array([0.0, 0.5]))

    class Settings(Drift):
        def start(self, task):
            return Masked(self, task)

    run = solve(problem(), tmp_path / "run.h5", Settings("panels"))
    assert [panel.position for panel in mfpde.load(run.path).measure(2).panels] == [0.0, 0.5]


def test_particles():
    run = solve(problem(2), None, Drift("particles"))
    assert run.positions.shape == (11, 7, 2)
    assert run.weights.sum() == pytest.approx(1)
    np.testing.assert_array_equal(run.measure(-1).points, run.positions[-1])


def test_the_trail_reaches_the_last_snapshot(tmp_path):
    run = solve(problem(), tmp_path / "run.h5", Drift("trail"))
    times = np.asarray(run.trail["path_time"])
    assert (np.diff(times) > 0).all()
    assert set(run.times) <= set(times)
    np.testing.assert_array_equal(np.asarray(run.trail["path_position"])[-1], run.positions[-1])
    with h5py.File(run.path) as file:
        np.testing.assert_array_equal(file["step"], np.arange(times.size))


@pytest.mark.parametrize(
    ("form", "name", "message"),
    [
        (
            "gaussian",
            "density",
            "no density, it holds gaussian_mean, gaussian_covariance, gaussian_factor; run.measure",
        ),
        ("particles", "density", "this run has no density, it holds position; run.measure"),
        ("particles", "weight", "no weight on a grid.*run.weights"),
        ("grid", "positions", "no position, it holds density; only particles"),
        ("grid", "weights", "no weights"),
    ],
)
def test_what_a_run_does_not_have(form, name, message):
    run = solve(problem(until=0.2), None, Drift(form))
    with pytest.raises(MfpdeError, match=message):
        getattr(run, name)


def test_axes_by_name():
    run = solve(problem(2, until=0.2), None, Drift("grid"))
    with pytest.raises(MfpdeError, match="this run has the axes x, y, not 'z'"):
        run.axis("z")
    with pytest.raises(MfpdeError, match="this run has no grid: no axis 'x'"):
        solve(problem(until=0.2), None, Drift("gaussian")).axis("x")


def test_a_snapshot_starts_another_run(tmp_path):
    for form in ("grid", "panels", "gaussian", "particles"):
        run = solve(problem(2, until=0.2), tmp_path / f"{form}.h5", Drift(form))
        measure = mfpde.Snapshot(file=str(run.path)).on(run.problem.geometry)
        np.testing.assert_array_equal(measure.mean, run.measure(-1).mean)
