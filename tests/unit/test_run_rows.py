"""What could not be observed is NaN and is told, by a run that goes on, too."""

import numpy as np
import pytest
from store import drifting

import mfpde
from mfpde.errors import ProblemError
from mfpde.observe.mass import Mass
from mfpde.observe.mean import Mean


class Failing(Mean):
    """A mean that has no meaning for a while."""

    def evaluate(self, instant):
        if self.since <= instant.time < self.to:
            raise self.error
        return super().evaluate(instant)


@pytest.fixture
def task(monkeypatch):
    def make(error, since, to):
        for name, value in {"error": error, "since": since, "to": to}.items():
            monkeypatch.setattr(Failing, name, value, raising=False)
        return drifting.problem(observe=["mean", "mass"]).model_copy(update={"observe": (Failing(), Mass())})

    return make


@pytest.mark.parametrize("error", [np.linalg.LinAlgError("Singular matrix"), ZeroDivisionError("Singular matrix")])
def test_a_number_that_there_is_not_is_no_internal_error(task, error):
    run = drifting.solve(task(error, 0.55, np.inf), None)
    assert run.outcome.message == "tends to infinity; mean is NaN where it cannot be observed: Singular matrix"
    assert np.isnan(run["mean"][run.times >= 0.55]).all()
    with pytest.raises(ProblemError, match=r"^observe\.0: mean cannot be observed here: Singular matrix$"):
        drifting.solve(task(error, 0.0, np.inf), None)


def test_a_resumed_run_tells_what_could_not_be_observed_before(task, tmp_path):
    path = tmp_path / "run.h5"
    problem = task(ProblemError.at("attention", "overflows: e^800"), 0.25, 0.45)
    whole = drifting.solve(problem, None)
    assert "overflows" in whole.outcome.message
    drifting.solve(problem, path, drifting.Drift(lost=0.75))
    run = drifting.solve(problem, path, resume=True)
    np.testing.assert_array_equal(run["mean"], whole["mean"])
    first = run.times[np.isnan(run["mean"][:, 0])][0]
    told = f"tends to infinity; mean is NaN where it could not be observed, first at t = {first:g}"
    assert run.outcome.message == mfpde.load(path).outcome.message == told


def test_a_resumed_run_of_which_all_was_observed_says_nothing(task, tmp_path):
    path = tmp_path / "run.h5"
    problem = task(ProblemError.at("attention", "overflows: e^800"), np.inf, np.inf)
    drifting.solve(problem, path, drifting.Drift(lost=0.75))
    assert drifting.solve(problem, path, resume=True).outcome.message == "tends to infinity"
