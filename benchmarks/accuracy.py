"""The accuracy table of finite volumes and their companions: what is measured, at least wanted, and aimed at.

    python benchmarks/accuracy.py [--only WORD]

References share no code with mfpde: closed forms, moment equations by SciPy, and the programs in tests/reference. The
exit code is 1 if a line misses what is wanted at least. Takes a few minutes on one core.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from numpy.typing import NDArray
from reference.flat import moments, solve_by_nodes
from scipy.integrate import solve_ivp

import mfpde

Array = NDArray[np.float64]
STORE = Path(__file__).resolve().parents[1] / "tests" / "reference"
MEAN, COVARIANCE = np.array([0.5, 0.0]), np.array([[1.0, 0.3], [0.3, 0.5]])
A, V = np.array([[1.0, 0.5], [-0.2, 0.7]]), np.array([[-1.0, 0.3], [-0.4, -0.8]])
STORED = {
    case["name"]: case
    for name in ("flat", "hard")
    for case in json.loads((STORE / f"{name}.json").read_text(encoding="utf-8"))["problems"]
}


@dataclass(frozen=True)
class Line:
    """One line of the table; `larger`: the number is wanted to be at least so large."""

    case: str
    reference: str
    found: float
    least: float
    aim: float
    larger: bool = False

    @property
    def passed(self) -> bool:
        """A number that is none has missed."""
        return self.found >= self.least if self.larger else self.found <= self.least

    @property
    def verdict(self) -> str:
        """In a word."""
        if not self.passed:
            return "MISSED"
        return "aim" if (self.found >= self.aim if self.larger else self.found <= self.aim) else "ok"


def solved(blocks: dict[str, Any], times: list[float], kind: str = "finite-volume", **solver: Any) -> mfpde.Run:
    """The problem file's blocks with a solver, saved at the times."""
    time = {"until": times[-1], "save_at": times}
    return mfpde.solve(mfpde.Problem.from_dict({**blocks, "solver": {"kind": kind, **solver}, "time": time}))


def gaussian_problem(mean: Any, covariance: Any, query: Any, value: Any) -> dict[str, Any]:
    """Softmax attention on a Gaussian."""
    return {
        "geometry": {"kind": "line" if np.ndim(mean) == 0 else "plane"},
        "attention": {"kind": "softmax", "A": query, "V": value},
        "initial": {"kind": "gaussian", "mean": mean, "covariance": covariance},
    }


