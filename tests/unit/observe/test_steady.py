"""When a run has come to rest, and what is said of how exact it was."""

from types import SimpleNamespace

import pytest

from mfpde.contracts import Accuracy
from mfpde.observe.steady import at_rest


@pytest.mark.parametrize(
    ("time", "residual", "threshold", "rests"),
    [
        (1.0, 9e-5, 1e-3, True),
        (1.0, 1.1e-4, 1e-3, False),
        (1.0, 9e-5, False, False),
        (0.0, 9e-5, 1e-3, False),
        (1.0, 9e-11, True, True),
        (1.0, 1.1e-10, True, False),
    ],
)
def test_rest_is_looked_for_after_the_start(time, residual, threshold, rests):
    outcome = at_rest(SimpleNamespace(time=time, residual=lambda: residual), 10.0, threshold)
    assert (outcome is not None) == rests
    if rests:
        assert (outcome.kind, outcome.time, outcome.residual) == ("steady", 1.0, residual)


@pytest.mark.parametrize("residual", [float("nan"), float("inf")])
def test_what_is_no_number_does_not_rest(residual):
    assert at_rest(SimpleNamespace(time=1.0, residual=lambda: residual), 10.0, 1e-3) is None


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
