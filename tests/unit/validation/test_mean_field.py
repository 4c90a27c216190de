"""The mean-field limit of a problem: rates that independent tokens have, and systems whose rates are refused."""

import dataclasses
import json

import numpy as np
import pytest

import mfpde
from mfpde.registry import lookup
from mfpde.validation.mean_field import study
from mfpde.validation.mean_field.kept import Kept
from mfpde.validation.mean_field.limit import Limit
from mfpde.validation.mean_field.parting import Parting
from mfpde.validation.mean_field.plan import Plan, no_limit
from mfpde.validation.mean_field.rates import fitted
from mfpde.watching.watch import Watch
from mfpde.workers import InProcess

KURAMOTO = {
    "geometry": {"kind": "circle"},
    "attention": {"kind": "unnormalized", "beta": 0},
    "noise": {"kappa": 1.0},
    "initial": {"kind": "von-mises", "direction": 1, "concentration": 1},
    "time": {"until": 1.0},
}
BOX = {
    "geometry": {"kind": "plane"},
    "attention": {"kind": "softmax", "A": [[1, 0.5], [0, 1]], "V": -1},
    "initial": {"kind": "uniform", "box": [[-1, 1], [-1, 1]]},
    "time": {"until": 0.5},
}
WIDE = {
    "geometry": {"kind": "line"},
    "attention": {"kind": "softmax", "A": 2.0, "V": -1.0},
    "initial": {"kind": "gaussian", "mean": 0, "covariance": 1.0},
    "time": {"until": 0.2},
}
COUNTS = (50, 200, 800, 3200)


def planned(data, counts=COUNTS, repeats=24):
    return Plan.of(mfpde.Problem.from_dict(data), counts, repeats, quick=True, seconds=None)


def studied(plan, **given):
    with Watch(0, False) as watch:
        return study.examine_limit(plan, watch, **given)


