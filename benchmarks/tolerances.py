"""What a tolerance costs and keeps: the largest error at all output times beside the promise of 10 tolerances.

    python benchmarks/tolerances.py [--only WORD] [--tolerances 1e-4 1e-6 1e-8 1e-10] [--worst 3] [--figure PATH]

References share no code with mfpde: the stores of tests/reference, dense quadrature without harmonics on the sphere
(tests/reference/sphere.py), moment equations in decimals for a hyperbolic flow, and SciPy's steps of every pair for
tokens. A problem counts at a tolerance if its reference is known to a thirtieth of the promise. Runs that say that they
have not kept the promise are counted apart (`told`). So are those of at most 8 steps of order eight (`few`), since an
error ten times as large would save them one or two; with cells, whose number matters more, none is. `median` and
`within 30` (share of errors between a thirtieth of the promise and the promise) are of all others, `largest` and
`steps` (their median) of all that count as kept, few or not. The exit code is 1 if one of these breaks the promise.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from tolerances_figure import PROMISED, Line, draw

import mfpde

Array = NDArray[np.float64]
TESTS = Path(__file__).resolve().parents[1] / "tests"
STORE = TESTS / "reference"
sys.path.insert(0, str(TESTS))  # its references stand outside of the package
#: a reference's own error, in promises
REFERENCE_SHARE = 1 / 30
#: steps of a run that has nothing to gain from fewer
FEW_STEPS = 8


@dataclass(frozen=True)
class Case:
    """A problem without its solver; `error` of a run is relative, the largest over its output times."""

    name: str
    blocks: dict[str, Any]
    times: list[float]
    accuracy: float
    error: Callable[[mfpde.Run], float]


@dataclass(frozen=True)
class Row:
    """One run; `share` is its error in promises, `few` whether fewer steps would save next to nothing."""

    name: str
    share: float
    told: bool
    few: bool
    steps: int
    seconds: float


def stored(name: str) -> list[dict[str, Any]]:
    """The problems of a store."""
    problems: list[dict[str, Any]] = json.loads((STORE / f"{name}.json").read_text(encoding="utf-8"))["problems"]
    return problems


def at(run: mfpde.Run, times: list[float]) -> Iterator[Any]:
    """The measures of the times."""
    for moment in times:
        yield run.measure(int(np.abs(run.times - moment).argmin()))


def circle() -> Iterator[Case]:
    """Densities on 64 angles."""
    angles = 2 * np.pi * np.arange(64) / 64
    for entry in stored("circle"):

        def error(run: mfpde.Run, entry: dict[str, Any] = entry) -> float:
            off = [
                np.abs(measure.evaluate(angles) - density) / [[peak], [1 / (2 * np.pi)]]
                for measure, density, peak in zip(at(run, entry["times"]), entry["density"], entry["peak"], strict=True)
            ]
            return max(max(rows[0].max(), rows[1].mean()) for rows in off)

        blocks = {
            "geometry": {"kind": "circle"},
            "attention": {"kind": entry["kind"], "beta": entry["beta"]},
            "noise": {"kappa": entry["kappa"] or "inf"},
            "initial": {"kind": "density", "expression": entry["initial"]},
        }
        yield Case(entry["name"], blocks, entry["times"], entry["accuracy"], error)


#: data without an axis over times in which clusters form: law, beta, kappa, until, degree
CLUSTERING = [("softmax", 4.0, 6.0, 3.0, 16), ("unnormalized", 2.0, 4.0, 1.0, 18), ("softmax", -4.0, 8.0, 2.0, 22)]


def profiles() -> Iterator[Case]:
    """Two clusters at the ends of an axis."""
    from reference.sphere import CLUSTERS, about_axis, bumps, clusters  # type: ignore[import-not-found]

    x = np.cos(np.linspace(0, np.pi, 200))
    for kind, beta, kappa, until in CLUSTERS:
        times = [until / 3, until]
        wanted = [density(x) for density in about_axis(bumps, times, beta, kappa, kind == "softmax")]
        points = np.column_stack([np.sqrt(1 - x**2), 0 * x, x])
        yield sphere_case(
            f"axis-{kind}-{beta:g}",
            (kind, beta, kappa),
            times,
            clusters(np.array([0.0, 0.0, 1.0])),
            points,
            wanted,
        )


def harmonics() -> Iterator[Case]:
    """Data without an axis."""
    from reference.sphere import STRENGTHS, WITHOUT_AXIS, solve, without_axis

    initial = {"kind": "density", "expression": WITHOUT_AXIS}
    for kind, beta, kappa, until, degree in [
        *((kind, *numbers) for kind in ("unnormalized", "softmax") for numbers in STRENGTHS),
        *CLUSTERING,
    ]:
        times = [until / 3, until]
        points, wanted = solve(without_axis, times, beta, kappa, kind == "softmax", degree, degree + 2)
        densities = [4 * np.pi * each for each in wanted]
        yield sphere_case(f"harmonics-{kind}-{beta:g}", (kind, beta, kappa), times, initial, points, densities)


def sphere_case(
    name: str, law: tuple[str, float, float], times: list[float], initial: Any, points: Array, wanted: list[Array]
) -> Case:
    """Densities at points of S^2, relative to the uniform one."""

    def error(run: mfpde.Run) -> float:
        found = [4 * np.pi * each.evaluate(points) for each in at(run, times)]
        return max(float(np.abs(f - right).max() / right.max()) for f, right in zip(found, wanted, strict=True))

    kind, beta, kappa = law
    blocks = {
        "geometry": {"kind": "sphere"},
        "attention": {"kind": kind, "A": beta},
        "noise": {"kappa": kappa},
        "initial": initial,
    }
    return Case(name, blocks, times, 1e-11, error)


def hyperbolic() -> dict[str, Any]:
    """A flow that keeps the determinant while eigenvalues go like e^t and e^-t, as a problem of the store."""
    from reference.moments import solved as in_decimals

    problem = {
        "geometry": {"kind": "plane"},
        "attention": {"kind": "softmax", "A": [[1, 0], [0, -1]], "V": [[0, 1], [1, 0]]},
        "initial": {"kind": "gaussian", "mean": [0.0, 0.0], "covariance": [[1.0, 0.3], [0.3, 0.5]]},
    }
    times = [4.0, 20.0]
    found = in_decimals({key: problem[key] for key in ("attention", "initial")}, times, digits=60, order=44)
    covariances = [np.array(each, dtype=float).tolist() for each in found.covariances]
    return {"name": "hyperbolic", "problem": problem, "times": times, "mean": [[0, 0]] * 2, "covariance": covariances}


def gaussians() -> Iterator[Case]:
    """Means relative to width, or themselves where they are larger; covariances relative to their largest entry."""
    for entry in [*stored("gaussians"), hyperbolic()]:
        if "pole" in entry:
            continue

        def error(run: mfpde.Run, entry: dict[str, Any] = entry) -> float:
            worst = 0.0
            for measure, mean, covariance in zip(
                at(run, entry["times"]), entry["mean"], entry["covariance"], strict=True
            ):
                m, s = np.array(mean, dtype=float), np.array(covariance, dtype=float)
                scale = max(float(np.sqrt(np.abs(s).max())), float(np.abs(m).max()))
                off = float(np.abs(measure.covariance - s).max() / np.abs(s).max())
                worst = max(worst, off, float(np.abs(measure.mean - m).max()) / scale)
            return worst

        yield Case(entry["name"], entry["problem"], entry["times"], 1e-15, error)


def flat() -> Iterator[Case]:
    """Mean and covariance, relative to the largest, of laws that are not Gaussian, and densities relative to their
    peak, those of the positions of masked attention each for itself where they are on cells."""
    for entry in stored("flat") + stored("hard"):

        def error(run: mfpde.Run, entry: dict[str, Any] = entry) -> float:
            worst = 0.0
            for measure, wanted in zip(at(run, entry["times"]), entry["moments"], strict=True):
                found = np.concatenate([measure.mean, measure.covariance.ravel()])
                right = np.array(wanted[: found.size])
                worst = max(worst, float(np.abs(found - right).max() / np.abs(right).max()))
            if "density" in entry:
                known = [*entry["earlier"], entry]
                worst = max(worst, *map(off_density, at(run, entry["times"]), known))
            laws = (law for _, _, law in run.measure(-1).slices if isinstance(law, mfpde.GridDensity))
            return max(worst, *map(off_density, laws, entry.get("in_slices", [])), 0.0)

        yield Case(entry["name"], entry["problem"], entry["times"], entry["accuracy"], error)


def off_density(law: Any, known: dict[str, Any]) -> float:
    """By how much a density is off at some points, relative to its peak."""
    found = law.evaluate(np.array(known["points"])) / law.mass
    return float(np.abs(found - known["density"]).max()) / known["peak"]


def without_noise() -> Iterator[Case]:
    """Those that characteristics solve."""
    return (case for case in flat() if "noise" not in case.blocks)


def vectors(measure: Any) -> Array:
    """Points, those on the circle in the plane around it."""
    points: Array = measure.points
    return np.stack([np.cos(points), np.sin(points)], axis=-1) if measure.geometry.name == "circle" else points


def on_circle(angles: Array) -> Array:
    """As vectors."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def drawn(dimension: int, count: int, seed: int, sphere: bool) -> Array:
    """Tokens drawn from a normal law, or its directions."""
    start = np.random.default_rng(seed).normal(size=(count, dimension))
    return np.asarray(start / np.linalg.norm(start, axis=1, keepdims=True)) if sphere else start


