"""Runs held against something else that knows the solution."""

import numpy as np
import pytest
from scipy.special import erf
from store.drifting import Drift, Drifting, problem, solve
from store.processes import assert_same

import mfpde
from mfpde.comparing.gaussian_closed_form import GaussianClosedForm
from mfpde.contracts import Agreement
from mfpde.errors import ProblemError
from mfpde.measure import CircleDensity, GridDensity, Normal, Panel
from mfpde.registry import lookup

LINE, PLANE = mfpde.Line(), mfpde.Plane()


def task(dimension=1, **compare):
    block = {"kind": "gaussian-closed-form", **compare}
    return problem(dimension).model_copy(update={"compare": GaussianClosedForm.model_validate(block)})


@pytest.fixture(autouse=True)
def companion(monkeypatch):
    """The stand-in as its own companion: the closed form of what its grids show."""
    monkeypatch.setattr(GaussianClosedForm, "solver", lambda *_: Drift("gaussian"))


@pytest.mark.parametrize("form", ["grid", "panels"])
@pytest.mark.parametrize("distance", ["mean", "covariance", "l1", "maximum", "bures"])
def test_the_distance_is_a_series(tmp_path, form, distance):
    run = solve(task(2, distance=distance, tolerance=1e-4), tmp_path / "run.h5", Drift(form))
    assert run["distance"].shape == (11,)
    agreement = mfpde.load(run.path).agreement
    assert agreement == run.agreement
    assert agreement.worst == run["distance"].max()
    assert agreement.time == run.times[run["distance"].argmax()]
    assert agreement.passed == (form == "grid")  # the frames hold something else
    assert agreement.worst < 1e-6 if form == "grid" else agreement.worst > 1e-2


@pytest.mark.parametrize("distance", ["wasserstein-1", "wasserstein-2", "energy", "l1", "max"])
def test_every_kind_on_the_line(tmp_path, distance):
    """`max` is what files of before say for `maximum`."""
    run = solve(task(1, distance=distance, tolerance=1e-4), tmp_path / "run.h5", Drift("grid"))
    assert run.agreement.passed
    assert run.agreement.distance == {"max": "maximum"}.get(distance, distance)
    assert mfpde.load(run.path).agreement == run.agreement


def test_a_distance_for_another_space_is_a_fault():
    with pytest.raises(ProblemError, match=r"compare: .* the spherical-sliced distance is for sphere, not for line"):
        solve(task(1, distance="spherical-sliced"), None, Drift("grid"))


def test_distances_are_drawn_first_and_in_decades():
    (series,) = GaussianClosedForm().series().values()
    assert (series.scale, series.leads) == ("magnitude", True)


def test_a_resumed_run_is_compared_by_the_same_steps(tmp_path):
    whole = solve(task(), tmp_path / "whole.h5", Drift())
    solve(task(), tmp_path / "run.h5", Drift(lost=0.55))
    assert_same(solve(task(), tmp_path / "run.h5", Drift(), resume=True), whole)


def test_a_companion_that_ends_is_infinitely_far(monkeypatch):
    monkeypatch.setattr(GaussianClosedForm, "solver", lambda *_: Drift("gaussian", lost=0.55))
    run = solve(task(), None)
    assert np.isfinite(run["distance"][:6]).all()
    assert np.isinf(run["distance"][6:]).all()
    assert not run.agreement.passed
    assert run.outcome.kind == "finished"
    told = (
        "tends to infinity; gaussian-closed-form ends at t = 0.56, nothing to compare with after that: resolution lost"
    )
    assert run.outcome.message == f"{told}: too narrow"


def test_a_companion_that_fails_is_not_the_run_that_fails(monkeypatch):
    class Overflowing(Drifting):
        def _step(self, stop):
            if stop > 0.55:
                raise ProblemError.at("attention", "overflows: e^800")
            super()._step(stop)

    monkeypatch.setattr(Drift, "start", lambda self, task: (Overflowing if self.step == 1 else Drifting)(self, task))
    monkeypatch.setattr(GaussianClosedForm, "solver", lambda *_: Drift("gaussian", step=1))
    run = solve(task(), None)
    assert run.outcome.kind == "finished"
    assert run.outcome.message.endswith("t = 0.5, nothing to compare with after that: overflows: e^800")
    assert np.isinf(run["distance"][6:]).all()


