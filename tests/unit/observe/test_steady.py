"""When a run has come to rest, and what is said of how exact it was."""

from types import SimpleNamespace

import pytest

from mfpde.contracts import Accuracy
from mfpde.observe.steady import Steady


@pytest.mark.parametrize(
    ("time", "residual", "at_event", "rests"),
    [(1.0, 9e-5, True, True), (1.0, 1.1e-4, True, False), (1.0, 9e-5, False, False), (0.0, 9e-5, True, False)],
)
def test_rest_is_looked_for_at_events_after_the_start(time, residual, at_event, rests):
    steady, run = Steady(1e-3), SimpleNamespace(time=time, residual=lambda: residual)
    steady.begin(run, 10.0)
    outcome = steady.see(run, at_event=at_event)
    assert (outcome is not None) == rests
    if rests:
        assert (outcome.kind, outcome.time, outcome.residual) == ("steady", 1.0, 9e-5)


@pytest.mark.parametrize("residual", [float("nan"), float("inf")])
def test_what_is_no_number_does_not_rest(residual):
    steady, run = Steady(1e-3), SimpleNamespace(time=1.0, residual=lambda: residual)
    steady.begin(run, 10.0)
    assert steady.see(run, at_event=True) is None


@pytest.mark.parametrize(
    ("cause", "sentence"),
    [
        (
            "edges",
            (
                "the initial data have edges inside cells, near which the density is off by 0.002 of the peak or more "
                "(moments by far less)"
            ),
        ),
        (
            "tails",
            (
                "attention looks far into tails beyond the cells, which are only estimated; hold the run against "
                "solver.kind: characteristics"
            ),
        ),
        ("cells", "the cells leave an error of about 0.002 of the peak; raise solver.cells"),
        ("kinks", "the cells leave an error of about 0.002 of the peak or more; raise solver.cells"),
        (
            "amplification",
            "an unstable state was left, or a pole approached: rounding errors may have grown to 0.002 of the peak",
        ),
        ("modes", ""),
        ("", ""),
    ],
)
def test_every_cause_has_its_sentence(cause, sentence):
    assert str(Accuracy(1e-6, 0.002, kept=False, cause=cause)) == sentence
    assert str(Accuracy(1e-6, 0.002, kept=True, cause=cause)) == ""