def tokens() -> Iterator[Case]:
    """24 tokens on circle, sphere, line and plane."""
    for dimension, sphere in ((2, True), (3, True), (1, False), (2, False)):
        for normalised in (True, False):
            for beta in (0.5, 4.0) if sphere else (0.5,):
                yield tokens_of(dimension, sphere, normalised, beta)


def tokens_of(dimension: int, sphere: bool, normalised: bool, beta: float) -> Case:
    """24 of them, which gather on spheres and contract in R^d."""
    times = [0.2, 1.0, 5.0] if normalised else [0.02, 0.1, 0.4]
    start = drawn(dimension, 24, dimension, sphere)
    return token_case("", start, sphere, normalised, beta, 1.0 if sphere else -1.0, times)


def unstable_tokens() -> Iterator[Case]:
    """Where errors grow: clusters that merge late, repulsion, perturbed rings and balanced pairs that leave unstable
    states, tokens that run away."""
    for seed, beta, dimension in product((1, 3), (2.0, 6.0, 9.0), (2, 3)):
        start = drawn(dimension, 20, seed, sphere=True)
        yield token_case(f"long-{seed}-", start, True, True, beta, 1.0, [1.0, 5.0, 20.0, 60.0])
    for seed, dimension in product((1, 3), (2, 3)):
        start = drawn(dimension, 20, seed, sphere=True)
        yield token_case(f"apart-{seed}-", start, True, False, 2.0, -1.0, [1.0, 5.0, 30.0])
    for size in (1e-2, 1e-4):
        ring, pairs = (
            2 * np.pi * np.arange(9) / 9 + size * np.sin(np.arange(9) ** 2),
            np.array([0, 1, -0.7, 0.3]) * size,
        )
        yield token_case(f"ring-{size:g}-", on_circle(ring), True, True, 1.0, 1.0, [2.0, 6.0, 10.0, 20.0, 30.0])
        balanced = on_circle(pairs + np.pi * np.array([0, 0, 1, 1]))
        yield token_case(f"balanced-{size:g}-", balanced, True, True, 1.0, 1.0, [2.0, 6.0, 10.0, 15.0, 20.0])
    yield token_case("away-", np.array([[1.0], [2.0]]), False, True, 1.0, 20.0, [0.2, 0.5, 1.0])
    yield token_case("away-", 0.5 * drawn(2, 16, 5, sphere=False), False, True, 0.3, 1.0, [0.5, 1.5, 2.5])


