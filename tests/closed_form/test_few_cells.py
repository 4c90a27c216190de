"""What few cells leave out is in the estimate of finite volumes, and pilots find as many cells as a tolerance needs."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import mfpde
from mfpde.contracts import Progress, State
from mfpde.solvers.finite_volume.cell_count import Range, enough_cells

REFERENCE = Path(__file__).parents[1] / "reference"
STORED = {
    case["name"]: case
    for name in ("flat", "hard")
    for case in json.loads((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))["problems"]
}


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        ("sigmoid-student", {"tolerance": 1e-6}),  # wrong between the cells
        ("linear-bumps", {"tolerance": 1e-8, "cells": 24}),  # cells end at 5.5 standard deviations
        ("noisy-linear", {"tolerance": 1e-5, "cells": 24}),  # g is continued from 4.7 on
    ],
)
def test_densities_keep_the_promise_or_say_so(name, solver):
    case = STORED[name]
    time = {"until": case["times"][-1], "save": False}
    blocks = {**case["problem"], "solver": {"kind": "finite-volume", **solver}, "time": time}
    run = mfpde.solve(mfpde.Problem.from_dict(blocks))
    off = np.abs(run.measure(-1).evaluate(np.array(case["points"])) - case["density"]).max() / case["peak"]
    accuracy = run.outcome.accuracy
    assert accuracy.promised == pytest.approx(10 * solver["tolerance"])
    assert off < accuracy.promised if accuracy.kept else off > 0.1 * accuracy.promised


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
def test_windows_of_kernels_narrower_than_cells_are_told(tolerance):
    """A normal law under l2 spreads to six times its width, of which kernels then see a sixth. The moment equations
    know nothing of cells."""
    blocks = {
        "geometry": {"kind": "line"},
        "attention": {"kind": "l2", "Q": 1.177, "K": 1.257, "V": 1.353},
        "initial": {"kind": "gaussian", "mean": [0.023], "covariance": [[0.315]]},
        "time": {"until": 1.777, "save": False},
    }
    found, wanted = (
        mfpde.solve(mfpde.Problem.from_dict({**blocks, "solver": solver}))
        for solver in ({"kind": "finite-volume", "tolerance": tolerance}, {"kind": "gaussian", "tolerance": 1e-12})
    )
    off = abs(found.measure(-1).covariance[0, 0] / wanted.measure(-1).covariance[0, 0] - 1)
    assert not found.outcome.accuracy.kept or off < found.outcome.accuracy.promised


def test_estimates_under_noise_are_near_the_error():
    """Noise damps what cells have left out: without that the estimate is 370 times the error."""
    case = STORED["noisy-bumps"]
    solver, time = {"kind": "finite-volume", "tolerance": 1e-10, "cells": 96}, {"until": case["times"][-1]}
    run = mfpde.solve(mfpde.Problem.from_dict({**case["problem"], "solver": solver, "time": time}))
    off = np.abs(run.measure(-1).evaluate(np.array(case["points"])) - case["density"]).max() / case["peak"]
    assert off < run.outcome.accuracy.estimate < 100 * off


@dataclass
class Pilot:
    """A run whose error is known."""

    missed: float
    time: float = 0.0

    def advance(self, target, budget):
        return Progress(State.REACHED)


def counted(error, wanted, within):
    """The cells that are found, and those of the pilots."""
    tried = []

    def start(cells):
        tried.append(cells)
        return Pilot(error(cells))

    return enough_cells(start, within, 1.0, wanted), tried


def test_as_many_cells_as_the_tolerance_needs():
    within = Range(32, 96, 512)
    assert counted(lambda n: 1e-5 * (n / 32) ** -9, 1e-3, within) == (32, [32])
    for wanted in (1e-6, 1e-8, 1e-10):
        found, tried = counted(lambda n: 1e-4 * (n / 32) ** -9, wanted, within)
        needed = 32 * (1e-4 / (0.3 * wanted)) ** (1 / 9)
        assert needed <= found < needed + 4
        assert len(tried) <= 3
    assert counted(lambda n: 0.1 / n, 1e-6, within)[0] == 96


def test_cells_between_two_pilots_are_spared():
    found, tried = counted(lambda n: 1e-6 * (n / 32) ** -9, 2e-6, Range(32, 96, 512))
    assert tried == [32, 48]
    assert 32 * (1 / 0.6) ** (1 / 9) <= found < 48


def test_few_cells_that_cover_less_become_narrower_like_the_square_root_of_their_number():
    """Up to 64 cells, in a box that grows like the square root of their number, the error falls like h^9 = n^-4.5."""

    def error(cells):
        width = 1 / cells if cells >= 64 else 1 / (8 * cells**0.5)
        return 1e-4 * (64 * width) ** 9

    for wanted in (1e-3, 1e-6):
        needed = 64 * (1e-4 / (0.3 * wanted)) ** (1 / 9)
        needed = needed if needed > 64 else needed**2 / 64
        found, tried = counted(error, wanted, Range(16, 96, 512, covering=64))
        assert needed <= found < needed + 4
        assert len(tried) <= 3