def test_a_companion_that_cannot_start_is_a_fault_of_the_comparison(monkeypatch):
    def start(self, task):
        if self.step == 1:
            raise ProblemError.at("initial", "has no nodes")
        return Drifting(self, task)

    monkeypatch.setattr(Drift, "start", start)
    monkeypatch.setattr(GaussianClosedForm, "solver", lambda *_: Drift("gaussian", step=1))
    with pytest.raises(ProblemError, match=r"^compare: gaussian-closed-form cannot be compared with: has no nodes"):
        solve(task(), None)


def test_without_a_comparison():
    assert solve(problem(until=0.2), None).agreement is None


def test_what_cannot_be_compared():
    with pytest.raises(ProblemError, match=r"compare: .* the l1 distance needs a density on a grid, and the drift"):
        solve(task(), None, Drift("gaussian"))


def test_the_worst_is_what_counts():
    compared = GaussianClosedForm(distance="l1", tolerance=0.5)
    times = np.array([0.0, 1.0, 2.0])
    assert compared.agreement(times, np.array([0.1, 0.5, 0.2])) == Agreement(
        "gaussian-closed-form", "l1", 0.5, 1.0, 0.5
    )
    assert compared.agreement(times, np.array([0.1, 0.5, 0.2])).passed
    assert not compared.agreement(times, np.array([0.1, 0.6, 0.2])).passed
    assert not compared.agreement(times, np.array([0.1, np.nan, 0.2])).passed


def apart(kind, measure, reference):
    return lookup("distance", kind)().between(measure, reference)


# -- distances


def grid(law, averages=True, shift=0.0, reach=9.0, cells=120):
    lattice = mfpde.Lattice.of([(np.arange(cells) + 0.5) * 2 * reach / cells - reach + shift] * law.ambient_dimension)
    values = law.cell_averages(lattice) if averages else law.evaluate(lattice.points()).reshape(lattice.shape)
    return GridDensity([Panel(lattice, values, averages)])


@pytest.mark.parametrize("averages", [True, False])
def test_densities_apart(averages):
    one, other = Normal(0.0, 1.0, LINE), Normal(0.5, 1.0, LINE)
    found = grid(one, averages, cells=7200)  # 0.0025 wide: they are off by 3e-7
    # total variation of two Gaussians
    assert apart("l1", found, other) == pytest.approx(2 * erf(0.25 / np.sqrt(2)), rel=1e-6)
    assert apart("l1", found, one) < 1e-12
    assert apart("maximum", found, one) < 1e-12
    x = np.linspace(-6, 6, 100001)
    expected = np.abs(one.evaluate(x) - other.evaluate(x)).max() / other.evaluate([0.5])[0]
    assert apart("maximum", found, other) == pytest.approx(expected, rel=1e-6)


def test_what_lies_outside_of_the_box_counts():
    far = Normal(100.0, 1.0, LINE)
    assert apart("l1", grid(Normal(0.0, 1.0, LINE)), far) == pytest.approx(2.0, abs=1e-12)


def test_panels_that_overlap_are_one_density():
    covariance = [[1.0, 0.3], [0.3, 0.5]]
    law, other = Normal([0.0, 0.5], covariance, PLANE), Normal([0.5, 0.5], covariance, PLANE)
    half = [
        Panel(panel.lattice, panel.values / 2, averages=True)
        for panel in (*grid(law).panels, *grid(law, shift=0.05).panels)
    ]
    assert apart("l1", GridDensity(half), law) < 1e-7
    away = 0.5 * np.sqrt(np.linalg.inv(covariance)[0, 0])  # of one mean from the other, in standard deviations
    assert apart("l1", GridDensity(half), other) == pytest.approx(2 * erf(away / np.sqrt(8)), rel=1e-4)


def test_moments_apart():
    one, other = Normal([3.0, 4.0], np.diag([7.0, 4.0]), PLANE), Normal([3.0, 5.0], np.diag([9.0, 4.0]), PLANE)
    assert apart("mean", one, other) == pytest.approx(1 / np.sqrt(34 + 13))
    assert apart("covariance", one, other) == pytest.approx(2 / 9)


def test_densities_on_the_circle():
    one, other = CircleDensity.of([1.0, 0.25]), CircleDensity.of([1.0, 0.2])
    assert apart("l1", one, other) == pytest.approx(0.1 * 4 / (2 * np.pi), rel=1e-5)
    assert apart("maximum", one, other) == pytest.approx(0.1 / 1.4, rel=1e-5)
