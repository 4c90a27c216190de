"""Whether a promise was kept is data, and says so when nobody knows."""

import json

import numpy as np
import pytest

import mfpde
from mfpde.contracts import Accuracy
from mfpde.solvers.amplification import Amplification
from mfpde.store.transaction import Transaction, open_file


def perturbed(size: float, until: float) -> mfpde.Problem:
    """A perturbation of the uniform state, which softmax attention makes grow like e^{I_1/I_0(2)/2 t}."""
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "circle"},
            "attention": {"kind": "softmax", "beta": 2},
            "noise": {"kappa": 8},
            "initial": {"kind": "density", "expression": f"1 + {size!r}*cos(theta)"},
            "time": {"until": until, "save_every": until / 50},
        }
    )


def test_a_state_left_from_near_rounding_has_no_known_accuracy():
    run = mfpde.solve(perturbed(1e-10, 120.0))
    promised = run.outcome.accuracy.promised
    assert promised == pytest.approx(1e-7)
    speed = np.abs(np.diff(run.density, axis=0)).max(axis=(1,))
    assert speed.max() > 1e9 * speed[0]
    assert (run.outcome.accuracy.kept, run.outcome.accuracy.cause) == (None, "amplification")
    assert run.outcome.accuracy.estimate > promised
    assert "unstable state" in str(run.outcome)


def test_a_state_left_from_farther_away_is_as_accurate_as_promised():
    accuracy = mfpde.solve(perturbed(1e-3, 60.0)).outcome.accuracy
    assert (accuracy.kept, accuracy.cause) == (True, "")


def test_growth_is_measured_from_the_slowest_time_before():
    amplification = Amplification(autonomous=True)
    for residual in (1.0, 1e-9, 1e-3, 0.0, 1e-12):
        amplification.see(residual)
    judged = amplification.judged(Accuracy(1e-11, kept=True))
    assert judged.estimate == pytest.approx(1e6 * np.finfo(float).eps)
    assert (judged.kept, judged.cause) == (None, "amplification")
    assert amplification.judged(Accuracy(1e-7, kept=True)).kept
    assert amplification.judged(Accuracy(1e-11, 1.0, kept=False, cause="edges")).cause == "edges"


def test_what_rounding_does_at_rest_is_no_growth():
    amplification = Amplification(autonomous=True)
    for residual in (1.0, 1e-17, 1e-13, 1e-16):
        amplification.see(residual)
    assert amplification.judged(Accuracy(1e-15, kept=True)).kept


def test_where_coefficients_depend_on_time_nothing_is_said():
    amplification = Amplification(autonomous=False)
    for residual in (1e-9, 1.0):
        amplification.see(residual)
    assert amplification.judged(Accuracy(1e-11, kept=True)).kept


def test_the_file_says_so_and_older_ones_do_not_know(tmp_path):
    path = tmp_path / "run.h5"
    run = mfpde.solve(perturbed(1e-3, 1.0), path)
    assert mfpde.load(path).outcome == run.outcome
    assert run.outcome.accuracy.kept
    disk = Transaction(path)
    file = open_file(disk, "r+")
    del file["checksum"], file.attrs["mfpde_checksums"]
    record = json.loads(bytes(file.attrs["outcome"]))
    del record["accuracy"]
    file.attrs.modify("outcome", np.array(json.dumps(record).encode(), "S2048"))
    file.flush()
    disk.commit()
    disk.close(file)
    assert mfpde.load(path).outcome.accuracy == Accuracy()


def test_cells_that_cut_off_a_normal_law_are_not_said_to_hold_edges():
    """Its tails end with 18 cells at 5e-5 of the peak (e^{-z^2 / 2} at their ends)."""
    given = {
        "geometry": {"kind": "line"},
        "attention": {"kind": "softmax", "A": 1, "V": -1},
        "initial": {"kind": "gaussian", "mean": 0.5, "covariance": 1},
        "solver": {"kind": "finite-volume", "cells": 18, "tolerance": 1e-6},
        "time": {"until": 0.5},
    }
    accuracy = mfpde.solve(mfpde.Problem.from_dict(given)).outcome.accuracy
    assert (accuracy.kept, accuracy.cause) == (False, "cells")
    uniform = {**given, "initial": {"kind": "uniform", "box": [[0, 1.03]]}}
    uniform["solver"] = {**given["solver"], "cells": 48, "frame": "static"}
    accuracy = mfpde.solve(mfpde.Problem.from_dict(uniform)).outcome.accuracy
    assert (accuracy.kept, accuracy.cause) == (False, "edges")