@pytest.fixture(scope="module", autouse=True)
def workers():
    """In this process: others, which tests/cli/test_validating.py has, take seconds to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "workers_for", lambda _: InProcess())
        yield


@pytest.fixture(scope="module")
def kuramoto():
    return studied(planned(KURAMOTO, (50, 200, 800)))


def test_independent_tokens_have_the_rates_of_theory(kuramoto, tmp_path):
    assert kuramoto.failed == ()
    assert set(kuramoto.rates) == {"smooth observables", "wasserstein-1", "wasserstein-2", "energy"}
    for rate in kuramoto.rates.values():
        assert rate.expected == -0.5
        assert rate.interval[0] - 0.05 <= -0.5 <= rate.interval[1] + 0.05
        assert np.ptp(rate.interval) < 0.2
    assert any("the solution is the mean" in check.claim for check in kuramoto.checks)
    page = kuramoto.write(tmp_path).read_text()
    assert "data:image/png" in page
    assert json.loads((tmp_path / "report.json").read_text())["rates"]["energy"]["kept"] is True


def test_a_biased_system_is_refused():
    plan = planned(KURAMOTO, (50, 200, 800))
    tokens = {**plan.tokens, "noise": {"kappa": 1.6}}
    report = studied(dataclasses.replace(plan, tokens=tokens))
    failed = " ".join(check.claim for check in report.failed)
    assert report.rates["smooth observables"].kept is False
    assert report.rates["wasserstein-1"].kept is False
    assert "the solution is the mean" in failed


BIASED = {
    "line": (
        {**WIDE, "attention": {"kind": "softmax", "A": 0.4, "V": -1.0}, "noise": {"kappa": 5}, "time": {"until": 1.0}},
        {"noise": {"kappa": 2.0}},
    ),
    "plane": (BOX, {"attention": {**BOX["attention"], "V": -2.5}}),
    "sphere": (
        {
            **KURAMOTO,
            "geometry": {"kind": "sphere"},
            "initial": {"kind": "von-mises", "direction": [0, 0.6, 0.8], "concentration": 1},
        },
        {"noise": {"kappa": 6.0}},  # with 2 the chance of 800 tokens hides it from W_1, not from smooth observables
    ),
}


@pytest.mark.long
@pytest.mark.parametrize(("problem", "bias"), BIASED.values(), ids=BIASED.keys())
def test_a_biased_system_is_refused_on_every_geometry(problem, bias):
    plan = planned(problem, COUNTS, 24)
    assert studied(plan).failed == ()
    report = studied(dataclasses.replace(plan, tokens={**plan.tokens, **bias}))
    assert report.rates["smooth observables"].kept is False
    assert report.rates["wasserstein-1"].kept is False


def test_a_small_bias_shows_in_the_mean_of_the_repeats():
    """What is smaller than the error of one system is larger than that of the mean of 24."""
    plan = planned(KURAMOTO, (50, 200, 800))
    report = studied(dataclasses.replace(plan, tokens={**plan.tokens, "noise": {"kappa": 1.25}}))
    assert any("the solution is the mean" in check.claim for check in report.failed)


def test_a_plane_has_exact_and_sliced_distances():
    report = studied(planned(BOX, (30, 90, 270), 12))
    assert report.failed == ()
    assert report.rates["wasserstein-1"].logarithm == 0.5
    assert set(report.rates) == {"smooth observables", "wasserstein-1", "sliced-wasserstein-2", "energy"}


TIMES = np.array([0.0, 1.0, 2.0, 3.0])


def parted(growth, level=0.05):
    """Spreads and errors that grow from `level` for 100 tokens, a tenth of that for 10,000."""
    counts = np.array([100.0, 1000.0, 10_000.0])
    grown = level * np.exp(growth * TIMES) * (100 / counts[:, None]) ** 0.5
    return Parting(TIMES, counts, grown, grown)


def test_few_tokens_part_and_the_most_follow_to_the_end():
    parting = parted(0.7)
    assert parting.when == 2.0
    assert parting.parted == 0
    assert parting.later == np.inf  # nothing to be checked: the most are at 0.04 then


def test_a_figure_without_rates(tmp_path):
    """Where tokens part from the solution at once."""
    tokens = mfpde.Particles(np.linspace(0, 6, 50)[:, None], geometry=mfpde.Circle())
    errors = [(count, np.full(4, 0.5), np.full(4, 0.1)) for count in (100, 300, 900)]
    with lookup("view", "look")():
        figure = lookup("view", "empty")(5.6)
        lookup("view", "mean-field")([], TIMES, errors, [(0.0, tokens, tokens)], figure)
        figure.savefig(tmp_path / "none.png")


def test_a_limit_along_characteristics_is_traced_back_once():
    data = {**WIDE, "initial": {"kind": "uniform", "box": [[-1, 1]]}}
    run = mfpde.solve(mfpde.Problem.from_dict({**data, "solver": {"kind": "characteristics", "tolerance": 1e-6}}))
    limit = Limit.of(run)
    beside = limit.beside(1, 50, 1)
    assert limit.beside(1, 50, 2) is beside
    np.testing.assert_allclose(beside.covariance, run.measure(1).covariance, rtol=1e-6)
    assert np.ptp(beside.nodes()[1]) == 0


def test_the_time_of_parting_grows_with_the_logarithm_of_n():
    """The error `a n^-1/2 e^{g t}` passes a level later by `log(N / n) / (2 g)`."""
    parting = parted(2.0)
    first = np.log(0.15 / 0.05) / 2.0
    assert parting.later == pytest.approx((first + np.log(10.0) / 2.0) / first, rel=1e-12)


def test_a_bias_that_does_not_fall_with_n_parts_at_once():
    parting = parted(2.0)
    biased = dataclasses.replace(parting, errors=np.full_like(parting.errors, 0.05) * np.exp(2 * TIMES))
    assert biased.later == pytest.approx(1.0, abs=1e-12)


def test_where_the_law_of_large_numbers_fails_nothing_is_claimed():
    report = studied(planned(WIDE, (50, 200, 800), 8))
    assert report.rates["wasserstein-1"].expected is None
    assert report.rates["wasserstein-1"].kept is None
    assert any("|S A| = 2" in note for note in report.notes)
    assert not any("smooth observables: errors fall" in check.claim for check in report.checks)


def test_fluctuations_about_the_uniform_state():
    data = {**KURAMOTO, "initial": {"kind": "uniform"}, "time": {"until": 4.7}}
    report = studied(planned(data, (10, 20, 1000), 12))  # the many have Gaussian fluctuations
    found = {check.claim.split()[1]: check for check in report.checks if "linear theory" in check.claim}
    assert [found[f"E|c_{k}|^2"].expected for k in (1, 2, 3)] == pytest.approx([1 / (1 - 1 / 2), 1, 1])
    assert all(check.passed for check in found.values())


def test_fluctuations_of_few_tokens_are_not_held_against_linear_theory():
    report = studied(planned({**KURAMOTO, "initial": {"kind": "uniform"}, "time": {"until": 4.7}}, (10, 20, 40), 4))
    assert not any("linear theory" in check.claim for check in report.checks)


def test_a_bent_line_has_no_rate():
    counts = np.array([100.0, 1000.0, 10_000.0, 100_000.0])
    straight, bent = counts**-0.5, np.hypot(counts**-0.5, 0.01)
    assert fitted("error", counts, straight, 0.05 * straight, expected=-0.5, repeats=32).kept is True
    assert fitted("error", counts, bent, 0.05 * bent, expected=-0.5, repeats=32).kept is False
    slow = counts**-0.35
    assert fitted("error", counts, slow, 0.05 * slow, expected=-0.5, repeats=32).kept is False


def test_measurements_are_kept_and_not_made_again(tmp_path):
    plan, path = planned(KURAMOTO, (20, 40, 80), 4), tmp_path / "problem.measurements.jsonl"
    first = studied(plan, kept=path)
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 1 + 3 * 4
    path.write_text("".join(lines[:8]) + lines[8][:20])  # killed while it was writing
    again = studied(plan, kept=path, resume=True)
    found = path.read_text().splitlines(keepends=True)
    assert found[:8] == lines[:8]
    assert len(found) == len(lines)
    assert again.rates["energy"].exponent == first.rates["energy"].exponent
    with pytest.raises(mfpde.MfpdeError, match="was measured for another problem"):
        Kept(path, {"problem": {}, "limit": {}}, resume=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"problem": {}, "limit": {}}\n', "measurements of another version of mfpde; --force"),
        ('{"layout": 1, "problem": {}, "limit": {}}\n', "measurements of another version of mfpde; --force"),
        ("title: a problem\n", "is damaged: 'title: a problem.*' is no measurement; --force"),
        ("[1, 2]\n", "is damaged"),
        ("\xff\n", "cannot be read"),
    ],
)
def test_measurements_of_another_layout_are_refused(text, words, tmp_path):
    path = tmp_path / "problem.measurements.jsonl"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(mfpde.ResumeError, match=words):
        Kept(path, {"problem": {}, "limit": {}}, resume=True)
    assert path.read_text(encoding="latin-1") == text


def test_a_study_killed_at_its_first_line_begins_again(tmp_path):
    path = tmp_path / "problem.measurements.jsonl"
    path.write_text('{"layout"', encoding="utf-8")
    kept = Kept(path, {"problem": {}}, resume=True)
    kept.add({"count": 10, "repeat": 1})
    assert Kept(path, {"problem": {}}, resume=True).measurements == {(10, 1): {"count": 10, "repeat": 1}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"initial": {"kind": "points", "values": [0.0, 1.0]}}, "the initial points are the tokens themselves"),
        ({"noise": {"common": 1.0}, "solver": {"kind": "particles", "count": 9}}, "common noise leaves the measure"),
        ({"noise": {}, "solver": {"kind": "particles", "count": 9, "layers": 3}}, "layers are no flow"),
    ],
)
def test_what_has_no_limit_says_so(changes, words):
    problem = mfpde.Problem.from_dict({**KURAMOTO, **changes})
    assert words in no_limit(problem)
    with pytest.raises(mfpde.MfpdeError, match=f"no mean-field limit to look for: {words}"):
        mfpde.validate(problem, counts=[10, 100, 1000])


def test_statistics_need_numbers():
    problem = mfpde.Problem.from_dict(KURAMOTO)
    with pytest.raises(mfpde.MfpdeError, match="counts: must be at least 3 numbers of tokens, not 2"):
        mfpde.validate(problem, counts=[10, 100])
    with pytest.raises(mfpde.MfpdeError, match="repeats: must be at least 4, not 2"):
        mfpde.validate(problem, repeats=2)