def gaussian_moments(until: float) -> tuple[Array, Array]:
    """`m' = V (I + S A) m`, `S' = B S + S B^T`, `B = V S A`, of the plane's data."""

    def slope(_: float, y: Array) -> Array:
        m, s = y[:2], y[2:].reshape(2, 2)
        b = V @ s @ A
        return np.concatenate([V @ (m + s @ A @ m), (b @ s + s @ b.T).ravel()])

    start = np.concatenate([MEAN, COVARIANCE.ravel()])
    end = solve_ivp(slope, (0, until), start, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    return end[:2], end[2:].reshape(2, 2)


def apart(run: mfpde.Run, mean: Array, covariance: Array) -> float:
    """Integral of |error| against a normal density, on the cells of the one panel."""
    measure = run.measure(-1)
    (panel,) = measure.panels
    z = panel.lattice.points() - mean
    exponent = -0.5 * np.einsum("ni,ij,nj->n", z, np.linalg.inv(covariance), z)
    exact = np.exp(exponent) / np.sqrt(np.linalg.det(2 * np.pi * covariance))
    found = measure.evaluate(panel.lattice.points())
    return float(np.abs(found - exact).sum() * panel.volume)


def line_at_rest() -> Iterator[Line]:
    """A = 1, V = -1, N(0.5, 1), T = 2: `S = 1/(1 + 2t)`, `m = e^{-t} (1 + 2t)^{-1/2} m_0`."""
    mean, covariance = np.array([0.5 * np.exp(-2.0) / np.sqrt(5.0)]), np.array([[0.2]])
    task = gaussian_problem(0.5, 1.0, 1, -1)
    errors = [apart(solved(task, [2.0], cells=n, frame="static"), mean, covariance) for n in (256, 384, 1024)]
    yield Line("line, stable Gaussian, static, 1024: L1", "closed form", errors[-1], 2e-9, 2e-12)
    order = float(np.log(errors[0] / errors[1]) / np.log(384 / 256))
    yield Line("   its observed order, 256 to 384", "closed form", order, 4.7, 4.7, larger=True)


def plane_gaussian() -> Iterator[Line]:
    """General A, V that do not commute, T = 1."""
    mean, covariance = gaussian_moments(1.0)
    task = gaussian_problem(MEAN, COVARIANCE, A, V)
    error = apart(solved(task, [1.0], cells=256, frame="static"), mean, covariance)
    yield Line("plane, stable Gaussian, A V != V A, static 256^2: L1", "moment ODE", error, 1e-6, 2e-8)
    run = solved(task, [1.0], cells=48, frame="moving")
    measure = run.measure(-1)
    worst = max(np.abs(measure.mean - mean).max(), np.abs(measure.covariance - covariance).max())
    yield Line("   moving 48^2: mean, covariance", "moment ODE", float(worst), 1e-9, 2e-12)
    yield Line("   moving 48^2: L1", "moment ODE", apart(run, mean, covariance), 1e-9, 2e-12)


def bumps() -> Iterator[Line]:
    """Largest error of the density over the largest density, at the nodes of the independent program."""
    for name, until, cells, count, least, aim in (
        ("contracting-bumps", 4.0, 128, 80, 1e-4, 3e-6),
        ("contracting-spots", 2.0, 128, 26, 5e-4, 1e-5),
    ):
        blocks = STORED[name]["problem"]
        (end,) = solve_by_nodes(blocks, [until], count)
        run = solved(blocks, [until], cells=cells)
        exact = np.exp(end.log_density)
        error = float(np.abs(run.measure(-1).evaluate(end.nodes) - exact).max() / exact.max())
        where = blocks["geometry"]["kind"]
        case = f"{where}, two bumps contracting to T = {until:g}, {cells}{'' if where == 'line' else '^2'}: max"
        yield Line(case, "nodes (SciPy)", error, least, aim)


def worst_moment(name: str, run: mfpde.Run) -> float:
    """Mean and covariance at all stored times."""
    case, worst = STORED[name], 0.0
    for index, expected in zip(np.searchsorted(run.times, case["times"]), case["moments"], strict=True):
        measure = run.measure(int(index))
        found = np.concatenate([measure.mean, measure.covariance.ravel()])
        worst = max(worst, float(np.abs(found - expected[: found.size]).max()))
    return worst


def off_in_all(name: str, run: mfpde.Run) -> float:
    """L1 of cell averages at the end against those of characteristics, whose edges are exact."""
    case = STORED[name]
    exact = solved(case["problem"], [case["times"][-1]], "characteristics").measure(-1)
    panels = run.measure(-1).panels
    return float(
        sum(np.abs(panel.values - exact.cell_averages(panel.lattice)).sum() * panel.volume for panel in panels)
    )


def edges() -> Iterator[Line]:
    """Uniform data, and velocities with a kink, on 128 cells a side; on the plane also what `auto` takes."""
    for name in ("softmax-interval", "growing-interval", "l2-interval", "sinkhorn-interval", "relu-laplace"):
        run = solved(STORED[name]["problem"], STORED[name]["times"], cells=128)
        case = f"line, edges, 128, {name}: moments"
        yield Line(case, "nodes (SciPy)", worst_moment(name, run), 1e-8, 1e-10)
        yield Line("   L1 of cell averages", "characteristics", off_in_all(name, run), 1e-4, 1e-8)
    squares = ("contracting-square", "growing-square", "linear-square", "sinkhorn-square")
    for name in (*squares, "softmax-disc", "unnormalized-disc", "sigmoid-disc", "l2-disc"):
        case, times = STORED[name], STORED[name]["times"]
        run = solved(case["problem"], times, cells=128)
        yield Line(f"plane, edges, 128^2, {name}: moments", "nodes (SciPy)", worst_moment(name, run), 1e-5, 1e-6)
        time = {"until": times[-1], "save_at": times}
        taken = mfpde.solve(mfpde.Problem.from_dict({**case["problem"], "time": time}))
        yield Line("   what auto takes: moments", "nodes (SciPy)", worst_moment(name, taken), 1e-8, 1e-10)


def edges_under_noise() -> Iterator[Line]:
    """Uniform data with noise: moments, and the density relative to its peak."""
    for name, cells, least, aim in (
        ("noisy-interval", 128, 1e-8, 1e-9),
        ("noisy-interval", 512, 1e-8, 1e-9),
        ("noisy-sigmoid-interval", 128, 1e-8, 1e-9),
        ("noisy-linear-square", 128, 1e-6, 1e-8),
        ("noisy-disc", 128, 1e-6, 1e-8),
    ):
        case = STORED[name]
        run = solved(case["problem"], case["times"], cells=cells)
        yield Line(f"{name}, {cells} a side: moments", "waves (SciPy)", worst_moment(name, run), least, aim)
        found = run.measure(-1).evaluate(np.array(case["points"])) - case["density"]
        off = float(np.abs(found).max() / case["peak"])
        yield Line("   density", "waves (SciPy)", off, 100 * least, 10 * aim)


def blow_up() -> Iterator[Line]:
    """A = V = 1 on N(0.2, 0.5): t* = 1 exactly."""
    task = gaussian_problem(0.2, 0.5, 1, 1)
    for kind, least, aim in (("finite-volume", 1e-3, 1e-4), ("gaussian", 1e-10, 1e-10)):
        outcome = solved(task, [2.0], kind).outcome
        error = abs(outcome.time - 1) if outcome.kind == "blow-up" and outcome.time is not None else np.inf
        yield Line(f"blow-up time, 1-D Gaussian, {kind}: relative", "closed form", float(error), least, aim)


def characteristics() -> Iterator[Line]:
    """The worst of the stored problems without noise; density relative to its largest value."""
    slow = ("student", "tent", "dome")  # far tails and kinks in the plane take minutes of nodes
    names = [
        name
        for name, case in STORED.items()
        if "noise" not in case["problem"] and not any(word in name for word in slow)
    ]
    errors = {name: of_characteristics(STORED[name]) for name in names}
    for index, what in enumerate(("moments", "density")):
        worst = max(names, key=lambda name, k=index: errors[name][k])
        case = f"characteristics, {len(names)} non-Gaussian problems, {what} ({worst})"
        yield Line(case, "nodes (SciPy)", errors[worst][index], 1e-10, 1e-12)


def of_characteristics(case: dict[str, Any]) -> tuple[float, float]:
    """Errors of all moments and of the density; infinite if the run ends early."""
    run = solved(case["problem"], case["times"], "characteristics")
    if run.outcome.kind != "finished":
        return np.inf, np.inf
    at = np.searchsorted(run.times, case["times"])
    found = [moments(*run.measure(int(index)).nodes()) for index in at]
    density = run.measure(-1).evaluate(np.array(case["points"])) - case["density"] if "points" in case else 0.0
    of_density = float(np.abs(density).max() / case.get("peak", 1.0))
    return float(np.abs(np.subtract(found, case["moments"])).max()), of_density


PARTS: tuple[Callable[[], Iterator[Line]], ...] = (
    line_at_rest,
    plane_gaussian,
    bumps,
    edges,
    edges_under_noise,
    blow_up,
    characteristics,
)


def main() -> int:
    """The whole table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", default="", help="parts whose name contains this: " + ", ".join(p.__name__ for p in PARTS)
    )
    only, begun, lines = parser.parse_args().only, time.perf_counter(), []
    print(f"{'case':76}{'reference':>15}{'found':>10}{'least':>10}{'aim':>10}")
    for part in PARTS:
        for line in part() if only in part.__name__ else ():
            lines.append(line)
            numbers = f"{line.found:10.2g}{line.least:10.2g}{line.aim:10.2g}"
            print(f"{line.case:76}{line.reference:>15}{numbers}  {line.verdict}", flush=True)
    missed = sum(not line.passed for line in lines)
    print(f"{len(lines)} lines, {missed} missed, {time.perf_counter() - begun:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