def token_case(
    label: str, start: Array, sphere: bool, normalised: bool, beta: float, value: float, times: list[float]
) -> Case:
    """Tokens at several times, by SciPy's DOP853 of all pairs; what another tolerance changes counts as its error."""

    def slope(_: float, flat_state: Array) -> Array:
        x = flat_state.reshape(start.shape)
        scores = beta * x @ x.T
        kernel = np.exp(scores - (scores.max(axis=1, keepdims=True) if normalised else 0.0))
        pull = value * kernel @ x / (kernel.sum(axis=1, keepdims=True) if normalised else len(x))
        return (pull - (pull * x).sum(axis=1, keepdims=True) * x if sphere else pull).ravel()

    def solved_to(tolerance: float) -> list[Array]:
        state, found = start.ravel(), []
        for begin, end in pairwise([0.0, *times]):  # SciPy interpolates inside of steps to fewer digits
            state = solve_ivp(slope, (begin, end), state, "DOP853", rtol=tolerance, atol=0.01 * tolerance).y[:, -1]
            found.append(state.reshape(start.shape))
        return found

    wanted = solved_to(2.3e-14)
    off = [np.abs(a - b).max() / np.abs(a).max() for a, b in zip(wanted, solved_to(4e-13), strict=True)]

    def error(run: mfpde.Run) -> float:
        off = [
            np.abs(vectors(measure).reshape(start.shape) - right).max() / np.abs(right).max()
            for measure, right in zip(at(run, times), wanted, strict=True)
        ]
        return float(max(off))

    dimension = start.shape[1]
    given = np.arctan2(start[:, 1], start[:, 0]) if sphere and dimension == 2 else start
    kind = "softmax" if normalised else "unnormalized"
    place = ("circle", "sphere")[dimension - 2] if sphere else ("line", "plane")[dimension - 1]
    law = {"kind": kind, "A": (beta * np.eye(dimension)).tolist(), "V": (value * np.eye(dimension)).tolist()}
    blocks = {"geometry": {"kind": place}, "attention": law, "initial": {"kind": "points", "values": given.tolist()}}
    return Case(f"{label}{place}-{kind}-{beta:g}", blocks, times, max(1e-13, *off), error)


