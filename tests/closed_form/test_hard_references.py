"""Solvers against the independent programs of `tests/reference/make_hard.py`: masked attention, perceptrons,
coefficients that depend on time, Sinkhorn, kinks, tails, edges and noise on the plane."""

import json
from pathlib import Path

import numpy as np
import pytest
from reference.flat import moments

import mfpde

STORED = json.loads((Path(__file__).parents[1] / "reference" / "hard.json").read_text(encoding="utf-8"))["problems"]
PROBLEMS = {case["name"]: case for case in STORED}
#: words in the names of what takes more than a second: far tails, Sinkhorn on the plane, noise on wide boxes; and what
#: others hold: perceptrons, layers and masks from other data, test_edges_on_the_line.py, test_edges_under_noise.py
LONG = {
    "characteristics": (
        *("student", "tent", "dome", "sinkhorn-s", "heads-spots", "sigmoid-spots"),
        *("tanh-spots", "layers-spots", "masked-spots", "sinkhorn-b"),
    ),
    "finite-volume": (
        *("student", "tent", "dome", "spots", "sinkhorn-s", "sinkhorn-d", "sinkhorn-b"),
        *("noisy-s", "noisy-i", "noisy-m", "noisy-t", "noisy-h", "noisy-d", "noisy-linear", "relu-laplace"),
    ),
}


def for_solver(kind):
    """Names of the problems it can do."""
    names = [name for name, case in PROBLEMS.items() if kind != "characteristics" or "noise" not in case["problem"]]
    long = [name for name in names if any(word in name for word in LONG[kind])]
    return [pytest.param(name, marks=pytest.mark.long if name in long else ()) for name in names]


def solved(name, kind, **settings):
    case = PROBLEMS[name]
    time = {"until": case["times"][-1], "save_at": case["times"]}
    run = mfpde.solve(mfpde.Problem.from_dict({**case["problem"], "solver": {"kind": kind, **settings}, "time": time}))
    assert run.outcome.kind == "finished", run.outcome
    return case, run, [run.measure(int(index)) for index in np.searchsorted(run.times, case["times"])]


def off(case, measure):
    """Densities, relative to the largest value."""
    return np.abs(measure.evaluate(np.array(case["points"])) / measure.mass - case["density"]) / case["peak"]


def off_before(case, measures):
    """The largest at earlier times."""
    return max(
        (off(known, measure).max() for known, measure in zip(case.get("earlier", ()), measures, strict=False)),
        default=0.0,
    )


def off_in_slices(case, measure):
    """The largest at any position."""
    laws = [law for _, _, law in measure.slices]
    return max(
        (off(known, law).max() for known, law in zip(case.get("in_slices", ()), laws, strict=False)), default=0.0
    )


def has_edges(initial):
    """Or kinks, which cells see to second order."""
    return initial["kind"] == "uniform" or "maximum" in initial.get("expression", "")


def of_slice(measure, position):
    """Mean and covariance of the tokens at a position."""
    here = [panel for panel in measure.panels if panel.position == position]
    mass = sum(panel.mass for panel in here)
    mean = sum(panel.mass * panel.moments[0] for panel in here) / mass
    second = sum(panel.mass * (panel.moments[1] + np.outer(*2 * [panel.moments[0]])) for panel in here) / mass
    return np.concatenate([mean, (second - np.outer(mean, mean)).ravel()])


@pytest.mark.parametrize("name", for_solver("characteristics"))
def test_characteristics(name):
    case, _, measures = solved(name, "characteristics", tolerance=1e-13)
    found = [moments(*measure.nodes()) for measure in measures]
    assert np.abs(np.subtract(found, case["moments"])).max() < 5e-12 + case["accuracy"]
    if "points" in case:
        assert off(case, measures[-1]).max() < 2e-11
    assert off_before(case, measures) < 2e-11


@pytest.mark.parametrize("name", for_solver("finite-volume"))
def test_finite_volumes(name):
    case, run, measures = solved(name, "finite-volume")
    plane, noisy = case["problem"]["geometry"]["kind"] == "plane", "noise" in case["problem"]
    # on the line panels end at edges, and under noise uniform laws begin as normal laws
    initial = case["problem"]["initial"]
    rough = has_edges(initial) and (initial["kind"] != "uniform" if noisy else plane)
    accuracy = run.outcome.accuracy
    assert (accuracy.kept, accuracy.cause) == ((False, "edges") if rough else (True, ""))
    allowed = 1e-4 if rough else 1e-7 if plane and noisy else 1e-9
    for measure, expected in zip(measures, case["moments"], strict=True):
        found = np.concatenate([measure.mean, measure.covariance.ravel()])
        assert np.abs(found - expected[: found.size]).max() < allowed
        assert abs(measure.mass - 1) < 1e-13
        assert min(panel.values.min() for panel in measure.panels) >= 0.0
    for position, expected in zip(
        case["problem"]["attention"].get("positions", ()), case.get("slices", ()), strict=True
    ):
        assert np.abs(of_slice(measures[-1], position) - expected[: 2 if not plane else 6]).max() < allowed
    if "points" in case and rough and not noisy:  # some of the points lie where an edge has come to, most do not
        assert np.median(off(case, measures[-1])) < (2e-2 if plane else 1e-3)
    elif "points" in case:
        assert off(case, measures[-1]).max() < (1e-3 if rough else 1e-5 if plane else 1e-7)
    if not rough:
        assert max(off_before(case, measures), off_in_slices(case, measures[-1])) < (1e-5 if plane else 1e-7)