SOLVERS: list[tuple[str, str, Callable[[], Iterator[Case]]]] = [
    ("circle", "spectral", circle),
    ("sphere, axis", "spectral", profiles),
    ("sphere", "spectral", harmonics),
    ("Gaussians", "gaussian", gaussians),
    ("tokens", "particles", tokens),
    ("unstable tokens", "particles", unstable_tokens),
    ("characteristics", "characteristics", without_noise),
    ("finite volumes", "finite-volume", flat),
]


def solved(case: Case, kind: str, tolerance: float) -> Row:
    """One run; those that end early have no error to show."""
    time_block = {"until": case.times[-1], "save_at": case.times}
    problem = mfpde.Problem.from_dict(
        {**case.blocks, "solver": {"kind": kind, "tolerance": tolerance}, "time": time_block}
    )
    begin = time.process_time()
    run = mfpde.solve(problem)
    seconds = time.process_time() - begin
    share = case.error(run) / (PROMISED * tolerance) if run.outcome.complete else np.inf
    steps = int(run.provenance["statistics"]["steps"])
    few = steps <= FEW_STEPS and kind != "finite-volume"
    return Row(case.name, share, run.outcome.accuracy.kept is not True, few, steps, seconds)


def show(label: str, kind: str, cases: list[Case], tolerance: float, worst: int) -> Line:
    """A line of the table."""
    counted = [case for case in cases if case.accuracy < REFERENCE_SHARE * PROMISED * tolerance]
    rows = [solved(case, kind, tolerance) for case in counted]
    kept = sorted((row for row in rows if not row.told), key=lambda row: row.share)
    shares = np.array([row.share for row in kept])
    few = np.array([row.few for row in kept])
    told, judged = len(rows) - len(kept), shares[~few]
    median, inside = (
        (f"{np.median(judged):8.1e}", f"{np.mean((judged <= 1) & (judged >= REFERENCE_SHARE)):9.0%}")
        if judged.size
        else (f"{'-':>8}", f"{'-':>9}")
    )
    print(
        f"{label:<16} {tolerance:7.0e} {len(kept):4d} {told:4d} {few.sum():4d} {median} {shares[-1]:8.1e} {inside}"
        f" {np.median([row.steps for row in kept]):5.0f} {sum(row.seconds for row in rows):8.2f}   "
        + ", ".join(f"{row.name} {row.share:.1e}" for row in kept[::-1][:worst]),
        flush=True,
    )
    return Line(tolerance, shares, few)


def main() -> int:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="solvers whose name has this word")
    parser.add_argument("--tolerances", type=float, nargs="+", default=[1e-4, 1e-6, 1e-8, 1e-10])
    parser.add_argument("--worst", type=int, default=2, help="how many of the largest errors are named")
    parser.add_argument("--figure", help="where to draw promise and error of every solver")
    chosen = parser.parse_args()
    heads = f"{'asked':>7} {'kept':>4} {'told':>4} {'few':>4} {'median':>8} {'largest':>8} within 30 steps"
    print(f"{'':<16} {heads} {'s of CPU':>8}")
    lines: dict[str, list[Line]] = {}
    for label, kind, cases in SOLVERS:
        if chosen.only in label:
            every = list(cases())
            for case in every[:1]:
                solved(case, kind, chosen.tolerances[0])  # compiled, or read, before anything is timed
            lines[label] = [show(label, kind, every, tolerance, chosen.worst) for tolerance in chosen.tolerances]
    if chosen.figure is not None:
        draw(chosen.figure, lines)
    return 0 if all(line.shares[-1] <= 1 for each in lines.values() for line in each) else 1


if __name__ == "__main__":
    sys.exit(main())
